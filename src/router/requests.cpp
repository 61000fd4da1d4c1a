// SPDX-License-Identifier: BSD-3-Clause
// Writes COMMAND and INVOKE frames, and runs invokes that need none.
#include "router/requests.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace acp::router {

Requests::Requests(Nodes& nodes,
                   OwnCommands& own,
                   Operations& operations,
                   Backlog& backlog,
                   Outbox& outbox,
                   Placement& placement,
                   Activity& activity)
    : nodes_(nodes),
      own_(own),
      operations_(operations),
      backlog_(backlog),
      outbox_(outbox),
      placement_(placement),
      activity_(activity) {}

bool Requests::begin(RouterPeer& to,
                     const Outstanding& record,
                     std::uint64_t offset,
                     std::uint64_t bytes) {
    if (to.flows.is_empty() && !to.is_blocked && write_request(to, record, offset, bytes)) {
        return true;
    }
    const std::uint32_t index = operations_.take(Share::own, Work::request);
    if (index == no_index) return false;
    OperationRecord& operation = operations_[index];
    operation.token = record.token;
    operation.initiator = record.initiator;
    operation.offset = offset;
    operation.bytes = bytes;
    operation.lane = to.lane;
    backlog_.enqueue(index);
    return true;
}

bool Requests::begin_here(const Outstanding& record) {
    const std::uint32_t index = operations_.take(Share::own, Work::invoke);
    if (index == no_index) return false;
    OperationRecord& operation = operations_[index];
    operation.token = record.token;
    operation.initiator = record.initiator;
    operation.target = record.called().process;
    operation.lane = nodes_.self();
    backlog_.enqueue(index);
    return true;
}

RouterPeer& Requests::lane_of_invoke(RouterPeer& node, const Outstanding& record) noexcept {
    for (std::uint64_t i = record.before_count(); i-- > 0;) {
        const std::uint32_t before = own_.find(record.initiator, record.before() + 2 * i);
        if (before != no_index)
            return nodes_.lane_to(node, own_[before].target, own_[before].source);
    }
    return node;
}

StepOutcome Requests::step(const OperationRecord& operation, RouterPeer& to) {
    const Outstanding& record = own_[own_.find(operation.initiator, operation.token)];
    // The rest of a copy that it is ordered after is sent first.
    if (record.is_ordered() &&
        backlog_.has_work_of(to, record.initiator, record.before(), record.before_count())) {
        return StepOutcome::again;
    }
    const bool is_sent = write_request(to, record, operation.offset, operation.bytes);
    return is_sent ? StepOutcome::done : StepOutcome::blocked;
}

StepOutcome Requests::step_here(std::uint32_t index) {
    const OperationRecord& operation = operations_[index];
    const std::uint32_t command = own_.find(operation.initiator, operation.token);
    const Outstanding& record = own_[command];
    const CalledOperation called = record.called();
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the operation's to write
    std::array<std::byte, invoke_bytes_max> result;
    // A process of this node may change its arguments at any time, and the operation checks them
    // before it uses them.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): written as far as read
    std::array<std::byte, invoke_bytes_max> arguments;
    std::ranges::copy(record.arguments(), arguments.begin());
    std::uint32_t result_bytes = 0;
    const Settlement ran = placement_.invoke(
        called.number, called.process, Bytes(arguments).first(record.bytes), result, result_bytes);
    if (ran.progress != SettlementState::settled) {
        backlog_.park(index, called.process);
        return StepOutcome::parked;
    }
    ++activity_.counters().runs;
    own_.complete_invoke(command, ran.code, Bytes(result).first(result_bytes));
    return StepOutcome::done;
}

// WIRE-117, and WIRE-121 while a copy that it is ordered after is outstanding.
bool Requests::write_invoke(RouterPeer& to, const Outstanding& record) {
    const Bytes arguments = record.arguments();
    const bool is_after = record.is_ordered() && own_.mark_followed(record);
    const std::size_t after_bytes = is_after ? sizeof(ShortFrame) : 0;
    std::byte* room = outbox_.reserve(to, after_bytes + sizeof(InvokeFrame) + arguments.size());
    if (room == nullptr) return false;
    if (is_after) {
        write(room,
              ShortFrame{FrameType::after, 0, static_cast<std::uint16_t>(record.before_count()),
                         record.initiator, record.before()});
        room += after_bytes;
    }
    InvokeFrame frame;
    frame.bytes = static_cast<std::uint16_t>(arguments.size());
    frame.initiator = record.initiator;
    frame.token = record.token;
    frame.operation = record.called().number;
    frame.process = record.called().process;
    write(room, frame);
    if (!arguments.empty()) std::memcpy(room + sizeof frame, arguments.data(), arguments.size());
    outbox_.commit(to, after_bytes + sizeof frame + arguments.size());
    return true;
}

// WIRE-111
bool Requests::write_command(RouterPeer& to,
                             const Outstanding& record,
                             std::uint64_t offset,
                             std::uint64_t bytes) {
    std::byte* room = outbox_.reserve(to, sizeof(CommandFrame));
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
    outbox_.commit(to, sizeof frame);
    return true;
}

}  // namespace acp::router
