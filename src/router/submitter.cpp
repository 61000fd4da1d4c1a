// SPDX-License-Identifier: BSD-3-Clause
// Begins commands: makes the record, fails commands that cannot succeed, and chooses the part that
// makes the first step.
#include "router/submitter.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "router/puts_writer.hpp"

namespace acp::router {

using base::Code;

namespace {

// A process may submit an invalid operation.
std::uint8_t operation_of(const memory::Command& command) noexcept {
    return memory::is_sound(command.operation, command.width)
               ? static_cast<std::uint8_t>(command.operation)
               : bad_operation;
}

Task task_of(const Outstanding& record, std::uint64_t offset, std::uint64_t bytes) noexcept {
    Task task;
    task.command.operation = static_cast<memory::Operation>(record.operation);
    task.command.width = record.width;
    task.command.target = record.is_value_dropped != 0 ? 0 : record.target + offset;
    task.command.source = record.source + offset;
    task.command.bytes = bytes;
    task.command.operand = record.operand;
    task.command.expected = record.expected;
    task.total = record.bytes;
    task.token = record.token;
    task.initiator = record.initiator;
    task.share = Share::own;
    return task;
}

}  // namespace

Submitter::Submitter(Nodes& nodes,
                     OwnCommands& own,
                     Resends& resends,
                     Requests& requests,
                     Executor& executor,
                     Outbox& outbox,
                     Placement& placement,
                     Activity& activity)
    : nodes_(nodes),
      own_(own),
      resends_(resends),
      requests_(requests),
      executor_(executor),
      outbox_(outbox),
      placement_(placement),
      activity_(activity) {}

std::size_t Submitter::submit(std::uint32_t initiator, CommandRun run) {
    ACP_ASSERT(nodes_.is_mine(initiator));
    std::size_t taken = 0;
    while (true) {
        taken += begin_short_puts(initiator, run.subspan(taken));
        if (taken == run.size()) break;
        const std::uint32_t index = own_.take();
        if (index == no_index) break;
        fill_in(own_[index], initiator, run[taken]);
        own_.enter(index);
        if (!begin(index)) break;
        ++taken;
    }
    return taken;
}

void Submitter::fill_in(Outstanding& record,
                        std::uint32_t initiator,
                        const memory::NumberedCommand& one) const noexcept {
    const memory::Command& command = *one.command;
    record.token = one.number;
    record.target = command.target_or_word();
    record.source = command.source;
    record.bytes = command.is_copy() ? command.bytes : command.width;
    record.operand = command.is_copy() ? one.before : command.operand;
    record.expected = command.is_copy() ? one.before_count : command.expected;
    record.initiator = initiator;
    record.operation = operation_of(command);
    record.width = command.width & 15U;
    record.is_value_dropped = command.has_target() ? 0 : 1;
    record.is_followed = 0;
    record.attempts = 0;
    record.age = static_cast<std::uint8_t>(activity_.scan_number());
}

// The fast path of the most frequent commands: puts of one piece each, written side by side into
// the datagrams being filled for one lane. Returns how many of the run began so; the next one must
// take the general path.
std::size_t Submitter::begin_short_puts(std::uint32_t initiator, CommandRun run) {
    std::size_t begun = 0;
    while (begun < run.size()) {
        const std::uint64_t target = nodes_.where(run[begun].command->target);
        if (target >= nodes_.procs() || nodes_.is_any_lost()) break;
        RouterPeer& node = nodes_.peer_of(static_cast<std::uint32_t>(target));
        const CommandRun rest = run.subspan(begun);
        RouterPeer& to =
            nodes_.lane_to(node, rest.front().command->target, rest.front().command->source);
        // Work that waits for the lane goes first.
        if (!to.flows.is_empty() || to.is_blocked || to.node == nodes_.self()) break;
        const std::size_t filled =
            fill_datagram(to, initiator, nodes_.rails() == 1 ? rest : of_one_rail(rest));
        if (filled == 0) break;
        begun += filled;
    }
    return begun;
}

// The first commands of a run, as many as go by the rail of the first.
Submitter::CommandRun Submitter::of_one_rail(CommandRun run) const noexcept {
    const auto rail_of = [this](const memory::NumberedCommand& one) {
        return nodes_.rail_of(one.command->target, one.command->source);
    };
    const auto other = std::find_if(run.begin(), run.end(), [&](const auto& one) {
        return rail_of(one) != rail_of(run.front());
    });
    return run.first(static_cast<std::size_t>(other - run.begin()));
}

std::size_t Submitter::fill_datagram(RouterPeer& to, std::uint32_t initiator, CommandRun run) {
    constexpr std::uint64_t head_bytes = sizeof(PutsFrame) + sizeof(std::uint64_t);
    const std::uint64_t first_bytes = run.front().command->bytes;
    if (head_bytes + first_bytes > outbox_.frame_bytes_max(to)) return 0;
    PutsWriter puts(outbox_.reserve_rest(to, head_bytes + first_bytes));
    for (const memory::NumberedCommand& one : run) {
        const memory::Command& command = *one.command;
        if (!command.is_copy() || one.before_count != 0 || !to.has(nodes_.where(command.target)) ||
            !nodes_.is_mine(nodes_.where(command.source))) {
            break;
        }
        std::byte* const room = puts.room_for(one.number, command.bytes);
        const std::uint32_t index = room == nullptr ? no_index : own_.take();
        if (index == no_index) break;
        const Settlement got = placement_.get_now(command.source, {room, command.bytes});
        // The general path stages it, or reports the error.
        if (got.progress != SettlementState::settled || got.code != Code::ok) {
            own_.give_back(index);
            break;
        }
        fill_in(own_[index], initiator, one);
        own_.insert(index);
        puts.add(initiator, one.number, command);
    }
    if (puts.count() == 0) return 0;
    outbox_.commit(to, puts.end());
    own_.count_entered(initiator, puts.count());
    activity_.counters().puts_sent += puts.count();
    activity_.counters().bytes_sent += puts.copied_bytes();
    return puts.count();
}

bool Submitter::invoke(const InvokeRequest& call, Bytes arguments) {
    ACP_ASSERT(nodes_.is_mine(call.initiator) && arguments.size() <= invoke_bytes_max);
    const std::uint32_t index = own_.take();
    if (index == no_index) return false;
    Outstanding& record = own_[index];
    record.call(call);
    record.operand = reinterpret_cast<std::uint64_t>(arguments.data());
    record.bytes = arguments.size();
    record.token = call.token;
    record.initiator = call.initiator;
    record.width = 0;
    record.is_followed = 0;
    record.attempts = 0;
    record.age = static_cast<std::uint8_t>(activity_.scan_number());
    own_.enter(index);
    return begin(index);
}

// ORD-22: a command that involves a severed node fails before it begins. A command on memory of a
// dead process is begun: memory in the node segment remains.
bool Submitter::is_lost(const Outstanding& command, CommandFailure& failure) {
    const std::uint64_t source = own_.source_process(command);
    const std::uint64_t target = own_.target_process(command);
    const auto is_severed = [this](std::uint64_t process) {
        return nodes_.peer_of(static_cast<std::uint32_t>(process)).is_severed;
    };
    if (source >= nodes_.procs()) {
        failure = {Code::address, BlamedAddress::source, 0};
    } else if (target >= nodes_.procs()) {
        failure = {Code::address, BlamedAddress::target, 0};
    } else if (is_severed(target)) {
        failure = {Code::peer, BlamedAddress::target, nodes_.named(target)};
    } else if (is_severed(source)) {
        failure = {Code::peer, BlamedAddress::source, nodes_.named(source)};
    } else if (command.operation == bad_operation) {
        failure = {Code::argument, BlamedAddress::none, 0};
    } else {
        return false;
    }
    return true;
}

bool Submitter::begin(std::uint32_t index) {
    const Outstanding& record = own_[index];
    const std::uint64_t source = own_.source_process(record);
    // All rare cases are tested in one branch.
    if (source >= nodes_.procs() || own_.target_process(record) >= nodes_.procs() ||
        nodes_.is_any_lost() || record.operation >= invoke_operation) [[unlikely]] {
        CommandFailure failure;
        if (is_lost(record, failure)) {
            own_.complete(index, failure);
            return true;
        }
    }
    const bool is_invoke_here = record.is_invoke() && nodes_.is_mine(source);
    const bool is_begun = is_invoke_here ? requests_.begin_here(record) : begin_whole(index);
    // Nothing was sent, so the caller may submit the command again.
    if (!is_begun) own_.withdraw(index);
    return is_begun;
}

// ORD-66. A copy that is ordered after outstanding commands is sent with their tokens; if that is
// not possible now, it waits like a refused one. None of those commands has failed, because their
// failure would have failed the copy.
bool Submitter::begin_whole(std::uint32_t index) {
    const Outstanding& record = own_[index];
    if (record.is_invoke() || !record.is_ordered() || !own_.mark_followed(record)) {
        return begin_part(record, 0, record.bytes);
    }
    if (!executor_.send_after(record)) resends_.add(index, 0, record.bytes);
    return true;
}

// Begins a part of a command at the node of its source: here, or by a request to another node.
// Returns false if there is no free record.
bool Submitter::begin_part(const Outstanding& record, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t source = own_.source_process(record);
    if (nodes_.is_mine(source)) return executor_.begin(task_of(record, offset, bytes));
    RouterPeer& node = nodes_.peer_of(static_cast<std::uint32_t>(source));
    return requests_.begin(record.is_invoke() ? requests_.lane_of_invoke(node, record)
                                              : nodes_.lane_to(node, record.target, record.source),
                           record, offset, bytes);
}

void Submitter::resend_due() {
    resends_.send_due([this](const Resend& again) { return resend(again); });
}

bool Submitter::resend(const Resend& again) {
    const std::uint32_t index = own_.find(again.initiator, again.token);
    if (index == no_index) return true;
    Outstanding& record = own_[index];
    const std::uint8_t attempts = record.attempts;
    // Counts the attempt before it is made, because the part may be refused within begin_part(),
    // and then waits for the next longer pause. It is undone if there was no room to begin.
    if (attempts < 0xffU) ++record.attempts;
    ++activity_.counters().resends;
    const bool is_begun = again.is_value        ? executor_.begin_value(record, again.offset)
                          : record.is_ordered() ? begin_whole(index)
                                                : begin_part(record, again.offset, again.bytes);
    if (is_begun) return true;
    record.attempts = attempts;
    --activity_.counters().resends;
    return false;
}

}  // namespace acp::router
