// SPDX-License-Identifier: BSD-3-Clause
// A fiber: a function with its own stack, which can stop in the middle and be resumed there later,
// by any thread. So code that waits can be suspended without being written as a state machine. A
// switch takes two system calls, because it also switches the signal mask. One thread at a time
// uses a fiber. A function must not stop while it handles an exception, and must not keep addresses
// of thread-local data, such as errno, over a stop.
// Tests: tests/unit/os/fiber_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.hpp"

namespace acp::os {

// The size of a stack, whose pages become resident as they are used. The guard area below it allows
// no access, so that an overflow of the stack kills the process, even in a function with more than
// a page of variables.
inline constexpr std::uint64_t fiber_stack_bytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t fiber_guard_bytes = std::uint64_t{64} * 1024;

class Fiber {
public:
    // Errors: memory, system.
    static base::Result<std::unique_ptr<Fiber>> make();

    // Requires !is_under_way(), because the destructors in the function's frames would not run.
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Starts a function, which must not throw; returns when it has ended or stopped. Requires
    // !is_under_way().
    void start(std::function<void()> function);

    // Resumes the function that has stopped; returns when it has ended or stopped again.
    void resume();

    // Called in the function: suspends it, so that the call of start() or resume() returns.
    void stop();

    // Whether a function has stopped and not ended.
    [[nodiscard]] bool is_under_way() const noexcept;

private:
    struct State;

    explicit Fiber(std::unique_ptr<State> state) noexcept;

    std::unique_ptr<State> state_;
};

}  // namespace acp::os
