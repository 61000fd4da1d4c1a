// SPDX-License-Identifier: BSD-3-Clause
// Flushes ranges of pages while the program computes: a thread of the library, made by the first
// range, that waits for the homes in place of the program's threads. It ends when it was idle for a
// while, so that it keeps no process alive whose other threads have ended. Ranges that follow each other at once
// are flushed together, with the pages between them that were written. Its failures are reported by the
// barrier, which repeats what did not arrive.
// Threads: begin() by any thread; finish() and the destructor by one, while no other calls begin().
// Tests: tests/unit/dsm/early_flusher_test.cpp, tests/conformance/dsm_fence_test.cpp.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "dsm/flusher.hpp"
#include "dsm/window.hpp"
#include "os/thread.hpp"

namespace acp::dsm {

class EarlyFlusher {
public:
    //   flusher  outlives this
    explicit EarlyFlusher(Flusher& flusher) noexcept : flusher_(flusher) {}

    // Ends the thread when it has flushed what was begun.
    ~EarlyFlusher();
    EarlyFlusher(const EarlyFlusher&) = delete;
    EarlyFlusher& operator=(const EarlyFlusher&) = delete;

    // Begins to flush the written pages of a range. If the system refuses the thread, the caller
    // flushes them.
    //   pages  one or more
    void begin(PageRange pages);

    // Returns when all that was begun is flushed.
    void finish() noexcept;

private:
    static constexpr std::chrono::milliseconds idle_max{1000};

    [[nodiscard]] bool has_thread();
    void run();

    Flusher& flusher_;
    std::mutex mutex_;  // guards the rest
    std::condition_variable has_changed_;
    PageRange pending_{};      // empty: no range
    bool is_running_ = false;  // the thread takes what is pending
    bool is_flushing_ = false;
    bool is_stopping_ = false;
    os::Thread thread_;
};

}  // namespace acp::dsm
