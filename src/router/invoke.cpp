// SPDX-License-Identifier: BSD-3-Clause
// Numbered operations: asked for by a process of this node, run at the node of their process, again and again if
// they say so, and told of with their result.
#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "router/state.hpp"

namespace acp::router {

using base::Code;

bool Router::State::invoke(const Call& call, Bytes bytes) {
    ACP_ASSERT(is_mine(call.initiator) && bytes.size() <= invoke_bytes_max);
    const std::uint32_t arguments = own_arguments.take();
    if (arguments == no_index) return false;
    const std::uint32_t index = commands.take();
    if (index == no_index) {
        own_arguments.give(arguments);
        return false;
    }
    if (!bytes.empty()) std::memcpy(own_arguments[arguments].bytes, bytes.data(), bytes.size());
    Outstanding& record = commands[index];
    record.token = call.token;
    record.target = call.process;
    record.source = call.operation;
    record.bytes = bytes.size();
    record.operand = arguments;
    record.expected = 0;
    record.initiator = call.initiator;
    record.operation = invoke_operation;
    record.width = 0;
    record.attempts = 0;
    record.age = static_cast<std::uint8_t>(scan_number);
    enter(index);
    return begin_outstanding(index);
}

bool Router::State::begin_own_invoke(const Outstanding& record) {
    const std::uint32_t index = take_operation(Share::own, Work::invoke);
    if (index == no_index) return false;
    Operation& operation = operations[index];
    operation.token = record.token;
    operation.initiator = record.initiator;
    operation.target = record.target;
    operation.source = record.source;
    operation.node = settings.node;
    enqueue(index);
    return true;
}

// WIRE-118. The operation writes its result into the datagram; so there is room before it runs.
Step Router::State::step_invoke(std::uint32_t index, Peer& to) {
    Operation& operation = operations[index];
    const Arguments& arguments = foreign_arguments[operation.buffer];
    switch (run_invoke(operation, {arguments.bytes, operation.bytes}, to)) {
        case Sent::no_room:
            return Step::blocked;
        case Sent::not_now:
            park(index, operation.target);
            return Step::parked;
        default:
            return Step::done;
    }
}

Sent Router::State::run_invoke(const Operation& operation, Bytes arguments, Peer& to) {
    const std::uint32_t room_bytes =
        std::min<std::uint32_t>(to.frame_bytes, sizeof(ResultFrame) + invoke_bytes_max);
    std::byte* room = reserve(to, room_bytes);
    if (room == nullptr) return Sent::no_room;
    std::uint32_t result_bytes = 0;
    const auto process = static_cast<std::uint32_t>(operation.target);
    const Settlement ran = placement.invoke(
        static_cast<std::uint32_t>(operation.source), process, arguments,
        {room + sizeof(ResultFrame), room_bytes - sizeof(ResultFrame)}, result_bytes);
    if (ran.progress != Progress::settled) return Sent::not_now;
    ++counters.runs;
    ResultFrame frame;
    frame.code = static_cast<std::uint8_t>(ran.code);
    frame.bytes = ran.code == Code::ok ? static_cast<std::uint16_t>(result_bytes) : 0;
    frame.initiator = operation.initiator;
    frame.token = operation.token;
    write(room, frame);
    commit(to, sizeof frame + frame.bytes);
    return Sent::sent;
}

Step Router::State::step_local_invoke(std::uint32_t index) {
    Operation& operation = operations[index];
    const std::uint32_t command = book.find(operation.initiator, operation.token);
    const Outstanding& record = commands[command];
    const Arguments& arguments = own_arguments[static_cast<std::uint32_t>(record.operand)];
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the operation's to write
    std::array<std::byte, invoke_bytes_max> result;
    std::uint32_t result_bytes = 0;
    const Settlement ran = placement.invoke(static_cast<std::uint32_t>(record.source),
                                            static_cast<std::uint32_t>(record.target),
                                            {arguments.bytes, record.bytes}, result, result_bytes);
    if (ran.progress != Progress::settled) {
        park(index, record.target);
        return Step::parked;
    }
    ++counters.runs;
    complete_invoke(command, ran.code, Bytes(result).first(result_bytes));
    return Step::done;
}

Fault Router::State::on_invoke(Peer& from, const InvokeFrame& frame, Bytes bytes) {
    if (!from.has(frame.initiator)) return Fault::forged;
    if (!is_mine(frame.process)) return Fault::misdirected;
    if (local(frame.process).is_dead) {
        fail(frame.initiator, frame.token, {Code::peer, End::source, frame.process});
        return Fault::none;
    }
    Operation call;
    call.token = frame.token;
    call.initiator = frame.initiator;
    call.target = frame.process;
    call.source = frame.operation;
    if (from.flows.is_empty() && !from.is_blocked && run_invoke(call, bytes, from) == Sent::sent) {
        return Fault::none;
    }
    const std::uint32_t buffer = foreign_arguments.take();
    const std::uint32_t index =
        buffer == no_index ? no_index : take_operation(Share::foreign, Work::invoke);
    if (index == no_index) {
        if (buffer != no_index) foreign_arguments.give(buffer);
        Task refused;
        refused.initiator = frame.initiator;
        refused.token = frame.token;
        refuse_command(from, refused);
        return Fault::none;
    }
    if (!bytes.empty()) {
        std::memcpy(foreign_arguments[buffer].bytes, bytes.data(), bytes.size());
    }
    Operation& operation = operations[index];
    operation.token = frame.token;
    operation.initiator = frame.initiator;
    operation.target = frame.process;
    operation.source = frame.operation;
    operation.bytes = bytes.size();
    operation.buffer = buffer;
    operation.node = from.node;
    enqueue(index);
    return Fault::none;
}

Fault Router::State::on_result(const Peer& from, const ResultFrame& frame, Bytes result) {
    if (!is_mine(frame.initiator)) return Fault::misdirected;
    const std::uint32_t index = involved(from, frame.initiator, frame.token);
    if (index == no_index) return Fault::none;
    if (commands[index].operation != invoke_operation) return Fault::forged;
    complete_invoke(index, static_cast<Code>(frame.code), result);
    return Fault::none;
}

void Router::State::complete_invoke(std::uint32_t index, Code code, Bytes result) {
    const Outstanding& record = commands[index];
    if (code != Code::ok) {
        complete(index, {code, End::source, named(record.target)});
        return;
    }
    Completion completion;
    completion.initiator = record.initiator;
    completion.token = record.token;
    completion.value = result.size();
    forget(index);
    ++counters.completions;
    ++moves;
    completions.on_result(completion.initiator, completion.token, result);
    completions.on_completion(completion);
}

}  // namespace acp::router
