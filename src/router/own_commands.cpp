// SPDX-License-Identifier: BSD-3-Clause
// All ways in which commands of this node's processes complete. Each calls forget() once.
#include "router/own_commands.hpp"

namespace acp::router {

using base::Code;

OwnCommands::OwnCommands(Nodes& nodes,
                         PartialCopies& partials,
                         Completions& completions,
                         Activity& activity,
                         const RouterSettings& settings)
    : nodes_(nodes),
      partials_(partials),
      completions_(completions),
      activity_(activity),
      commands_(settings.commands_max),
      book_(commands_),
      outstanding_(nodes.local_count()) {}

void OwnCommands::forget(std::uint32_t index) noexcept {
    const Outstanding& record = commands_[index];
    --outstanding_[nodes_.local_index(record.initiator)];
    book_.erase(index);
    commands_.give(index);
}

void OwnCommands::withdraw(std::uint32_t index) noexcept {
    --activity_.counters().commands;
    forget(index);
}

void OwnCommands::tell(const CommandEnd& completion) {
    activity_.counters().completions += completion.count;
    activity_.note_move();
    completions_.on_completion(completion);
}

void OwnCommands::complete(std::uint32_t index, const CommandFailure& failure) {
    const Outstanding& record = commands_[index];
    CommandEnd completion;
    completion.initiator = record.initiator;
    completion.token = record.token;
    completion.code = failure.code;
    completion.blamed = failure.blamed;
    completion.process = failure.process;
    const bool is_followed = record.is_followed != 0;
    if (failure.code != Code::ok) partials_.drop(record.initiator, record.token);
    forget(index);
    tell(completion);
    if (failure.code != Code::ok && is_followed) {
        fail_ordered_after(completion.initiator, completion.token);
    }
}

bool OwnCommands::mark_followed(const Outstanding& ordered) noexcept {
    bool is_any = false;
    for (std::uint64_t i = 0; i < ordered.before_count(); ++i) {
        const std::uint32_t index = find(ordered.initiator, ordered.before() + 2 * i);
        if (index == no_index) continue;
        commands_[index].is_followed = 1;
        is_any = true;
    }
    return is_any;
}

// ORD-66. The target's node carries out an ordered command only after the copies before it. Completes
// those copies, whose ENDs may arrive later.
void OwnCommands::end_before(const Outstanding& ordered) {
    const std::uint32_t initiator = ordered.initiator;
    const std::uint64_t first = ordered.before();
    const std::uint64_t count = ordered.before_count();
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint32_t index = find(initiator, first + 2 * i);
        if (index == no_index) continue;
        if (commands_[index].is_ordered()) end_before(commands_[index]);
        complete(index, {Code::ok, BlamedAddress::none, 0});
    }
}

// ORD-66. A target's node does not carry out a command that is ordered after a failed copy. Fails
// those commands.
void OwnCommands::fail_ordered_after(std::uint32_t initiator, std::uint64_t token) {
    for_each([&](std::uint32_t index, const Outstanding& record) {
        const bool is_behind = record.is_ordered() && record.initiator == initiator &&
                               token - record.before() < 2 * record.before_count();
        if (is_behind) complete(index, {Code::order, BlamedAddress::none, 0});
    });
}

void OwnCommands::end_before_answered(std::uint32_t index) {
    const Outstanding& answered = commands_[index];
    if (answered.is_ordered() && mark_followed(answered)) [[unlikely]]
        end_before(answered);
}

void OwnCommands::complete_invoke(std::uint32_t index, Code code, Bytes result) {
    end_before_answered(index);
    const Outstanding& record = commands_[index];
    if (code != Code::ok) {
        complete(index, {code, BlamedAddress::source, record.called().process});
        return;
    }
    CommandEnd completion;
    completion.initiator = record.initiator;
    completion.token = record.token;
    completion.value = result.size();
    completion.place = record.place();
    forget(index);
    completions_.on_result(completion, result);
    tell(completion);
}

Fault OwnCommands::on_end(const RouterPeer& from, const ShortFrame& frame) {
    if (!nodes_.is_mine(frame.initiator)) return Fault::misdirected;
    CommandEnd run;
    run.initiator = frame.initiator;
    run.count = 0;
    const auto deliver = [&] {
        if (run.count != 0) tell(run);
        run.count = 0;
    };
    for (std::uint64_t i = 0; i < frame.count; ++i) {
        const std::uint64_t token = frame.token + 2 * i;
        const std::uint32_t index = book_.find(frame.initiator, token);
        const bool is_known = index != no_index;
        if (is_known && !commands_[index].is_invoke() &&
            from.has(nodes_.where(commands_[index].target))) {
            if (commands_[index].is_ordered()) [[unlikely]] {
                deliver();
                end_before_answered(index);
            }
            if (run.count == 0) run.token = token;
            ++run.count;
            forget(index);
            continue;
        }
        RouterCounters& counters = activity_.counters();
        ++(is_known ? counters.stranger_ends : counters.late_ends);
        deliver();
    }
    deliver();
    return Fault::none;
}

std::uint32_t OwnCommands::find_involved(const RouterPeer& from,
                                         std::uint32_t initiator,
                                         std::uint64_t token) noexcept {
    const std::uint32_t index = book_.find(initiator, token);
    if (index == no_index) {
        ++activity_.counters().late_ends;
        return no_index;
    }
    const Outstanding& record = commands_[index];
    if (!from.has(source_process(record)) && !from.has(target_process(record))) {
        ++activity_.counters().stranger_ends;
        return no_index;
    }
    return index;
}

void OwnCommands::end_all_of(const RouterPeer& gone) {
    for_each([&](std::uint32_t index, const Outstanding& record) {
        const std::uint64_t target = target_process(record);
        const std::uint64_t source = source_process(record);
        if (gone.has(target)) {
            complete(index, {Code::peer, BlamedAddress::target, nodes_.named(target)});
        } else if (gone.has(source)) {
            complete(index, {Code::peer, BlamedAddress::source, nodes_.named(source)});
        }
    });
}

void OwnCommands::end_all_of(std::uint32_t initiator) {
    for_each([&](std::uint32_t index, const Outstanding& record) {
        if (record.initiator == initiator)
            complete(index, {Code::peer, BlamedAddress::source, initiator});
    });
}

}  // namespace acp::router
