// SPDX-License-Identifier: BSD-3-Clause
// A timer for a thread that sleeps on descriptors: it is set only if it would otherwise fire too
// late. For a sleep with a timeout the kernel sets the processor's timer when the sleep begins and
// when it ends, which takes 5 us each on a virtual machine. This timer may fire too early: then the
// sleeper sees that its time has not come, and sets it again. Any thread may set it, without waking
// the sleeper; only the sleeper calls note_fired().
// Tests: tests/unit/os/lazy_timer_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

class LazyTimer {
public:
    static constexpr std::uint64_t never = ~0ULL;

    // Errors: limit (descriptors used up), system.
    static base::Result<LazyTimer> create();

    // No other thread may use the timer during the move.
    LazyTimer(LazyTimer&& other) noexcept
        : descriptor_(std::move(other.descriptor_)),
          fires_at_(other.fires_at_.load(std::memory_order_relaxed)) {}

    ~LazyTimer() = default;
    LazyTimer(const LazyTimer&) = delete;
    LazyTimer& operator=(const LazyTimer&) = delete;
    LazyTimer& operator=(LazyTimer&&) = delete;

    // Makes the timer fire at this time or earlier.   at_ns  of os::now_ns(); never: does nothing
    void fire_by(std::uint64_t at_ns) noexcept {
        // seq_cst: partner is note_fired(), as its caller explains
        if (at_ns < fires_at_.load(std::memory_order_seq_cst)) set(at_ns);
    }

    // Called by the sleeper after the timer has fired and before it checks the times of its work.
    void note_fired() noexcept { fires_at_.exchange(never, std::memory_order_seq_cst); }

    // Readable when the timer has fired. It stays so until the timer is set again: watch it
    // edge-triggered.
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

private:
    explicit LazyTimer(FileDescriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

    void set(std::uint64_t at_ns) noexcept;

    FileDescriptor descriptor_;
    std::atomic<std::uint64_t> fires_at_{never};
};

}  // namespace acp::os
