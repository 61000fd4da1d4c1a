// SPDX-License-Identifier: BSD-3-Clause
// The thread that ends calls of devices, and begins what was ordered after them, while the program
// computes. A thread of the program that waits does the same, and is faster: so this thread sleeps
// without being woken (it naps) as long as threads of the program poll between one nap and the next.
// Else it announces that it sleeps, and the process of a device wakes it with its next answer.
// It uses no CPU time while no call ends.
// Tests: tests/unit/offload/call_thread_test.cpp, tests/offload/commands_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/status.hpp"
#include "os/thread.hpp"
#include "sync/bell.hpp"

namespace acp::offload {

class CallThread {
public:
    // What the thread calls.
    struct Steps {
        std::function<bool()> poll;             // ends and begins calls; true: it did something
        std::function<void()> announce;         // the thread sleeps next on its bell
        std::function<std::uint64_t()> visits;  // how often threads have polled, this one included
    };

    //   bell  in memory that device processes have mapped; outlives this
    CallThread(sync::Bell<>& bell, Steps steps) : bell_(bell), steps_(std::move(steps)) {}

    ~CallThread() { stop(); }

    CallThread(const CallThread&) = delete;
    CallThread& operator=(const CallThread&) = delete;

    // Starts the thread. Errors: limit, memory, system.
    base::Status start();

    // Ends the thread, if there is one.
    void stop() noexcept;

    // Wakes the thread if it sleeps on its bell.
    void wake() noexcept;

private:
    static constexpr std::int64_t nap_first_ns = 250'000;
    static constexpr std::int64_t nap_last_ns = 8'000'000;

    void run();
    bool poll();
    void nap();
    void sleep_until_rung();

    [[nodiscard]] std::uint64_t visits_of_others() const { return steps_.visits() - own_visits_; }

    [[nodiscard]] bool is_stopping() const noexcept {
        return stopping_.load(std::memory_order_seq_cst) != 0;
    }

    sync::Bell<>& bell_;
    Steps steps_;
    std::atomic<std::uint32_t> stopping_{0};  // futex of naps
    std::uint64_t own_visits_ = 0;            // the thread's own
    os::Thread thread_;
};

}  // namespace acp::offload
