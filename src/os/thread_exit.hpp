// SPDX-License-Identifier: BSD-3-Clause
// Is told when a thread ends: a value per thread, and a function that is called with it while the thread ends. It is
// called after the destructors of the thread's C++ thread_local objects, among those of other pthread keys, in no
// order that anybody may rely on; not when the process ends by exit(), and not for the main thread unless that calls
// pthread_exit. Knows nothing of what the values are. Any thread. Tests: tests/unit/os/thread_exit_test.cpp.
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
    // From here on nobody is told any more. No thread that holds a value may end meanwhile.
    ~ThreadExit();

    [[nodiscard]] bool is_open() const noexcept { return is_open_; }

    // Stores the calling thread's value; nullptr: it is not told. false when memory is short; nothing is stored then.
    [[nodiscard]] bool set(void* value) const noexcept;

    // The calling thread's value; nullptr when it stored none, and from the moment it is told of its end.
    [[nodiscard]] void* get() const noexcept;

private:
    bool is_open_ = false;
    unsigned key_ = 0;  // a pthread_key_t
};

}  // namespace acp::os
