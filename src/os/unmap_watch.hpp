// SPDX-License-Identifier: BSD-3-Clause
// Tells which memory of the process was unmapped or moved, so that what is known of it can be forgotten: events of a userfaultfd, which handles no
// fault. Who unmaps watched memory waits until a thread of this class has read the event. That thread allocates and frees nothing, and takes no lock, as
// it would wait for itself. Knows nothing of what is known of the memory. watch(), unwatch() and take() one thread at a time; any thread unmaps.
// Tests: tests/unit/os/unmap_watch_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.hpp"
#include "os/event.hpp"
#include "os/file_descriptor.hpp"
#include "os/thread.hpp"

namespace acp::os {

// Addresses [start, end).
struct MemoryRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

class UnmapWatch {
public:
    static constexpr std::uint64_t untold_max = 64;

    // Errors: unsupported (the kernel gives no such descriptor), limit, memory, system.
    static Result<std::unique_ptr<UnmapWatch>> create();
    // Ends the thread. Nobody waits for it any more.
    ~UnmapWatch();
    UnmapWatch(const UnmapWatch&) = delete;
    UnmapWatch& operator=(const UnmapWatch&) = delete;

    // Watches whole pages, from now on. false: the kernel does not watch memory of this kind (of files, say), or another userfaultfd has it.
    [[nodiscard]] bool watch(MemoryRange pages) noexcept;
    // Ends that. What is no longer mapped is not watched either.
    void unwatch(MemoryRange pages) noexcept;

    // Calls see(MemoryRange) with what was unmapped since the last call, in order: all that was unmapped before the call began. false: there was more
    // than untold_max, or the program has closed the descriptor, and the rest, of whatever memory, is not told.
    template <typename See>
    [[nodiscard]] bool take(const See& see) noexcept {
        if (is_reading()) wait_for_reader();
        // acquire: partner is note(); what was unmapped is there
        const std::uint64_t noted = noted_.load(std::memory_order_acquire);
        if (noted == taken_.load(std::memory_order_relaxed) &&
            !is_overrun_.load(std::memory_order_acquire) &&
            !is_lost_.load(std::memory_order_acquire)) [[likely]]
            return true;
        for (std::uint64_t at = taken_.load(std::memory_order_relaxed); at != noted; ++at)
            see(ranges_[at % untold_max]);
        // release: partner is note(), which writes over what was taken
        taken_.store(noted, std::memory_order_release);
        const bool is_overrun = is_overrun_.exchange(false, std::memory_order_acq_rel);
        return !is_overrun && !is_lost_.load(std::memory_order_acquire);
    }

private:
    UnmapWatch(FileDescriptor descriptor, Event end) noexcept
        : descriptor_(std::move(descriptor)), end_(std::move(end)) {}

    // Whether the thread has taken events from the kernel, so that those who unmap may go on, and has not yet noted them all.
    [[nodiscard]] bool is_reading() const noexcept {
        // acquire: partner is run(), which counts before it asks the kernel for events. Who unmapped has that count when munmap returns.
        return (reads_.load(std::memory_order_acquire) & 1) != 0;
    }

    void wait_for_reader() const noexcept;
    void run() noexcept;
    void read_events() noexcept;
    void note(MemoryRange range) noexcept;

    FileDescriptor descriptor_;
    Event end_;
    std::atomic<bool> is_ending_{false};
    std::atomic<std::uint32_t> reads_{0};  // odd: see is_reading(); writer: the thread
    std::array<MemoryRange, untold_max> ranges_{};
    std::atomic<std::uint64_t> noted_{0};  // ranges so far; writer: the thread
    std::atomic<std::uint64_t> taken_{0};  // of them; writer: take()
    std::atomic<bool> is_overrun_{
        false};  // some were not noted; writers: the thread (true), take() (false)
    std::atomic<bool> is_lost_{false};  // nothing is told any more; writer: the thread
    Thread thread_;
};

}  // namespace acp::os
