// SPDX-License-Identifier: BSD-3-Clause
// A process that is killed or stopped before one of its accesses to a ring's memory.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "message/mapped_path.hpp"

#include "support/effort.hpp"
#include "support/stepped_atomic.hpp"

namespace acp::message {

// Before which accesses the victim is struck: each, or an odd number apart.
inline constexpr std::uint64_t stride = test::effort(std::uint64_t{1}, std::uint64_t{29});

// Word by word, with a step before each.
inline void copy_in_steps(char* target, const void* source, std::uint64_t bytes) {
    const char* const from = static_cast<const char*>(source);
    for (std::uint64_t i = 0; i < bytes; i += 8) {
        test::step();
        std::memcpy(target + i, from + i, std::min<std::uint64_t>(8, bytes - i));
    }
}

// A path that copies word by word, and can be struck before each.
struct SteppedPath : MappedPath<test::SteppedAtomic> {
    using MappedPath<test::SteppedAtomic>::MappedPath;

    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) const noexcept {
        if (source != room(offset)) copy_in_steps(room(offset), source, bytes);
    }
};

// Runs `what` in a child that gets the signal before its access number `at`. False: it ended before.
inline bool child_hit(std::uint64_t at,
                      int signal,
                      pid_t& child,
                      const std::function<void()>& what) {
    child = fork();
    if (child == 0) {
        test::signal_at_step = signal;
        test::steps_left = at;
        what();
        _exit(testing::Test::HasFailure() ? 3 : 0);
    }
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    if (!WIFEXITED(status)) return true;
    EXPECT_EQ(WEXITSTATUS(status), 0) << "access " << at;
    return false;
}

// Lets a stopped child go on until it ends by itself.
inline void let_go_on(pid_t child, const std::string& when) {
    kill(child, SIGCONT);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << when;
}

}  // namespace acp::message
