// SPDX-License-Identifier: BSD-3-Clause
// A heap whose tables are used by a process that is killed or stopped before a given access to one of their words, and by a survivor.
#pragma once

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "support/stepped_atomic.hpp"
#include "table_memory.hpp"

namespace acp::table {

using test::SteppedAtomic;
using Stepped = User<SteppedAtomic>;

// The participants of a scene; the victim is a process of its own.
inline constexpr std::uint32_t victim = 0;
inline constexpr std::uint32_t survivor = 1;
inline constexpr std::uint32_t helper = 2;

[[nodiscard]] inline std::string key_number(std::uint32_t number) {
    return "key " + std::to_string(number);
}

struct KillScene {
    explicit KillScene(std::uint32_t batch_of_all)
        : batch(batch_of_all), own(shared, participants.data(), survivor, batch) {}

    // Finishes what a dead user did, in the heap and in the tables.
    void recover(Stepped& by, std::uint32_t dead, bool must_end = true) {
        const auto is_dead = [](std::uint32_t number) { return number != survivor; };
        const Participants<SteppedAtomic> all{participants.data(), participants_max};
        const auto is_stored = [&](heap::Offset block) {
            return all[dead].has_made(number_of(block));
        };
        if (!shared.heap.recover(by.blocks.cache(), {dead, 1}, is_dead, is_stored) ||
            (!by.table.recover(dead, is_dead) && must_end)) {
            _exit(4);
        }
    }

    SharedHeap shared;
    SharedPages participants{Participants<SteppedAtomic>::bytes(participants_max)};
    SharedPages progress{sizeof(std::uint64_t)};
    std::atomic<std::uint64_t>* done =
        reinterpret_cast<std::atomic<std::uint64_t>*>(progress.data());
    std::uint32_t batch;
    Stepped own;
};

// Runs `what` in a child that gets the signal before its access number `at`. False: it ended before.
template <typename What>
[[nodiscard]] bool child_hit(std::uint64_t at, int signal, pid_t& child, const What& what) {
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

}  // namespace acp::table
