// SPDX-License-Identifier: BSD-3-Clause
// A command of a process of this node ends, once: by an END, a VALUE or a RESULT, by a failure somebody tells of,
// or because what it involves is lost. Or it was refused for want of room and is sent again, later and later.
#include <algorithm>

#include "router/state.hpp"

namespace acp::router {

using base::Code;

void Router::State::forget(std::uint32_t index) {
    const Outstanding& record = commands[index];
    if (record.operation == invoke_operation) {
        own_arguments.give(static_cast<std::uint32_t>(record.operand));
    }
    --local(record.initiator).outstanding;
    book.erase(index);
    commands.give(index);
}

// ORD-20: the one place, with on_end, where a command leaves the book, so its completion is the only one.
void Router::State::complete(std::uint32_t index, const Failure& failure) {
    const Outstanding& record = commands[index];
    Completion completion;
    completion.initiator = record.initiator;
    completion.token = record.token;
    completion.code = failure.code;
    completion.end = failure.end;
    completion.process = failure.process;
    if (failure.code != Code::ok) {
        const std::uint32_t partial = partial_index.find(record.initiator, record.token);
        if (partial != no_index) drop_partial(partial);
    }
    forget(index);
    ++counters.completions;
    ++moves;
    completions.on_completion(completion);
}

// All of a copy, or an atomic's old value, is in place here. ORD-60
void Router::State::finish(std::uint32_t initiator, std::uint64_t token) {
    if (is_mine(initiator)) {
        const std::uint32_t index = book.find(initiator, token);
        if (index != no_index) complete(index, {Code::ok, End::none, 0});
        return;
    }
    Run& run = runs[initiator & (runs_open_max - 1)];
    if (run.count != 0) {
        if (run.initiator == initiator && run.token + 2ULL * run.count == token &&
            run.count < 0xffffU) {
            ++run.count;
            return;
        }
        flush_run(run);
    }
    run = {token, initiator, 1};
    ++runs_open;
}

// A command of anybody's cannot end well. ORD-21
void Router::State::fail(std::uint32_t initiator, std::uint64_t token, const Failure& failure) {
    if (is_mine(initiator)) {
        const std::uint32_t index = book.find(initiator, token);
        if (index != no_index) complete(index, failure);
        return;
    }
    Note note;
    note.type = FrameType::failed;
    note.code_and_end = static_cast<std::uint8_t>(static_cast<unsigned>(failure.code) +
                                                  64U * static_cast<unsigned>(failure.end));
    note.initiator = initiator;
    note.token = token;
    note.detail = failure.process;
    post(peer_of(initiator), note);
}

// ORD-23: what is not outstanding has ended before, and is ignored.
Fault Router::State::on_end(const Peer& from, const ShortFrame& frame) {
    if (!is_mine(frame.initiator)) return Fault::misdirected;
    Completion run;
    run.initiator = frame.initiator;
    run.count = 0;
    const auto deliver = [&] {
        if (run.count == 0) return;
        counters.completions += run.count;
        ++moves;
        completions.on_completion(run);
        run.count = 0;
    };
    for (std::uint64_t i = 0; i < frame.count; ++i) {
        const std::uint64_t token = frame.token + 2 * i;
        const std::uint32_t index = book.find(frame.initiator, token);
        const bool is_known = index != no_index;
        if (is_known && commands[index].operation != invoke_operation &&
            from.has(where(commands[index].target))) {
            if (run.count == 0) run.token = token;
            ++run.count;
            forget(index);
            continue;
        }
        ++(is_known ? counters.stranger_ends : counters.late_ends);
        deliver();
    }
    deliver();
    return Fault::none;
}

// The command a frame is about, if it is outstanding and the sender is involved in it.
std::uint32_t Router::State::involved(const Peer& from,
                                      std::uint32_t initiator,
                                      std::uint64_t token) {
    const std::uint32_t index = book.find(initiator, token);
    if (index == no_index) {
        ++counters.late_ends;
        return no_index;
    }
    const Outstanding& record = commands[index];
    if (!from.has(source_process(record)) && !from.has(target_process(record))) {
        ++counters.stranger_ends;
        return no_index;
    }
    return index;
}

Fault Router::State::on_long(const Peer& from, const LongFrame& frame) {
    if (!is_mine(frame.initiator)) return Fault::misdirected;
    const std::uint32_t index = involved(from, frame.initiator, frame.token);
    if (index == no_index) return Fault::none;
    if (frame.type == FrameType::value) return on_value(from, index, frame.detail);
    complete(index, {static_cast<Code>(frame.code_and_end & 63U),
                     static_cast<End>(frame.code_and_end >> 6U),
                     static_cast<std::uint32_t>(frame.detail)});
    return Fault::none;
}

// From the node of the word, when the target is here; or from the target's node, which has no room for it now:
// it is sent there again, from here, since the atomic must not run again.
Fault Router::State::on_value(const Peer& from, std::uint32_t index, std::uint64_t value) {
    const Outstanding& record = commands[index];
    if (record.operation == invoke_operation || record.operation == 0 ||
        record.is_value_dropped != 0) {
        return Fault::forged;
    }
    if (is_mine(where(record.target))) {
        if (!from.has(where(record.source))) return Fault::forged;
        place_value(record, value);
        return Fault::none;
    }
    if (!from.has(where(record.target))) return Fault::forged;
    Resend* again = later(index);
    if (again == nullptr) return Fault::none;
    again->is_value = true;
    again->offset = value;
    return Fault::none;
}

// ORD-40: a command by the node of its source, a piece by that of its target.
Fault Router::State::on_refused(const Peer& from, const RefusedFrame& frame) {
    if (!is_mine(frame.initiator)) return Fault::misdirected;
    const std::uint32_t index = involved(from, frame.initiator, frame.token);
    if (index == no_index) return Fault::none;
    const Outstanding& record = commands[index];
    const bool is_command = frame.is_command != 0;
    if (!from.has(is_command ? source_process(record) : target_process(record))) {
        return Fault::forged;
    }
    if (record.operation != 0) {
        if (!is_command) return Fault::forged;
        send_again(index, 0, record.bytes);
        return Fault::none;
    }
    const std::uint64_t offset = frame.target - record.target;
    if (offset > record.bytes || frame.bytes > record.bytes - offset) return Fault::overrun;
    send_again(index, offset, frame.bytes);
    return Fault::none;
}

void Router::State::send_again(std::uint32_t index, std::uint64_t offset, std::uint64_t bytes) {
    const Outstanding& record = commands[index];
    const std::uint32_t level = std::min<std::uint32_t>(record.attempts, resend_levels - 1);
    Queue& queue = resend_queues[level];
    if (!queue.is_empty()) {
        Resend& last = resends[queue.tail];
        if (last.initiator == record.initiator && last.token == record.token && !last.is_value &&
            last.offset + last.bytes == offset) {
            last.bytes += bytes;
            return;
        }
    }
    Resend* again = later(index);
    if (again == nullptr) return;
    again->is_value = false;
    again->offset = offset;
    again->bytes = bytes;
}

// A record of something of a command's that is due later; nullptr: the command has failed, for want of any.
Resend* Router::State::later(std::uint32_t index) {
    const Outstanding& record = commands[index];
    const std::uint32_t taken = resends.take();
    if (taken == no_index) {
        complete(index, {Code::limit, End::target, named(target_process(record))});
        return nullptr;
    }
    const std::uint32_t level = std::min<std::uint32_t>(record.attempts, resend_levels - 1);
    Resend& again = resends[taken];
    again.token = record.token;
    again.initiator = record.initiator;
    again.bytes = 0;
    again.due = now + (resend_ns_min << level);
    resend_queues[level].push(resends, taken);
    return &again;
}

void Router::State::resend_due() {
    for (Queue& queue : resend_queues) {
        while (!queue.is_empty() && resends[queue.head].due <= now) {
            if (!resend(resends[queue.head])) return;  // no room: next turn
            ++moves;
            resends.give(queue.pop(resends));
        }
    }
}

bool Router::State::resend(const Resend& again) {
    const std::uint32_t index = book.find(again.initiator, again.token);
    if (index == no_index) return true;
    Outstanding& record = commands[index];
    const std::uint8_t attempts = record.attempts;
    if (attempts < 0xffU) ++record.attempts;
    ++counters.resends;
    const std::uint64_t source = source_process(record);
    bool is_begun = false;
    if (again.is_value) {
        is_begun = resend_value(record, again.offset);
    } else if (is_mine(source)) {
        is_begun = begin(task_of(record, again.offset, again.bytes));
    } else {
        is_begun =
            request(peer_of(static_cast<std::uint32_t>(source)), record, again.offset, again.bytes);
    }
    if (is_begun) return true;
    record.attempts = attempts;
    --counters.resends;
    return false;
}

bool Router::State::resend_value(const Outstanding& record, std::uint64_t value) {
    const std::uint32_t index = take_operation(Share::value, Work::value);
    if (index == no_index) return false;
    Operation& operation = operations[index];
    operation.token = record.token;
    operation.initiator = record.initiator;
    operation.target = record.target;
    operation.source = record.source;
    operation.operand = value;
    operation.width = record.width;
    operation.node = peer_of(static_cast<std::uint32_t>(where(record.target))).node;
    enqueue(index);
    return true;
}

}  // namespace acp::router
