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

// All of a copy, or an atomic's old value, is in place here. ORD-10
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
    switch (frame.type) {
        case FrameType::value:
            return on_value(from, index, frame.detail);
        case FrameType::failed:
            complete(index, {static_cast<Code>(frame.code_and_end & 63U),
                             static_cast<End>(frame.code_and_end >> 6U),
                             static_cast<std::uint32_t>(frame.detail)});
            return Fault::none;
        default:
            return on_refused(from, index, frame);
    }
}

Fault Router::State::on_value(const Peer& from, std::uint32_t index, std::uint64_t value) {
    const Outstanding& record = commands[index];
    const bool is_atomic = record.operation != invoke_operation && record.operation != 0;
    if (!is_atomic || !from.has(where(record.source)) || !is_mine(where(record.target))) {
        return Fault::forged;
    }
    place_value(record, value);
    return Fault::none;
}

// ORD-40
Fault Router::State::on_refused(const Peer& from, std::uint32_t index, const LongFrame& frame) {
    const Outstanding& record = commands[index];
    if (frame.count == 0) {
        send_again(index, 0, record.bytes);
        return Fault::none;
    }
    if (record.operation != 0 || !from.has(where(record.target))) return Fault::forged;
    const std::uint64_t offset = frame.detail - record.target;
    if (offset > record.bytes || frame.count > record.bytes - offset) return Fault::overrun;
    send_again(index, offset, frame.count);
    return Fault::none;
}

void Router::State::send_again(std::uint32_t index, std::uint64_t offset, std::uint64_t bytes) {
    const Outstanding& record = commands[index];
    const std::uint32_t level = std::min<std::uint32_t>(record.attempts, resend_levels - 1);
    Queue& queue = resend_queues[level];
    if (!queue.is_empty()) {
        Resend& last = resends[queue.tail];
        if (last.initiator == record.initiator && last.token == record.token &&
            last.offset + last.bytes == offset) {
            last.bytes += bytes;
            return;
        }
    }
    const std::uint32_t taken = resends.take();
    if (taken == no_index) {
        complete(index, {Code::limit, End::target, named(target_process(record))});
        return;
    }
    Resend& again = resends[taken];
    again.token = record.token;
    again.initiator = record.initiator;
    again.offset = offset;
    again.bytes = bytes;
    again.due = now + (resend_ns_min << level);
    queue.push(resends, taken);
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
    const std::uint32_t attempts = record.attempts;
    record.attempts = std::min(attempts + 1, 255U) & 255U;
    ++counters.resends;
    const std::uint64_t source = source_process(record);
    const bool is_begun = is_mine(source) ? begin(task_of(record, again.offset, again.bytes))
                                          : request(peer_of(static_cast<std::uint32_t>(source)),
                                                    record, again.offset, again.bytes);
    if (is_begun) return true;
    record.attempts = attempts & 255U;
    --counters.resends;
    return false;
}

}  // namespace acp::router
