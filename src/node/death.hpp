// SPDX-License-Identifier: BSD-3-Clause
// Deaths on a node: their publication, so that every wait of the node ends, and sentences about a
// process's fate. The watcher (agent) publishes the end of its children, and of processes whose
// life lock is free: each process locks the byte of its slot in the segment's file while it lives
// (os/life_lock.hpp). A process number proves nothing here, because ranks may be in different pid
// namespaces. Any thread of any process of the node; never blocks.
// Tests: tests/unit/node/death_test.cpp (a sleeper is woken at every interleaving).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/process_end.hpp"
#include "node/segment.hpp"
#include "os/robust_word.hpp"

namespace acp::node {

// Publishes that the process of a slot is gone and wakes all sleepers of this node. Only the first
// call for a slot has an effect, except that a watcher may replace unseen_status and untold_status.
// wait_status is as waitpid gives it, or one of these.
inline constexpr std::uint32_t unknown_status = 0xffffffffU;
// its acp_init failed; the process may live on
inline constexpr std::uint32_t gave_up_status = 0xfffffffeU;
// it ran another program (exec) without acp_finalize; the process may live on
inline constexpr std::uint32_t replaced_status = 0xfffffffdU;
// it left a job in which no meeting can complete; the process may live on
inline constexpr std::uint32_t departed_status = 0xfffffffcU;
// reported to other nodes: it left by acp_finalize and has ended
inline constexpr std::uint32_t finished_status = 0xfffffffbU;
// reported to other nodes: it has closed the socket of its own gateway, and lives on
inline constexpr std::uint32_t unreachable_status = 0xfffffff8U;
// found gone by its life lock; the watcher may still report how it ended
inline constexpr std::uint32_t unseen_status = 0xfffffffaU;
// found gone by its life lock, and the watcher has not reported within end_told_within_ns
inline constexpr std::uint32_t untold_status = 0xfffffff9U;
// the least of these; no wait status is as great
inline constexpr std::uint32_t least_own_status = unreachable_status;
void mark_dead(const Segment& segment, std::uint32_t slot, std::uint32_t wait_status) noexcept;

// Wakes every sleeper of the node; each checks its condition again, and sleeps on if it does not
// hold.
void wake_everybody(const Segment& segment) noexcept;

// The slot of this node whose process died first, unless a loss on another node came before.
[[nodiscard]] std::optional<std::uint32_t> first_dead(const Segment& segment) noexcept;

[[nodiscard]] inline bool is_dead(const Segment& segment, std::uint32_t slot) noexcept {
    return segment.slot(slot).state.load(std::memory_order_acquire) ==
           static_cast<std::uint32_t>(SlotState::dead);
}

// Whether the process of a slot has left the job, or is leaving it although other processes may
// still use its memory. Called after a registration of that process was found ended.
[[nodiscard]] bool has_left(const Segment& segment, std::uint32_t slot) noexcept;

// Whether the kernel has begun to end the process of a slot, or to replace it by exec: its memory
// may belong to another program already. Called after the kernel has copied memory of the process:
// false proves that the memory was the process's, if it holds service_hold. True does not prove
// that the process is dead: other threads of it may run for a moment longer, inside memory that
// they have named.
[[nodiscard]] inline bool may_be_replaced(const Segment& segment, std::uint32_t slot) noexcept {
    // acquire: partner is the kernel, which marks the word before it gives the process other memory
    return os::has_holder_ended(segment.slot(slot).service_hold.load(std::memory_order_acquire));
}

// Whether the process of a slot had joined and its life lock is free: it has ended, or runs another
// program. False for a process without a life lock. Needs the segment's file: false in a Segment
// made by share().
[[nodiscard]] bool has_lost_life(const Segment& segment, std::uint32_t slot) noexcept;

// Marks all such processes dead. Called in jobs without a watcher, and by a thread that has waited
// long, because the watcher may be stopped. Returns at once if another process of the node checked
// less than look_again_ns ago: a check costs a system call per process, and after a death all
// processes call this.
inline constexpr std::uint64_t look_again_ns = 5'000'000;
void find_the_dead(const Segment& segment) noexcept;

// Counts a loss that the caller has published (node/loss.hpp), and wakes all sleepers of the node.
void count_loss(const Segment& segment) noexcept;

// Describes the process or node that was lost first, here or elsewhere: the reason why collective
// waits cannot complete.
[[nodiscard]] std::string first_fate(const Segment& segment);

// Whether the first process that ended had left in order. Then all had completed their last
// meeting, so a process that waits for another meeting has made other collective calls.
[[nodiscard]] bool has_first_finished(const Segment& segment) noexcept;

// "was killed by signal 9 (SIGKILL)", "exited with code 3"; "is gone" if the cause is unknown.
[[nodiscard]] std::string ending_text(std::uint32_t wait_status);

// The same with " without acp_finalize" and similar, where the state before the end is known and
// the status does not imply it.
[[nodiscard]] std::string ending_text(std::uint32_t wait_status, SlotState before);

// The end of a dead process of this node, for other nodes. Does not wait for the watcher's report.
[[nodiscard]] base::ProcessEnd end_of(const Segment& segment, std::uint32_t slot) noexcept;

// "rank 2", or "the gateway of node 1".
[[nodiscard]] std::string name_of(const Segment& segment, std::uint32_t slot);

// Whether a process was found gone and the watcher is expected to report how it ended.
[[nodiscard]] bool is_end_awaited(const Segment& segment, std::uint32_t slot) noexcept;

// "rank 2 (process 4711 on host) was killed by signal 9" and similar; "is gone" if the cause is
// unknown. Waits up to end_told_within_ns for the watcher's report, once for each death: if there
// was none, later callers do not wait.
inline constexpr std::uint64_t end_told_within_ns = 200'000'000;
[[nodiscard]] std::string fate(const Segment& segment, std::uint32_t slot);

}  // namespace acp::node
