// SPDX-License-Identifier: BSD-3-Clause
// The library's own threads: named, with small stacks, and with all signals blocked, because
// signals belong to the user's threads. A Thread object belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.hpp"

namespace acp::os {

using base::Result;

inline constexpr std::uint64_t thread_stack_bytes_default = std::uint64_t{256} * 1024;

class Thread {
public:
    Thread() noexcept = default;

    // Starts a thread that runs body with all signals blocked.
    //   name         shown by ps and debuggers, cut to 15 characters
    //   body         must not throw
    //   stack_bytes  for the body alone, at least the system's minimum; the program's thread-local
    //                data, which lies in the same stack, is added
    // Errors: memory, limit (the system refuses another thread; the message names RLIMIT_NPROC),
    // system.
    static Result<Thread> start(const char* name,
                                std::function<void()> body,
                                std::uint64_t stack_bytes = thread_stack_bytes_default);

    Thread(Thread&& other) noexcept;
    Thread& operator=(Thread&& other) noexcept;
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    // Joins: the caller must have signalled the thread's body to return.
    ~Thread();

    // Waits for the thread's end; returns at once when there is no thread. Blocks.
    void join() noexcept;

    // Drops the thread without joining it. For a forked child, where the thread does not exist.
    void forget() noexcept;

    [[nodiscard]] bool is_joinable() const noexcept { return state_ != nullptr; }

private:
    struct State;

    explicit Thread(State* state) noexcept : state_(state) {}

    State* state_ = nullptr;
};

// Whether a thread of this process, given by the kernel's number, runs the body of a Thread. If
// more than 64 do so at a time, false for some of them.
[[nodiscard]] bool is_own_thread(int thread) noexcept;

// A number that no other thread of the process has or had; never 0.
[[nodiscard]] std::uint64_t own_thread() noexcept;

// Blocks every signal for the calling thread; the destructor restores its mask.
class SignalBlock {
public:
    SignalBlock() noexcept;
    ~SignalBlock();
    SignalBlock(const SignalBlock&) = delete;
    SignalBlock& operator=(const SignalBlock&) = delete;

private:
    alignas(8) unsigned char old_mask_[128] = {};  // a sigset_t
};

}  // namespace acp::os
