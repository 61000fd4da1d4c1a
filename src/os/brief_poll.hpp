// SPDX-License-Identifier: BSD-3-Clause
// Polls for about as long as a sleep and its wake take, before a thread sleeps: the waiting thread
// loses at most as much again as it could have saved. Yields the CPU between polls, so that the
// thread that is awaited can run on the same one. For waits of processes that have no slot in a node
// segment (those of ranks: node/wait.hpp). Any thread.
// Tests: tests/unit/os/brief_poll_test.cpp.
#pragma once

#include <cstdint>

#include "os/clock.hpp"
#include "os/cpu.hpp"

namespace acp::os {

// A wake of a thread on another CPU takes 25-50 us on the machines that were measured.
inline constexpr std::uint64_t brief_poll_ns = 60'000;

// Returns whether ready() became true.
template <typename Ready>
[[nodiscard]] bool poll_briefly(const Ready& ready) {
    constexpr int polls_without_yield = 200;  // some us: answers of a thread that runs
    constexpr int polls_per_yield = 50;
    for (int i = 0; i < polls_without_yield; ++i) {
        if (ready()) return true;
        relax();
    }
    const std::uint64_t start = now_ns();
    do {
        for (int i = 0; i < polls_per_yield; ++i) {
            if (ready()) return true;
            relax();
        }
        yield_cpu();
    } while (now_ns() - start < brief_poll_ns);
    return ready();
}

}  // namespace acp::os
