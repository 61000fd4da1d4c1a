// SPDX-License-Identifier: BSD-3-Clause
// Keeps track of the threads of a process that wait in the library. Such threads serve the other processes meanwhile, so those
// ring them instead of the service thread, which stays asleep. A thread that waits must prove that it works: it counts its
// looks. When work is left and no look was counted for a while (the thread is inside a signal handler, or stopped by a
// debugger), all waiting threads are doubted: the service thread is rung and works instead, until one of them looks again.
// doubt_idle() by the service thread, enter(), note_look() and leave() by threads that wait.
// Tests: tests/unit/gma/attendance_test.cpp, tests/progress/handler_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/control.hpp"

namespace acp::gma {

class Attendance {
public:
    explicit Attendance(node::Door& door) noexcept : door_(door) {}

    // seq_cst, both: whoever knocks publishes something, then looks whom to ring
    void enter() noexcept { door_.attendants.fetch_add(1, std::memory_order_seq_cst); }

    void leave() noexcept { door_.attendants.fetch_sub(1, std::memory_order_seq_cst); }

    // Whether knockers ring the threads that wait instead of the service thread.
    [[nodiscard]] bool is_attended() const noexcept { return door_.is_attended(); }

    // A thread that waits is about to look for work.
    void note_look() noexcept {
        // relaxed: of two threads that count at once one may be lost, but the number has changed
        looks_.store(looks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (is_doubted_.load(std::memory_order_relaxed)) [[unlikely]] {
            believe();
        }
    }

    // A while has passed since the last call. True when no look was counted meanwhile: from now on the service thread is
    // rung, and must look for what came before.
    //   is_work_left  else nobody had anything to look for
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
