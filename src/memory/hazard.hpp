// SPDX-License-Identifier: BSD-3-Clause
// Hazard lines: a thread publishes in its line the addresses that it accesses, so that
// unregistering waits for it. There is one 64-byte line per thread, in the node segment. The thread
// stores the addresses it is about to use, then reads the table; the owner clears the table, makes
// every core pass a barrier (membarrier), then reads the lines. So either the thread sees the
// cleared entry or the owner sees the announcement. The owner skips the lines of processes that it
// knows to be dead. Where membarrier is refused, the thread executes a fence.
// Tests: nothing_lands_after_unregister, a_killed_reader_is_skipped,
// a_stopped_reader_is_waited_for.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/ga_layout.hpp"

namespace acp::memory {

// most threads of one process that have a line each
inline constexpr std::uint32_t hazard_lines_per_slot = 64;

// Writer: the one thread that claimed the line. Readers: owners that unregister, statistics.
template <template <class> class Atomic>
struct alignas(64) HazardLineOf {
    Atomic<std::uint64_t> target;  // address in use, 0 = none (then source is meaningless)
    Atomic<std::uint64_t> source;  // address in use
    Atomic<std::uint64_t>
        claims;  // 1 of the thread that owns the line, and 1 for each lock that it holds
    Atomic<std::uint64_t> commands;  // commands that this thread ran by loads and stores
    Atomic<std::uint64_t> bytes;     // bytes of those commands
    // commands that this thread ran at once through the kernel
    Atomic<std::uint64_t> attached_commands;
    Atomic<std::uint64_t> attached_bytes;
    // decisions of the thread whether to run a command through the kernel at once
    Atomic<std::uint64_t> attach_choices;
};

using HazardLine = HazardLineOf<std::atomic>;

static_assert(sizeof(HazardLine) == 64);

// The owner of the line holds one lock more, or one less. A line that is claimed for a lock stays
// claimed when its thread ends: a thread that got the line next would pass for the lock's holder.
inline void claim_for_lock(HazardLine& line) noexcept {
    // relaxed: other threads only compare it with 0
    line.claims.store(line.claims.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

inline void unclaim_for_lock(HazardLine& line) noexcept {
    const std::uint64_t claims = line.claims.load(std::memory_order_relaxed);
    // The last one is the thread's; those of locks that acp_reset has ended are left.
    if (claims > 1) line.claims.store(claims - 1, std::memory_order_relaxed);
}

// How a reader's announcement becomes visible before its table reads.
enum class HazardFence {
    compiler,  // only a compiler barrier; the owner's membarrier orders the rest
    processor  // membarrier is not available, or ThreadSanitizer must see the edge
};

// Always inlined, like leave(): the compiler weighs the number of callers, not how often they run.
template <HazardFence fence, typename Line>
[[gnu::always_inline]] inline void enter(Line& line,
                                         GlobalAddress target,
                                         GlobalAddress source) noexcept {
    // release: an owner that reads this source instead of the previous one also sees that the
    // access to the previous one is over; the store of leave() alone does not order this one.
    // Partner: is_named_by().
    line.source.store(source, std::memory_order_release);
    if constexpr (fence == HazardFence::processor) {
        // seq_cst: pairs with the owner's seq_cst scan
        line.target.exchange(target, std::memory_order_seq_cst);
    } else {
        // release: pairs with the owner's scan; publishes source
        line.target.store(target, std::memory_order_release);
        // the owner's membarrier completes the pair
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}

// Whether the calling thread, which owns the line, is inside an access: a handler of a fault in
// that access must use another line.
template <typename Line>
[[nodiscard, gnu::always_inline]] inline bool is_entered(const Line& line) noexcept {
    return line.target.load(std::memory_order_relaxed) != 0;
}

template <typename Line>
[[gnu::always_inline]] inline void leave(Line& line) noexcept {
    // release: pairs with the owner's scan; this thread's accesses are done
    line.target.store(0, std::memory_order_release);
}

// Whether a line names an address for which is_named(address) is true. The owner calls it after it
// has cleared the table and made every core pass a barrier.
template <typename Line, typename IsNamed>
[[nodiscard]] inline bool is_named_by(const Line& line, const IsNamed& is_named) {
    // seq_cst: pairs with the exchange in enter() where there is no membarrier
    const std::uint64_t target = line.target.load(std::memory_order_seq_cst);
    // acquire: pairs with the store of source in enter()
    return target != 0 &&
           (is_named(target) || is_named(line.source.load(std::memory_order_acquire)));
}

}  // namespace acp::memory
