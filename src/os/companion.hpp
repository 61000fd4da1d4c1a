// SPDX-License-Identifier: BSD-3-Clause
// A companion: a process with memory of its own that shares the descriptors, the current folder, the
// root and the umask with the process that makes it, its maker. It works for the maker in code of
// the library. Knows nothing of that work.
// Tests: tests/unit/os/companion_test.cpp.
//
// NOT SEEN by the program: it is a child without an end signal, so that the maker gets no SIGCHLD,
// and its waits do not return it (but with __WALL or __WCLONE).
//
// ENDS. A thread of this object makes the companion and waits for its end. The kernel kills a
// companion when the thread that has made it ends: when the maker ends in any way, and also when
// the maker runs another program. Without that the companion would keep the maker's descriptors
// open. A companion whose maker was killed is an orphan, which the process that adopts it reaps.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "base/status.hpp"
#include "os/thread.hpp"

namespace acp::os {

using base::Status;

class Companion {
public:
    // Makes a companion. The memory of the maker is copied at that time, and shared mappings are
    // shared, so no other thread may hold a lock that `body` needs, such as that of malloc.
    //   name    of the process, cut to 15 characters
    //   body    runs in the companion, with all signals blocked; must not throw. The process ends
    //           when it returns. Descriptors that it opens are the maker's too.
    //   on_end  called once in the maker, by a thread of this object, when the companion has ended
    // Errors: limit, memory, system.
    static Result<std::unique_ptr<Companion>> start(const char* name,
                                                    std::function<void()> body,
                                                    std::function<void()> on_end);

    // Kills the companion and waits for its end.
    ~Companion();
    Companion(const Companion&) = delete;
    Companion& operator=(const Companion&) = delete;

    // The process id; once the companion has ended, another process may have it.
    [[nodiscard]] int process() const noexcept {
        // relaxed: it is set before start() returns
        return process_.load(std::memory_order_relaxed);
    }

private:
    Companion() noexcept = default;

    void await_end() noexcept;

    std::atomic<int> process_{0};  // a negative errno: it was not made
    std::mutex mutex_;             // guards is_reaped_
    bool is_reaped_ = false;       // process_ is no longer the companion
    Thread thread_;
};

}  // namespace acp::os
