// SPDX-License-Identifier: BSD-3-Clause
// Thousands of kills of ranks that work on containers: afterwards the heaps have as many blocks as
// before. A driver: each job of leak_victims kills all of its ranks but two. TEST_KILLS sets the
// number of kills, TEST_NODES the number of nodes; the seed is printed and taken from TEST_SEED.
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>

#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr int ranks = 34;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
    const char* given = std::getenv(variable);
    return given == nullptr ? otherwise : std::strtoull(given, nullptr, 0);
}

TEST(Leaks, what_killed_ranks_held_is_given_back) {
    adopt_orphans();
    const std::uint64_t first_seed = number_of("TEST_SEED", fresh_seed());
    const std::uint64_t wanted = number_of("TEST_KILLS", 200);
    std::uint64_t kills = 0;
    std::uint64_t left = 0;
    for (std::uint64_t job = 0; kills < wanted; ++job) {
        arm_watchdog(180, "a job whose ranks are killed one after the other");
        const std::uint64_t seed = first_seed + job * ranks;
        JobOptions options;
        options.ranks = ranks;
        options.launcher = {"--on-failure=continue", "--heap-size", "64M", "--nodes",
                            std::to_string(number_of("TEST_NODES", 1))};
        options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/leak_victims",
                           std::to_string(seed)};
        options.environment = {"ACP_ON_ERROR=return"};
        const JobResult result = run_job(options, 150 * second_ns);
        unsigned long long more_kills = 0;
        unsigned long long more_left = 0;
        const std::size_t at = result.output.find("kills=");
        ASSERT_NE(at, std::string::npos) << "TEST_SEED=" << seed << ":\n" << result.output;
        ASSERT_EQ(std::sscanf(result.output.c_str() + at, "kills=%llu left=%llu", &more_kills,
                              &more_left),
                  2)
            << result.output;
        kills += more_kills;
        left += more_left;
        EXPECT_EQ(more_left, 0U) << "TEST_SEED=" << seed << ": " << result.output.substr(at);
    }
    arm_watchdog(0, "");
    std::cout << left << " blocks were left after " << kills << " kills, TEST_SEED=" << first_seed
              << "\n";
}

}  // namespace
}  // namespace acp::test
