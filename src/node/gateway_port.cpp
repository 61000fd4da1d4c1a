// SPDX-License-Identifier: BSD-3-Clause
// Meetings, losses and sleep from the gateway's side.
#include "node/gateway_port.hpp"

#include <algorithm>

#include "node/death.hpp"
#include "node/ranks.hpp"
#include "os/futex.hpp"
#include "os/process.hpp"

namespace acp::node {

GatewayPort::GatewayPort(const Segment& segment) noexcept : segment_(segment) {}

void GatewayPort::open(int event_fd) noexcept {
    Slot& own = segment_.slot(segment_.gateway_slot());
    own.pid.store(static_cast<std::uint32_t>(os::own_pid()), std::memory_order_relaxed);
    own.state.store(static_cast<std::uint32_t>(SlotState::joined), std::memory_order_release);
    // release: partner is Segment::open
    segment_.control().gateway_event.store(static_cast<std::uint32_t>(event_fd) + 1,
                                           std::memory_order_release);
}

void GatewayPort::close(std::uint32_t wait_status) noexcept {
    mark_dead(segment_, segment_.gateway_slot(), wait_status);
}

bool GatewayPort::has_meeting() const noexcept {
    // seq_cst: partner is Barrier::arrive_last, after announce_sleep
    return segment_.control().meeting_asked.load(std::memory_order_seq_cst) != taken_;
}

std::optional<GatewayPort::DueMeeting> GatewayPort::take_meeting() noexcept {
    ControlBlock& control = segment_.control();
    // acquire: partner is Barrier::arrive_last; all requests of the node are visible
    const std::uint32_t asked = control.meeting_asked.load(std::memory_order_acquire);
    if (asked == taken_) {
        return std::nullopt;
    }
    taken_ = asked;
    gathers_ = static_cast<Gathers>(control.meeting_gathers.load(std::memory_order_relaxed));
    return DueMeeting{meetings_++, gathers_};
}

void GatewayPort::read_wanted(std::span<std::uint32_t> into) const noexcept {
    for (std::uint32_t i = 0; i < into.size() && i < segment_.shape().local_procs; ++i) {
        into[i] = segment_.slot(i).wanted_rank.load(std::memory_order_relaxed);
    }
}

Conclusion GatewayPort::read_conclusion() const noexcept {
    return conclusion_of_node(segment_, taken_);
}

void GatewayPort::finish_meeting(std::span<const std::uint32_t> gathered) noexcept {
    if (gathers_ == Gathers::numbers) {
        Ranks(segment_).write(gathered);
    } else if (gathers_ == Gathers::conclusion && gathered.size() == Conclusion::words_count) {
        Conclusion all;
        std::copy(gathered.begin(), gathered.end(), all.words.begin());
        write_conclusion(segment_, all);
    } else {
        // not the result of an earlier meeting, for a process that takes this one for its own
        write_conclusion(segment_, {});
    }
    sync::SleepWord<>& released = segment_.control().barrier_released;
    if (released.publish(taken_)) {  // release: the table, and what other nodes wrote here
        os::futex_wake(released.word(), os::everybody);
    }
}

std::optional<std::uint32_t> GatewayPort::take_watch() noexcept {
    SharedU32& word = segment_.control().watch_asked;
    if (word.load(std::memory_order_seq_cst) == 0)
        return std::nullopt;  // partner: Segment::wake_gateway
    const std::uint32_t asked = word.exchange(0, std::memory_order_seq_cst);
    return asked == every_node ? every_node : asked - 1;
}

void GatewayPort::publish_death(std::uint32_t process, const base::ProcessEnd& end) noexcept {
    if (note_lost_process(segment_, process, end)) {
        count_loss(segment_);
    }
}

void GatewayPort::publish_severed(std::uint32_t node, NodeLoss why) noexcept {
    if (note_lost_node(segment_, node, why)) {
        count_loss(segment_);
    }
}

void GatewayPort::announce_sleep() noexcept {
    // seq_cst: the check that follows must not pass it; partner: Segment::wake_gateway
    segment_.control().gateway_sleeps.exchange(1, std::memory_order_seq_cst);
}

bool GatewayPort::has_work() const noexcept {
    return has_meeting() || !segment_.control().commands_rung.is_silent() ||
           segment_.control().watch_asked.load(std::memory_order_seq_cst) != 0;
}

void GatewayPort::end_sleep() noexcept {
    segment_.control().gateway_sleeps.store(0, std::memory_order_relaxed);
}

}  // namespace acp::node
