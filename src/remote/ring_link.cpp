// SPDX-License-Identifier: BSD-3-Clause
// Writes commands into one ring, and reads completions from the other.
#include "remote/ring_link.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "node/death.hpp"

namespace acp::remote {

namespace {

bool has_room_for_one(std::vector<Ended>& ended) noexcept {
    if (ended.size() < ended.capacity()) return true;
    try {
        ended.reserve(2 * ended.size() + 1);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace

RingLink::RingLink(const node::Segment& segment, std::uint32_t slot)
    : segment_(segment),
      slot_(slot),
      pair_(ring_pair(segment, slot)),
      commands_(command_ring(pair_)),
      ended_(ended_ring(pair_)) {}

bool RingLink::submit(std::uint64_t token, const memory::Command& command) {
    if (outstanding_ >= node::ring_records) {
        return false;
    }
    CommandRecord* record = commands_.reserve();
    if (record == nullptr) {
        return false;
    }
    *record = {token, command, 0};
    commands_.push();
    ++outstanding_;
    return true;
}

bool RingLink::invoke(std::uint64_t token, const LinkInvocation& invocation) {
    memory::Command command;
    command.operation = memory::invoke_operation;
    command.target = invocation.process;
    command.source = invocation.place;
    command.operand = invocation.operation;
    command.bytes = invocation.argument_bytes;
    return submit(token, command);
}

void RingLink::flush() {
    if (commands_.publish()) {
        static_cast<void>(segment_.control().commands_rung.set(slot_));
        segment_.wake_gateway();
    }
}

bool RingLink::poll(std::vector<Ended>& ended) {
    bool has_moved = false;
    for (const EndedRecord* front = ended_.front(); front != nullptr; front = ended_.front()) {
        // an allocation failed: the rest stays in the ring
        if (!has_room_for_one(ended)) break;
        const EndedRecord record = *front;
        ended_.pop();
        has_moved = true;
        const std::uint32_t count = std::min(record.count, outstanding_);
        if (count == 0) {
            continue;
        }
        outstanding_ -= count;
        Ended& one = ended.emplace_back();
        one.token = record.token;
        one.count = count;
        one.code = record.code < static_cast<std::uint32_t>(base::code_count)
                       ? static_cast<base::Code>(record.code)
                       : base::Code::system;
        one.blamed = record.blamed <= static_cast<std::uint32_t>(BlamedAddress::source)
                         ? static_cast<BlamedAddress>(record.blamed)
                         : BlamedAddress::none;
        one.process = std::min(record.process, segment_.shape().procs - 1);
        one.place = std::min(record.cell, invokes_max - 1);
        one.result_bytes = std::min(record.result_bytes, memory::invoke_bytes_max);
        if (one.result_bytes != 0) one.result = pair_.invokes[one.place].result;
    }
    if (has_moved) {
        ended_.release();
    }
    if (ended_.is_broken() && !is_broken_.exchange(true, std::memory_order_relaxed)) {
        node::mark_dead(segment_, segment_.gateway_slot(), node::unknown_status);
    }
    return has_moved;
}

bool RingLink::has_news() const noexcept {
    // seq_cst: partner is GatewayRings::flush(), for a thread that announced its sleep before.
    // relaxed: the driver reads its own store; another thread may see an old value, and calls
    // poll() as the driver before it acts.
    return pair_.ended_published.load(std::memory_order_seq_cst) !=
               pair_.ended_taken.load(std::memory_order_relaxed) &&
           !is_broken_.load(std::memory_order_relaxed);
}

void RingLink::set_service_wanted(bool is_wanted) noexcept {
    // seq_cst: the caller's has_news() must not be ordered before this store; partner:
    // GatewayRings::flush()
    segment_.slot(slot_).door.must_ring_service.exchange(is_wanted ? 1 : 0,
                                                         std::memory_order_seq_cst);
}

}  // namespace acp::remote
