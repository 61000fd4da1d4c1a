// SPDX-License-Identifier: BSD-3-Clause
// A function with a stack of its own, which can stop in the middle and be resumed there later, by whatever thread. So code that waits can
// be left and come back to without being written as a machine of states. Switching takes two system calls, for the signal mask is part
// of what is switched. One thread at a time uses a fiber. A function must not stop while it handles an exception, and must not keep the
// address of anything that is the thread's own, such as errno, over a stop.
// Tests: tests/unit/os/fiber_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.hpp"

namespace acp::os {

// Of a stack, of which memory is taken as it is used. What lies below it may not be touched, so that a stack that is too small ends the process,
// also where a function has more than a page of variables.
inline constexpr std::uint64_t fiber_stack_bytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t fiber_guard_bytes = std::uint64_t{64} * 1024;

class Fiber {
public:
    // Errors: memory, system.
    static base::Result<std::unique_ptr<Fiber>> make();

    // No function may be under way: its frames would never be left.
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Starts a function, which must not throw; returns when it has ended or stopped. None is under way.
    void start(std::function<void()> function);

    // Goes on with the function that has stopped; returns when it has ended or stopped again.
    void resume();

    // Stops: the call of start() or resume() returns. Called in the function.
    void stop();

    // Whether a function has stopped and not ended.
    [[nodiscard]] bool is_under_way() const noexcept;

private:
    struct State;

    explicit Fiber(std::unique_ptr<State> state) noexcept;

    std::unique_ptr<State> state_;
};

}  // namespace acp::os
