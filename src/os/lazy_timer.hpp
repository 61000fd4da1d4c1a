// SPDX-License-Identifier: BSD-3-Clause
// A timer for a thread that sleeps on descriptors: it is set as seldom as possible, and left alone where it fires early enough.
// To give each sleep a timeout of its own makes the kernel set the processor's timer when the sleep begins and when it ends,
// which takes 5 us each on a virtual machine. This one may fire too early: then the sleeper finds that its time has not come,
// and sets it anew. Any thread sets it, without waking the sleeper; the sleeper alone notes that it has fired.
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

    // Only while one thread knows the timer.
    LazyTimer(LazyTimer&& other) noexcept
        : descriptor_(std::move(other.descriptor_)),
          fires_at_(other.fires_at_.load(std::memory_order_relaxed)) {}

    ~LazyTimer() = default;
    LazyTimer(const LazyTimer&) = delete;
    LazyTimer& operator=(const LazyTimer&) = delete;
    LazyTimer& operator=(LazyTimer&&) = delete;

    // Sees to it that the timer fires at this time or earlier.   at_ns  of os::now_ns(); never: does nothing
    void fire_by(std::uint64_t at_ns) noexcept {
        // seq_cst: partner is note_fired(), as its caller explains
        if (at_ns < fires_at_.load(std::memory_order_seq_cst)) set(at_ns);
    }

    // The timer has fired, and is not set any more.
    void note_fired() noexcept { fires_at_.exchange(never, std::memory_order_seq_cst); }

    // Readable when the timer has fired. It stays so until the timer is set again: watch it edge-triggered.
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

private:
    explicit LazyTimer(FileDescriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

    void set(std::uint64_t at_ns) noexcept;

    FileDescriptor descriptor_;
    std::atomic<std::uint64_t> fires_at_{never};
};

}  // namespace acp::os
