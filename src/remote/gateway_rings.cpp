// SPDX-License-Identifier: BSD-3-Clause
// Takes commands from the rings in turn, checks them, writes their completions, and rings bells.
#include "remote/gateway_rings.hpp"

#include <algorithm>
#include <cstring>

#include "node/wait.hpp"

namespace acp::remote {

namespace {

// Whether a process's record names a known operation with valid fields. For an atomic, `bytes` must
// be its width.
bool is_sound(const memory::Command& command) noexcept {
    if (command.is_invoke()) {
        return command.bytes <= memory::invoke_bytes_max && command.operand <= ~0U &&
               command.target <= ~0U && command.source < invokes_max;
    }
    return memory::is_sound(command.operation, command.width) &&
           (command.is_copy() || command.bytes == command.width);
}

}  // namespace

GatewayRings::GatewayRings(const node::Segment& segment)
    : segment_(segment), rings_(segment.shape().local_procs), waiting_(rings_.size()) {
    to_ring_.reserve(rings_.size());
}

bool GatewayRings::has_commands() const noexcept {
    return !segment_.control().commands_rung.is_silent() || (waiting_count_ != 0 && !is_refused_);
}

void GatewayRings::listen() {
    segment_.control().commands_rung.take_all([this](std::uint32_t slot) {
        if (slot >= rings_.size() || rings_[slot].is_closed || rings_[slot].is_waiting) {
            return;
        }
        Ring& ring = rings_[slot];
        if (!ring.commands) {
            RingPair& pair = ring_pair(segment_, slot);
            ring.commands.emplace(command_ring(pair));
            ring.ended.emplace(ended_ring(pair));
        }
        push_waiting(slot);
        is_refused_ = false;
    });
}

void GatewayRings::push_waiting(std::uint32_t slot) noexcept {
    rings_[slot].is_waiting = true;
    waiting_[(waiting_first_ + waiting_count_++) % waiting_.size()] = slot;
}

std::uint32_t GatewayRings::pop_waiting() noexcept {
    const std::uint32_t slot = waiting_[waiting_first_];
    waiting_first_ = (waiting_first_ + 1) % waiting_.size();
    --waiting_count_;
    rings_[slot].is_waiting = false;
    return slot;
}

GatewayRings::Offer GatewayRings::offer(std::uint32_t slot,
                                        const Taker& taker,
                                        std::uint32_t commands_max,
                                        std::uint32_t& taken) {
    Ring& ring = rings_[slot];
    Offer result = Offer::has_more;
    for (std::uint32_t i = 0; i < commands_max; ++i) {
        const CommandRecord* front = ring.commands->front();
        if (front == nullptr) {
            result = Offer::taken_all;
            break;
        }
        const CommandRecord record = *front;
        if (ring.outstanding >= node::ring_records) {  // more than a link ever hands over
            close(slot);
            return Offer::taken_all;
        }
        // counted before the taker runs, which may complete the command at once
        ++ring.outstanding;
        if (!is_sound(record.command)) {
            complete(slot, {.token = record.token, .code = base::Code::argument});
        } else if (!taker(slot, record.token, record.command)) {
            --ring.outstanding;
            result = Offer::refused;
            break;
        } else {
            ++taken;
        }
        ring.commands->pop();
    }
    ring.commands->release();
    if (ring.commands->is_broken()) {
        close(slot);
    }
    return result;
}

std::uint32_t GatewayRings::take(const Taker& taker, std::uint32_t commands_max) {
    listen();
    std::uint32_t taken = 0;
    std::size_t refused_in_a_row = 0;
    while (waiting_count_ != 0 && taken < commands_max && refused_in_a_row < waiting_count_) {
        const std::uint32_t slot = pop_waiting();
        Ring& ring = rings_[slot];
        if (ring.is_closed) {
            continue;
        }
        const std::uint32_t before = taken;
        const Offer result =
            offer(slot, taker, std::min(commands_per_poll, commands_max - taken), taken);
        if (result != Offer::taken_all && !ring.is_closed) {
            push_waiting(slot);
        }
        refused_in_a_row = result == Offer::refused && taken == before ? refused_in_a_row + 1 : 0;
    }
    is_refused_ = refused_in_a_row != 0 && refused_in_a_row >= waiting_count_;
    return taken;
}

std::span<const std::byte> GatewayRings::arguments_of(
    std::uint32_t slot, const memory::Command& command) const noexcept {
    const InvokeCell& cell = ring_pair(segment_, slot).invokes[command.source];
    return {cell.arguments, static_cast<std::size_t>(command.bytes)};
}

void GatewayRings::put_result(std::uint32_t slot,
                              std::uint32_t place,
                              std::span<const std::byte> result) noexcept {
    if (slot >= rings_.size() || rings_[slot].is_closed || result.empty()) return;
    InvokeCell& cell = ring_pair(segment_, slot).invokes[place];
    std::memcpy(cell.result, result.data(), result.size());
}

void GatewayRings::complete(std::uint32_t slot, const Ended& ended) {
    if (slot >= rings_.size() || rings_[slot].is_closed || rings_[slot].outstanding == 0) {
        return;
    }
    Ring& ring = rings_[slot];
    EndedRecord* record = ring.ended->reserve();
    // each command has a record, unless the process overwrote its counter
    if (record == nullptr) {
        close(slot);
        return;
    }
    const std::uint32_t count = std::min(std::max(ended.count, 1U), ring.outstanding);
    *record = {ended.token,
               count,
               static_cast<std::uint32_t>(ended.code),
               static_cast<std::uint32_t>(ended.blamed),
               ended.process,
               ended.result_bytes,
               ended.place};
    ring.ended->push();
    ring.outstanding -= count;
    if (!ring.is_to_ring) {
        ring.is_to_ring = true;
        to_ring_.push_back(slot);
    }
}

void GatewayRings::flush() noexcept {
    for (const std::uint32_t slot : to_ring_) {
        Ring& ring = rings_[slot];
        ring.is_to_ring = false;
        if (ring.is_closed || !ring.ended->publish()) {
            continue;
        }
        node::Door& door = segment_.slot(slot).door;
        // seq_cst, both: after publish(). Partners: a waiter that attends, or announces its sleep,
        // and then loads has_news(); and RingLink::set_service_wanted(). The waiters' bell rings
        // even if is_attended() is false, because a thread may still wait.
        node::ring_bell_after_rmw(door.waiter_bell);
        if (!door.is_attended() && door.must_ring_service.load(std::memory_order_seq_cst) != 0) {
            node::wake_service(segment_, slot);
        }
    }
    to_ring_.clear();
}

void GatewayRings::close(std::uint32_t slot) noexcept {
    rings_[slot].is_closed = true;
    rings_[slot].outstanding = 0;
}

void GatewayRings::forget(std::uint32_t slot) noexcept {
    if (slot < rings_.size()) {
        close(slot);
    }
}

}  // namespace acp::remote
