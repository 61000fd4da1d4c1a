// SPDX-License-Identifier: BSD-3-Clause
// Publishes deaths. The order matters: first the state; then the count, which sleepers read after
// they announced their sleep; then every bell is cleared and rung. So a sleeper either sees the
// count or is woken.
#include "node/death.hpp"

#include <cstring>

#include "node/loss.hpp"
#include "node/wait.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"
#include "os/life_lock.hpp"
#include "os/process.hpp"
#include "os/udp_socket.hpp"

namespace acp::node {

namespace {

std::string signal_text(int number) {
    const char* name = sigabbrev_np(number);
    return "signal " + std::to_string(number) +
           (name != nullptr ? " (SIG" + std::string(name) + ")" : "");
}

// A thread that sleeps on a datagram socket does not see bells: an empty datagram wakes it. If one
// is lost in a full buffer, the datagrams there wake the thread anyway.
void wake_sockets(const Segment& segment, std::uint32_t first, std::uint32_t count) noexcept {
    if (static_cast<base::IntraNode>(segment.shape().intranode) != base::IntraNode::udp) {
        return;
    }
    constexpr std::uint32_t nothing_is_received = 0;
    auto socket = os::UdpSocket::open_loopback(nothing_is_received);
    if (!socket.is_ok()) {
        return;  // they poll by themselves every liveness_check_ns
    }
    for (std::uint32_t i = first; i < first + count; ++i) {
        const Slot& slot = segment.slot(i);
        // relaxed: a process that has left may have lost its port to a foreign process; one that
        // joins now polls by itself
        const bool is_joined = slot.state.load(std::memory_order_relaxed) ==
                               static_cast<std::uint32_t>(SlotState::joined);
        const std::uint32_t port = slot.udp_port.load(std::memory_order_acquire);
        if (is_joined && port != 0) {
            (void)socket.value().send_to(static_cast<std::uint16_t>(port), {}, {});
        }
    }
}

// Adds the watcher's knowledge to a death that other processes detected first.
void complete_death(const Segment& segment, Slot& dead, std::uint32_t wait_status) noexcept {
    if (wait_status == unseen_status) return;
    const auto replaces = [&](std::uint32_t told) {
        // release: partner is is_end_awaited()
        return dead.wait_status.compare_exchange_strong(
            told, wait_status, std::memory_order_release, std::memory_order_relaxed);
    };
    // In this order: a thread that waited in vain replaces the first by the second.
    if (!replaces(unseen_status) && !replaces(untold_status)) return;
    segment.control().deaths.fetch_add(1, std::memory_order_seq_cst);  // partner: as in mark_dead
    wake_everybody(segment);
}

// The second half of the message about a process that left because a meeting could not complete:
// the reason. "" if it is unknown, or the process was the first that left.
std::string why_departed(const Segment& segment) {
    const auto first = first_dead(segment);
    if (first && has_left(segment, *first)) return "";
    const std::string why = first_fate(segment);
    return why.empty() ? why : ": " + why;
}

}  // namespace

void wake_service(const Segment& segment, std::uint32_t slot) noexcept {
    ring_bell_after_rmw(segment.slot(slot).door.service_bell);
    wake_sockets(segment, slot, 1);
}

void wake_everybody(const Segment& segment) noexcept {
    ControlBlock& control = segment.control();
    // The caller has stored before what the sleepers are to see. Wakes them whatever the words say,
    // because a thread that changed one may have died before its wake-up.
    static_cast<void>(control.barrier_released.clear_sleep());
    os::futex_wake(control.barrier_released.word(), os::everybody);
    for (std::uint32_t i = 0; i < segment.shape().local_procs; ++i) {
        Door& door = segment.slot(i).door;
        for (sync::Bell<>* bell : {&door.waiter_bell, &door.service_bell}) {
            static_cast<void>(bell->ring());
            os::futex_wake(bell->word(), os::everybody);
        }
    }
    wake_sockets(segment, 0, segment.shape().local_procs);
    segment.signal_gateway();
}

void mark_dead(const Segment& segment, std::uint32_t slot, std::uint32_t wait_status) noexcept {
    ControlBlock& control = segment.control();
    Slot& dead = segment.slot(slot);
    const auto gone = static_cast<std::uint32_t>(SlotState::dead);
    std::uint32_t before = dead.state.load(std::memory_order_relaxed);
    do {
        if (before == gone) {
            return complete_death(segment, dead, wait_status);
        }
        dead.wait_status.store(wait_status, std::memory_order_relaxed);  // read after state == dead
        dead.state_at_death.store(before, std::memory_order_relaxed);    // read after state == dead
        // acq_rel: release for threads that see the slot dead and describe its fate
    } while (!dead.state.compare_exchange_weak(before, gone, std::memory_order_acq_rel,
                                               std::memory_order_relaxed));
    std::uint32_t nobody = 0;
    control.first_dead_slot_plus_1.compare_exchange_strong(nobody, slot + 1,
                                                           std::memory_order_acq_rel);
    // partner: every sleeper's check before it sleeps
    control.deaths.fetch_add(1, std::memory_order_seq_cst);
    wake_everybody(segment);
}

void count_loss(const Segment& segment) noexcept {
    ControlBlock& control = segment.control();
    std::uint32_t nobody = 0;
    control.first_dead_slot_plus_1.compare_exchange_strong(nobody, loss_came_first,
                                                           std::memory_order_acq_rel);
    control.deaths.fetch_add(1, std::memory_order_seq_cst);  // partner: as in mark_dead
    wake_everybody(segment);
}

std::optional<std::uint32_t> first_dead(const Segment& segment) noexcept {
    const std::uint32_t slot =
        segment.control().first_dead_slot_plus_1.load(std::memory_order_acquire);
    return slot == 0 || slot == loss_came_first ? std::nullopt
                                                : std::optional<std::uint32_t>(slot - 1);
}

bool has_left(const Segment& segment, std::uint32_t slot) noexcept {
    const Slot& one = segment.slot(slot);
    // acquire: state_at_death; partner: mark_dead()
    auto state = static_cast<SlotState>(one.state.load(std::memory_order_acquire));
    // relaxed, both: the first is ordered by the load above, the second by the load that found a
    // registration ended
    if (state == SlotState::dead)
        state = static_cast<SlotState>(one.state_at_death.load(std::memory_order_relaxed));
    return state == SlotState::left || one.is_departing.load(std::memory_order_relaxed) != 0;
}

// Checks the state again after the lock: a process that leaves in order stores `left` before it
// ends.
bool has_lost_life(const Segment& segment, std::uint32_t slot) noexcept {
    const Slot& one = segment.slot(slot);
    const auto is_joined = [&one] {
        return one.state.load(std::memory_order_acquire) ==
               static_cast<std::uint32_t>(SlotState::joined);
    };
    // relaxed: stored before state became joined
    return is_joined() && one.has_life_lock.load(std::memory_order_relaxed) != 0 &&
           segment.has_file() && os::look_at_life(segment.file(), slot) == os::LifeLook::free &&
           is_joined();
}

void find_the_dead(const Segment& segment) noexcept {
    SharedU64& looked_ns = segment.control().looked_ns;
    const std::uint64_t now = os::now_ns();
    std::uint64_t before = looked_ns.load(std::memory_order_relaxed);
    // relaxed: only reduces the number of checks; a process that is stopped in its check delays the
    // others by no more than that interval
    if (now - before < look_again_ns ||
        !looked_ns.compare_exchange_strong(before, now, std::memory_order_relaxed)) {
        return;
    }
    for (std::uint32_t i = 0; i < slots_of(segment.shape()); ++i) {
        if (has_lost_life(segment, i)) {
            mark_dead(segment, i, unseen_status);
        }
    }
}

std::string first_fate(const Segment& segment) {
    if (const auto slot = first_dead(segment)) {
        return fate(segment, *slot);
    }
    std::string told = told_loss(segment, 0);
    return told.empty() ? "a rank is gone" : told;
}

bool has_first_finished(const Segment& segment) noexcept {
    const auto slot = first_dead(segment);
    if (!slot) return first_loss_is_finished(segment);
    const Slot& first = segment.slot(*slot);
    return first.wait_status.load(std::memory_order_relaxed) != departed_status &&
           first.state_at_death.load(std::memory_order_relaxed) ==
               static_cast<std::uint32_t>(SlotState::left);
}

std::string name_of(const Segment& segment, std::uint32_t slot) {
    if (slot == segment.gateway_slot()) {
        return "the gateway of node " + std::to_string(segment.shape().node);
    }
    return "rank " + std::to_string(segment.slot(slot).rank.load(std::memory_order_relaxed));
}

std::string ending_text(std::uint32_t wait_status) {
    if (wait_status == unknown_status || wait_status == unseen_status ||
        wait_status == untold_status) {
        return "is gone";
    }
    if (wait_status == gave_up_status) {
        return "could not join: its acp_init failed and says why";
    }
    if (wait_status == replaced_status) {
        return "has run another program (exec)";
    }
    if (wait_status == departed_status) {
        return "has left the job, whose ranks could not meet any more";
    }
    if (wait_status == unreachable_status) {
        return "has closed the descriptor of its own UDP socket, and cannot be reached any more";
    }
    if (wait_status == finished_status) {
        return "has ended after acp_finalize";
    }
    return (wait_status & 0x7f) != 0  // the test of WTERMSIG
               ? "was killed by " + signal_text(static_cast<int>(wait_status & 0x7f))
               : "exited with code " + std::to_string((wait_status >> 8) & 0xff);
}

std::string ending_text(std::uint32_t wait_status, SlotState before) {
    std::string text = ending_text(wait_status);
    const bool is_named_by_kernel = wait_status < least_own_status;
    if (!is_named_by_kernel && wait_status != replaced_status) return text;
    switch (before) {
        case SlotState::empty:
            return text + " without acp_init";
        case SlotState::joined:
            return text + " without acp_finalize";
        case SlotState::left:
            return text + " after acp_finalize";
        case SlotState::dead:
            break;
    }
    return text;
}

base::ProcessEnd end_of(const Segment& segment, std::uint32_t slot) noexcept {
    // acquire: state_at_death; partner: mark_dead(), complete_death()
    const Slot& dead = segment.slot(slot);
    const std::uint32_t status = dead.wait_status.load(std::memory_order_acquire);
    const std::uint32_t number = dead.pid.load(std::memory_order_relaxed);
    const bool is_sent = number <= base::ProcessEnd::process_number_max;
    return {status, is_sent ? number : 0,
            static_cast<std::uint8_t>(dead.state_at_death.load(std::memory_order_relaxed))};
}

bool is_end_awaited(const Segment& segment, std::uint32_t slot) noexcept {
    return is_dead(segment, slot) &&
           segment.slot(slot).wait_status.load(std::memory_order_acquire) == unseen_status &&
           segment.control().watcher_pid.load(std::memory_order_relaxed) != 0;
}

std::string fate(const Segment& segment, std::uint32_t slot) {
    Slot& dead = segment.slot(slot);
    const bool has_only_left = !is_dead(segment, slot) && has_left(segment, slot);
    const bool is_watched = segment.control().watcher_pid.load(std::memory_order_relaxed) != 0;
    const auto is_unknown = [&] {  // also for a process that is exiting, as the caller has found
        return is_watched && !has_only_left &&
               (!is_dead(segment, slot) || is_end_awaited(segment, slot));
    };
    for (const std::uint64_t start_ns = os::now_ns();
         is_unknown() && os::now_ns() - start_ns < end_told_within_ns;) {
        os::nap();
    }
    // A thread that waited in vain marks that for all later callers: some call this for each of
    // many commands.
    if (is_watched && is_dead(segment, slot)) {
        std::uint32_t expected = unseen_status;
        // relaxed on failure: the watcher has reported in the meantime; its status is loaded below
        dead.wait_status.compare_exchange_strong(expected, untold_status, std::memory_order_acq_rel,
                                                 std::memory_order_relaxed);
    }
    const std::string who = name_of(segment, slot) + " (process " +
                            std::to_string(dead.pid.load(std::memory_order_relaxed)) + " on " +
                            os::host_name() + ") ";
    std::uint32_t status = unknown_status;
    if (is_dead(segment, slot)) {
        status = dead.wait_status.load(std::memory_order_relaxed);
    } else if (has_only_left) {
        if (dead.is_departing.load(std::memory_order_relaxed) == 0)
            return who + "has left the job by acp_finalize";
        status = departed_status;
    }
    if (status == departed_status) return who + ending_text(status) + why_departed(segment);
    if (slot == segment.gateway_slot()) return who + ending_text(status);
    // relaxed: stored before the state became dead, which is_dead() has read
    return who + ending_text(status, static_cast<SlotState>(
                                         dead.state_at_death.load(std::memory_order_relaxed)));
}

}  // namespace acp::node
