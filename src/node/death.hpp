// SPDX-License-Identifier: BSD-3-Clause
// Deaths on a node: how they are published, so that every wait of the node ends, and how a process's fate is
// told in words. The watcher (agent) publishes the end of its children, and of processes whose life lock came free:
// each process locks the byte of its slot in the segment's file while it lives (os/life_lock.hpp). A process number
// says nothing here: ranks may be in different pid namespaces. Any thread of any process of the node; never blocks.
// Tests: tests/unit/node/death_test.cpp (a sleeper is woken at every interleaving).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "node/segment.hpp"
#include "os/robust_word.hpp"

namespace acp::node {

// Publishes that the process of a slot is gone and wakes everybody who sleeps on this node. Only the first call for a slot
// counts, but for what a watcher adds to unseen_status and untold_status. wait_status is as waitpid gives it, or one of these.
inline constexpr std::uint32_t unknown_status = 0xffffffffU;
inline constexpr std::uint32_t gave_up_status =
    0xfffffffeU;  // its acp_init failed; the process may live on
inline constexpr std::uint32_t replaced_status =
    0xfffffffdU;  // it ran another program (exec) without acp_finalize; the process may live on
inline constexpr std::uint32_t departed_status =
    0xfffffffcU;  // it left a job whose ranks could not meet any more; the process may live on
inline constexpr std::uint32_t finished_status =
    0xfffffffbU;  // told to other nodes: it left by acp_finalize and has ended
inline constexpr std::uint32_t unreachable_status =
    0xfffffff8U;  // told to other nodes: it has closed the socket of its own gateway, and lives on
inline constexpr std::uint32_t unseen_status =
    0xfffffffaU;  // found gone by its life lock; the watcher may still say how it ended
inline constexpr std::uint32_t untold_status =
    0xfffffff9U;  // likewise, and the watcher did not say so within end_told_within_ns
void mark_dead(const Segment& segment, std::uint32_t slot, std::uint32_t wait_status) noexcept;

// Wakes every sleeper of the node, without a reason: they look again and sleep on.
void wake_everybody(const Segment& segment) noexcept;

// The slot of this node that died first, if any did before something was lost on another node.
[[nodiscard]] std::optional<std::uint32_t> first_dead(const Segment& segment) noexcept;

[[nodiscard]] inline bool is_dead(const Segment& segment, std::uint32_t slot) noexcept {
    return segment.slot(slot).state.load(std::memory_order_acquire) ==
           static_cast<std::uint32_t>(SlotState::dead);
}

// Whether the process of a slot has left the job, or is leaving it though others may still want its memory. Asked after a registration of
// that process was found ended.
[[nodiscard]] bool has_left(const Segment& segment, std::uint32_t slot) noexcept;

// Whether the kernel has begun to end the process of a slot, or to replace it by exec: its memory may be another program's
// by now. Asked after the kernel has copied memory of the process, false proves that it was the process's memory, where
// the process holds service_hold. Not enough to take the process for dead: others of its threads may run for a moment
// longer, inside memory that they have named.
[[nodiscard]] inline bool may_be_replaced(const Segment& segment, std::uint32_t slot) noexcept {
    // acquire: partner is the kernel, which marks the word before it gives the process other memory
    return os::has_holder_ended(segment.slot(slot).service_hold.load(std::memory_order_acquire));
}

// Whether the process of a slot has joined, and its life lock has come free: it has ended, or run another program. A
// process without a life lock is never lost by this. Needs the segment's file: false in a Segment made by share().
[[nodiscard]] bool has_lost_life(const Segment& segment, std::uint32_t slot) noexcept;

// Marks all those dead. For jobs without a watcher, and for a waiter that has waited long, because the watcher may be
// stopped. Returns at once when somebody of the node looked less than look_again_ns ago: a look costs a system call per
// process, and after a death everybody wants one.
inline constexpr std::uint64_t look_again_ns = 5'000'000;
void find_the_dead(const Segment& segment) noexcept;

// Counts a loss that was published (node/loss.hpp), and wakes everybody. For whoever published it.
void count_loss(const Segment& segment) noexcept;

// What ended first, on this node or another: why collective waits cannot end well.
[[nodiscard]] std::string first_fate(const Segment& segment);

// Whether what ended first had left in order. All had come to the last meeting then: whoever waits for another one has
// made other collective calls.
[[nodiscard]] bool has_first_finished(const Segment& segment) noexcept;

// "was killed by signal 9 (SIGKILL)", "exited with code 3"; "is gone" when that is all.
[[nodiscard]] std::string ending_text(std::uint32_t wait_status);

// "rank 2", or "the gateway of node 1".
[[nodiscard]] std::string name_of(const Segment& segment, std::uint32_t slot);

// Whether a process was found gone and the watcher is about to say how it ended.
[[nodiscard]] bool is_end_awaited(const Segment& segment, std::uint32_t slot) noexcept;

// "rank 2 (process 4711 on host) was killed by signal 9" and its kin; "is gone" when nobody knows more. Waits up to
// end_told_within_ns for a watcher that is about to know, once for each end: when the watcher did not tell, nobody
// who asks later waits.
inline constexpr std::uint64_t end_told_within_ns = 200'000'000;
[[nodiscard]] std::string fate(const Segment& segment, std::uint32_t slot);

}  // namespace acp::node
