// SPDX-License-Identifier: BSD-3-Clause
// Keeps track of the threads of a process that wait in the library. Such threads serve the other
// processes while they wait, so those ring them instead of the service thread, which stays asleep.
// A waiting thread must prove that it makes progress: it counts its polls. When work is left and no
// poll was counted for a while (the thread is inside a signal handler, or stopped by a debugger),
// all waiting threads are doubted: the service thread is rung and works instead, until one of them
// polls again. The service thread calls doubt_idle(); waiting threads call enter(), note_look() and
// leave().
// Tests: tests/unit/gma/attendance_test.cpp, tests/progress/handler_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/control.hpp"

namespace acp::gma {

class Attendance {
public:
    explicit Attendance(node::Door& door) noexcept : door_(door) {}

    // seq_cst, both: a knocking process publishes its message, then loads the word to choose the
    // bell
    void enter() noexcept { door_.attendants.fetch_add(1, std::memory_order_seq_cst); }

    void leave() noexcept { door_.attendants.fetch_sub(1, std::memory_order_seq_cst); }

    // Whether knockers ring the threads that wait instead of the service thread.
    [[nodiscard]] bool is_attended() const noexcept { return door_.is_attended(); }

    // A waiting thread is about to poll for work.
    void note_look() noexcept {
        // relaxed: of two threads that count at once one may be lost, but the number has changed
        looks_.store(looks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (is_doubted_.load(std::memory_order_relaxed)) [[unlikely]] {
            believe();
        }
    }

    // Called at intervals. True when no poll was counted since the last call: from now on the
    // service thread is rung, and must poll for what arrived before.
    //   is_work_left  false: there was nothing to poll for
    bool doubt_idle(bool is_work_left) noexcept {
        const std::uint32_t looks = looks_.load(std::memory_order_relaxed);
        const bool is_idle = looks == looks_seen_ && is_work_left;
        looks_seen_ = looks;
        if (!is_idle || is_doubted_.exchange(true, std::memory_order_seq_cst)) return false;
        door_.attendants.fetch_sub(node::doubt, std::memory_order_seq_cst);
        return true;
    }

private:
    void believe() noexcept {
        if (is_doubted_.exchange(false, std::memory_order_seq_cst)) {
            door_.attendants.fetch_add(node::doubt, std::memory_order_seq_cst);
        }
    }

    node::Door& door_;
    std::atomic<std::uint32_t> looks_{0};
    std::atomic<bool> is_doubted_{false};
    std::uint32_t looks_seen_ = 0;  // the service thread's own
};

}  // namespace acp::gma
