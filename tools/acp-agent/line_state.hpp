// SPDX-License-Identifier: BSD-3-Clause
// Whether the last byte that output threads wrote to a file was no newline, so that a message or
// another stream's line written there next would begin in the middle of a line. Threads: any. Threads that write to the file
// take turns, so that the state is that of the last write.
#pragma once

#include <atomic>
#include <mutex>
#include <string_view>

namespace acp::agent {

class LineState {
public:
    enum class Known { begins, was_written };

    // Call before a write, and keep the result until the second note(). Only threads that write to this
    // file wait for it, which a write of the other one would delay anyway.
    [[nodiscard]] std::unique_lock<std::mutex> begin_write() { return std::unique_lock(writing_); }

    // Call before and after a write. A line is open before its bytes can be read, and has ended
    // only after its newline was written. Returns whether is_open() has changed.
    bool note(std::string_view bytes, Known known) noexcept {
        if (bytes.empty()) return false;
        left_by_ = nullptr;
        const bool is_open = bytes.back() != '\n';
        // a message may have ended an open line between the two calls: it is not opened again
        if (is_open != (known == Known::begins)) return false;
        // relaxed: no other data depends on the flag
        return is_open_.exchange(is_open, std::memory_order_relaxed) != is_open;
    }

    // Call between the second note() and the end of the turn, when a stream will not finish its line
    // itself: its rank has ended, or may have.
    void leave(const void* stream) noexcept {
        if (is_open()) left_by_ = stream;
    }

    // The stream that has left the open line; nullptr: none. The caller has a turn.
    [[nodiscard]] const void* left_by() const noexcept { return is_open() ? left_by_ : nullptr; }

    // Call after another thread or process has written a newline there.
    void end_line() noexcept { is_open_.store(false, std::memory_order_relaxed); }

    // Whether the line that was written last lacks its newline.
    [[nodiscard]] bool is_open() const noexcept { return is_open_.load(std::memory_order_relaxed); }

private:
    std::mutex writing_;
    const void* left_by_ = nullptr;  // guarded by writing_
    std::atomic<bool> is_open_{false};
};

}  // namespace acp::agent
