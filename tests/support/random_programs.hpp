// SPDX-License-Identifier: BSD-3-Clause
// The driver of tests that run random programs on shared pages: one program for each seed, in epochs
// that two threads of each rank go through together. TEST_SEEDS sets how many programs run;
// TEST_SEED alone repeats one. Collective; main thread only.
#pragma once

#include <barrier>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {

class RandomProgramTest : public RankedTest {
protected:
    static std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
        const char* const text = std::getenv(name);
        return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
    }

    // The threads of all ranks that access the pages.
    [[nodiscard]] std::uint32_t actors() const noexcept {
        return static_cast<std::uint32_t>(procs_) * threads;
    }

    // Calls run(seed) for each seed while shared pages are open; skips the test where they are not
    // available. Ends after the first program that fails.
    //   count         programs, unless TEST_SEEDS is set
    //   window_bytes  of acp_init_dsm
    template <typename Run>
    void run_programs(std::uint64_t count, std::uint64_t window_bytes, const Run& run) {
        count = from_environment("TEST_SEEDS", count);
        const std::uint64_t first = from_environment("TEST_SEED", 1);
        const std::uint64_t end = std::getenv("TEST_SEED") == nullptr ? first + count : first + 1;
        allow_seconds(static_cast<unsigned>(60 + count));
        const bool is_open = acp_init_dsm(window_bytes) == 0;
        if (!is_open && acp_errno() == ACP_ERR_UNSUPPORTED) GTEST_SKIP() << acp_error_message();
        ASSERT_TRUE(is_open) << acp_error_message();
        for (std::uint64_t seed = first; seed < end; ++seed) {
            SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
            ASSERT_NO_FATAL_FAILURE(run(seed));
            ASSERT_FALSE(HasFailure());
        }
        acp_stats_dsm_t stats;
        EXPECT_EQ(acp_query_stats_dsm(&stats, sizeof stats), 0) << acp_error_message();
        EXPECT_EQ(stats.races, 0U) << "with ACP_DSM_CHECK";
        EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
    }

    // Calls begin(epoch) in one thread of each rank, then act(epoch, actor) in both, for epochs 0 to
    // count - 1. act() may return early once the test has failed.
    template <typename Begin, typename Act>
    void run_epochs(std::uint64_t count, const Begin& begin, const Act& act) {
        std::barrier meeting(threads);
        const auto run = [&](std::uint32_t thread) {
            const std::uint32_t actor = static_cast<std::uint32_t>(rank_) * threads + thread;
            for (std::uint64_t epoch = 0; epoch < count; ++epoch) {
                if (thread == 0) begin(epoch);
                meeting.arrive_and_wait();
                act(epoch, actor);
                meeting.arrive_and_wait();
            }
        };
        std::thread other(run, 1);
        run(0);
        other.join();
    }

private:
    static constexpr std::uint32_t threads = 2;
};

}  // namespace acp::test
