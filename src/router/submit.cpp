// SPDX-License-Identifier: BSD-3-Clause
// A command of a process of this node begins: what can be done from here is begun at once (a put, or a command
// whose source is here), the rest is asked of the node that holds the source.
#include <cstring>

#include "base/assert.hpp"
#include "router/puts_writer.hpp"
#include "router/state.hpp"

namespace acp::router {

using base::Code;

namespace {

// What a process asks for is not to be trusted.
std::uint8_t operation_of(const memory::Command& command) noexcept {
    return memory::is_sound(command.operation, command.width)
               ? static_cast<std::uint8_t>(command.operation)
               : bad_operation;
}

}  // namespace

bool Router::State::submit(const Request& request) {
    const memory::NumberedCommand one{request.token, &request.command};
    return submit_all(request.initiator, {&one, 1}) == 1;
}

std::size_t Router::State::submit_all(std::uint32_t initiator, Commands run) {
    ACP_ASSERT(is_mine(initiator));
    std::size_t taken = 0;
    while (true) {
        taken += begin_short_puts(initiator, run.subspan(taken));
        if (taken == run.size()) break;
        const std::uint32_t index = commands.take();
        if (index == no_index) break;
        fill_in(commands[index], initiator, run[taken]);
        enter(index);
        if (!begin_outstanding(index)) break;
        ++taken;
    }
    return taken;
}

void Router::State::fill_in(Outstanding& record,
                            std::uint32_t initiator,
                            const memory::NumberedCommand& one) const noexcept {
    const memory::Command& command = *one.command;
    record.token = one.number;
    record.target = command.target_or_word();
    record.source = command.source;
    record.bytes = command.is_copy() ? command.bytes : command.width;
    record.operand = command.operand;
    record.expected = command.expected;
    record.initiator = initiator;
    record.operation = operation_of(command);
    record.width = command.width & 15U;
    record.is_value_dropped = command.has_target() ? 0 : 1;
    record.attempts = 0;
    record.age = static_cast<std::uint8_t>(scan_number);
}

void Router::State::enter(std::uint32_t index) {
    book.insert(index);
    ++local(commands[index].initiator).outstanding;
    ++counters.commands;
    arm();
}

// The shortest way of the most frequent commands: puts of one piece each, side by side into the datagrams being filled
// for one node. How many of the run began so; the next must go the long way, or to another node.
std::size_t Router::State::begin_short_puts(std::uint32_t initiator, Commands run) {
    std::size_t begun = 0;
    while (begun < run.size()) {
        const std::uint64_t target = where(run[begun].command->target);
        if (target >= settings.procs || is_any_lost) break;
        Peer& to = peer_of(static_cast<std::uint32_t>(target));
        if (!to.flows.is_empty() || to.is_blocked || to.node == settings.node) break;
        const std::size_t filled = fill_datagram(to, initiator, run.subspan(begun));
        if (filled == 0) break;
        begun += filled;
    }
    return begun;
}

std::size_t Router::State::fill_datagram(Peer& to, std::uint32_t initiator, Commands run) {
    constexpr std::uint64_t head_bytes = sizeof(PutsFrame) + sizeof(std::uint64_t);
    const std::uint64_t first_bytes = run.front().command->bytes;
    if (first_bytes > to.frame_bytes - head_bytes) return 0;
    PutsWriter puts(reserve_rest(to, head_bytes + first_bytes));
    for (const memory::NumberedCommand& one : run) {
        const memory::Command& command = *one.command;
        if (!command.is_copy() || !to.has(where(command.target)) ||
            !is_mine(where(command.source))) {
            break;
        }
        std::byte* const room = puts.room_for(one.number, command.bytes);
        const std::uint32_t index = room == nullptr ? no_index : commands.take();
        if (index == no_index) break;
        const Settlement got = placement.get_now(command.source, {room, command.bytes});
        if (got.progress != Progress::settled || got.code != Code::ok) {
            commands.give(index);
            break;
        }
        fill_in(commands[index], initiator, one);
        book.insert(index);
        puts.add(initiator, one.number, command);
    }
    if (puts.count() == 0) return 0;
    endpoint->commit(to.node, puts.end());
    local(initiator).outstanding += puts.count();
    counters.commands += puts.count();
    counters.puts_sent += puts.count();
    counters.bytes_sent += puts.copied_bytes();
    ++moves;
    arm();
    return puts.count();
}

// Whether a datagram to its node carries an operation's arguments.
bool Router::State::fits(const Outstanding& call) {
    Peer& to = peer_of(named(call.target));
    if (to.node == settings.node) return true;
    to.frame_bytes = endpoint->frame_bytes_max(to.node);
    return to.frame_bytes >= sizeof(InvokeFrame) + call.bytes;
}

// ORD-22: what involves a lost node or a dead process ends before it begins.
bool Router::State::is_lost(const Outstanding& command, Failure& failure) {
    const std::uint64_t source = source_process(command);
    const std::uint64_t target = target_process(command);
    if (source >= settings.procs) {
        failure = {Code::address, End::source, 0};
    } else if (target >= settings.procs) {
        failure = {Code::address, End::target, 0};
    } else if (is_dead(target) || peer_of(named(target)).is_severed) {
        failure = {Code::peer, End::target, named(target)};
    } else if (is_dead(source) || peer_of(named(source)).is_severed) {
        failure = {Code::peer, End::source, named(source)};
    } else if (command.operation == invoke_operation && !fits(command)) {
        failure = {Code::limit, End::none, named(target)};
    } else if (command.operation == bad_operation) {
        failure = {Code::argument, End::none, 0};
    } else {
        return false;
    }
    return true;
}

bool Router::State::begin_outstanding(std::uint32_t index) {
    const Outstanding& record = commands[index];
    const std::uint64_t source = source_process(record);
    if (source >= settings.procs || target_process(record) >= settings.procs || is_any_lost ||
        record.operation >= invoke_operation) [[unlikely]] {
        Failure failure;
        if (is_lost(record, failure)) {
            complete(index, failure);
            return true;
        }
    }
    bool is_begun = false;
    if (record.operation == invoke_operation && is_mine(source)) {
        is_begun = begin_own_invoke(record);
    } else if (is_mine(source)) {
        is_begun = begin(task_of(record, 0, record.bytes));
    } else {
        is_begun = request(peer_of(static_cast<std::uint32_t>(source)), record, 0, record.bytes);
    }
    if (!is_begun) {
        --counters.commands;
        forget(index);
    }
    return is_begun;
}

Task Router::State::task_of(const Outstanding& record,
                            std::uint64_t offset,
                            std::uint64_t bytes) noexcept {
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

// Sends the request, or queues it behind what waits for that node.
bool Router::State::request(Peer& to,
                            const Outstanding& record,
                            std::uint64_t offset,
                            std::uint64_t bytes) {
    if (to.flows.is_empty() && !to.is_blocked && write_request(to, record, offset, bytes)) {
        return true;
    }
    const std::uint32_t index = take_operation(Share::own, Work::request);
    if (index == no_index) return false;
    Operation& operation = operations[index];
    operation.token = record.token;
    operation.initiator = record.initiator;
    operation.target = record.target;
    operation.source = record.source;
    operation.offset = offset;
    operation.bytes = bytes;
    operation.node = to.node;
    enqueue(index);
    return true;
}

// WIRE-111, WIRE-117
bool Router::State::write_request(Peer& to,
                                  const Outstanding& record,
                                  std::uint64_t offset,
                                  std::uint64_t bytes) {
    if (record.operation == invoke_operation) {
        std::byte* room = reserve(to, sizeof(InvokeFrame) + record.bytes);
        if (room == nullptr) return false;
        InvokeFrame frame;
        frame.bytes = static_cast<std::uint16_t>(record.bytes);
        frame.initiator = record.initiator;
        frame.token = record.token;
        frame.operation = static_cast<std::uint32_t>(record.source);
        frame.process = static_cast<std::uint32_t>(record.target);
        write(room, frame);
        const Arguments& arguments = own_arguments[static_cast<std::uint32_t>(record.operand)];
        std::memcpy(room + sizeof frame, arguments.bytes, record.bytes);
        commit(to, sizeof frame + record.bytes);
        return true;
    }
    std::byte* room = reserve(to, sizeof(CommandFrame));
    if (room == nullptr) return false;
    CommandFrame frame;
    frame.operation = static_cast<memory::Operation>(record.operation);
    frame.width = record.width;
    frame.initiator = record.initiator;
    frame.token = record.token;
    frame.target = record.is_value_dropped != 0 ? 0 : record.target + offset;
    frame.source = record.source + offset;
    const bool is_copy = frame.operation == memory::Operation::copy;
    frame.operand = is_copy ? bytes : record.operand;
    frame.expected = is_copy ? record.bytes : record.expected;
    if (is_copy) frame.width = 0;
    write(room, frame);
    commit(to, sizeof frame);
    return true;
}

}  // namespace acp::router
