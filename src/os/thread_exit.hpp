// SPDX-License-Identifier: BSD-3-Clause
// Detects the exit of a thread: a value per thread, and a function that is called with the value
// while the thread exits. The call comes after the destructors of the thread's C++ thread_local
// objects and in no defined order with the destructors of other pthread keys. There is no call when
// the process ends by exit(), and none for the main thread unless it calls pthread_exit. Knows
// nothing of what the values mean. Any thread.
// Tests: tests/unit/os/thread_exit_test.cpp.
#pragma once

#include "base/status.hpp"

namespace acp::os {

class ThreadExit {
public:
    //   at_exit  called with the value that set() stored last in the ending thread; must not throw
    // Errors: limit (the process has used up its thread-specific keys).
    static base::Result<ThreadExit> create(void (*at_exit)(void*));

    ThreadExit() noexcept = default;
    ThreadExit(ThreadExit&& other) noexcept;
    ThreadExit& operator=(ThreadExit&& other) noexcept;
    ThreadExit(const ThreadExit&) = delete;
    ThreadExit& operator=(const ThreadExit&) = delete;
    // After this call at_exit is not called again. No thread that holds a value may end while the
    // destructor runs.
    ~ThreadExit();

    [[nodiscard]] bool is_open() const noexcept { return is_open_; }

    // Stores the calling thread's value; nullptr: at_exit is not called for it. false when memory
    // allocation fails; nothing is stored then.
    [[nodiscard]] bool set(void* value) const noexcept;

    // The calling thread's value; nullptr when it stored none, and from the call of at_exit on.
    [[nodiscard]] void* get() const noexcept;

private:
    bool is_open_ = false;
    unsigned key_ = 0;  // a pthread_key_t
};

}  // namespace acp::os
