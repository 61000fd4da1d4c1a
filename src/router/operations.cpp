// SPDX-License-Identifier: BSD-3-Clause
// Takes and releases records of work.
#include "router/operations.hpp"

#include <cstring>
#include <numeric>

#include "base/assert.hpp"

namespace acp::router {

Operations::Operations(const RouterSettings& settings)
    : shares_max_{settings.executions_max, settings.executions_max, settings.executions_max,
                  settings.executions_max + settings.commands_max},
      operations_(std::accumulate(shares_max_.begin(), shares_max_.end(), 0U)),
      arguments_(settings.invokes_max),
      staging_(new std::byte[settings.staging_buffers * staging_bytes_max]) {
    staging_free_.reserve(settings.staging_buffers);
    for (std::uint32_t i = settings.staging_buffers; i > 0; --i) staging_free_.push_back(i - 1);
}

Operations::~Operations() {
    for (std::uint32_t index = 0; index < operations_.touched(); ++index) {
        if (operations_[index].is_taken) delete[] operations_[index].kept;
    }
}

std::uint32_t Operations::take(Share share, Work work) noexcept {
    std::uint32_t& used = shares_[static_cast<std::size_t>(share)];
    if (used >= shares_max_[static_cast<std::size_t>(share)]) return no_index;
    const std::uint32_t index = operations_.take();
    ACP_ASSERT(index != no_index);  // the pool has room for all shares
    ++used;
    OperationRecord& operation = operations_[index];
    const std::uint32_t generation = operation.generation;
    operation = OperationRecord{};
    operation.generation = generation;
    operation.is_taken = true;
    operation.work = work;
    operation.share = share;
    return index;
}

std::uint32_t Operations::take_task(const Task& task, Work work, std::uint32_t lane) noexcept {
    const std::uint32_t index = take(task.share, work);
    if (index == no_index) return no_index;
    OperationRecord& operation = operations_[index];
    operation.token = task.token;
    operation.initiator = task.initiator;
    operation.target = task.command.target_or_word();
    operation.is_value_dropped = !task.command.has_target();
    operation.source = task.command.source;
    operation.bytes = task.command.bytes;
    operation.total = task.total;
    operation.operand = task.command.operand;
    operation.expected = task.command.expected;
    operation.operation = static_cast<std::uint8_t>(task.command.operation);
    operation.width = task.command.width;
    operation.lane = lane;
    return index;
}

std::uint32_t Operations::take_staged() noexcept {
    if (staging_free_.empty()) return no_index;
    const std::uint32_t index = take(Share::inner, Work::staged);
    if (index == no_index) return no_index;
    operations_[index].buffer = staging_free_.back();
    staging_free_.pop_back();
    return index;
}

std::uint32_t Operations::take_invoke(Bytes arguments) noexcept {
    const std::uint32_t buffer = arguments_.take();
    if (buffer == no_index) return no_index;
    const std::uint32_t index = take(Share::foreign, Work::invoke);
    if (index == no_index) {
        arguments_.give(buffer);
        return no_index;
    }
    if (!arguments.empty()) {
        std::memcpy(arguments_[buffer].bytes, arguments.data(), arguments.size());
    }
    operations_[index].bytes = arguments.size();
    operations_[index].buffer = buffer;
    return index;
}

void Operations::release(std::uint32_t index) noexcept {
    OperationRecord& operation = operations_[index];
    delete[] operation.kept;
    operation.kept = nullptr;
    if (operation.buffer != no_index) {
        if (operation.work == Work::staged) {
            staging_free_.push_back(operation.buffer);
        } else {
            arguments_.give(operation.buffer);
        }
    }
    // Generation 0 is skipped when the number wraps around: records begin with 1.
    if (++operation.generation == 0) operation.generation = 1;
    --shares_[static_cast<std::size_t>(operation.share)];
    operations_.give(index);
}

std::uint32_t Operations::find_with_placement(Ticket ticket) const noexcept {
    const auto index = static_cast<std::uint32_t>(ticket) - 1;
    const bool is_known = index < operations_.touched() && operations_[index].is_taken &&
                          operations_[index].is_with_placement &&
                          operations_[index].generation == ticket >> 32U;
    return is_known ? index : no_index;
}

OperationRecord* Operations::parent_of(const OperationRecord& staged) noexcept {
    OperationRecord& parent = operations_[staged.parent];
    const bool is_there = parent.is_taken && parent.generation == staged.parent_generation;
    return is_there ? &parent : nullptr;
}

void Operations::cancel_of(const RouterPeer& initiators) noexcept {
    for_each([&](OperationRecord& operation) {
        if (initiators.has(operation.initiator)) operation.is_cancelled = true;
    });
}

}  // namespace acp::router
