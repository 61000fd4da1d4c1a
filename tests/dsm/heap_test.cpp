// SPDX-License-Identifier: BSD-3-Clause
// The message of a refusal of shared pages for which the heaps have no room names the need, the size of
// the heaps, and the setting or limit that decided this size.
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <acp.h>

#include "support/job.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

void limit_files() {
    const rlimit limit{3'276'800, 3'276'800};
    setrlimit(RLIMIT_FSIZE, &limit);
}

std::string refusal(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& launcher,
                    void (*before_exec)() = nullptr,
                    int ranks = 2) {
    arm_watchdog(60, "a job whose heaps are too small");
    JobOptions options;
    options.ranks = ranks;
    options.launcher = launcher;
    options.program = {ACP_TEST_PROGRAM_DIR "/dsm_heap_probe"};
    options.program.insert(options.program.end(), arguments.begin(), arguments.end());
    options.environment = {"ACP_ON_ERROR=return"};
    options.before_exec = before_exec;
    const JobResult result = run_job(options);
    arm_watchdog(0, "");
    return result.output;
}

void expect_words(const std::string& output, const std::vector<std::string>& all) {
    for (const std::string& words : all)
        EXPECT_NE(output.find(words), std::string::npos) << words << "\n" << output;
}

TEST(DsmHeaps, more_pages_than_any_heap_has_are_refused_with_node_need_and_the_most) {
    expect_words(refusal({"8796093022208"}, {"--nodes", "2", "--heap-size", "32M"}),
                 {"8796093022208 bytes of shared pages take ", "on node 0 (rank 0 and others)",
                  "a heap has 33554432 bytes", "no heap may have more than 1099511627776 bytes"});
}

TEST(DsmHeaps, more_pages_than_a_configured_heap_has_are_refused_with_the_remedy) {
    expect_words(
        refusal({"67108864"}, {"--heap-size", "32M"}),
        {"67108864 bytes of shared pages take 68157440 bytes of one heap of each node",
         "a heap has 33554432 bytes", "enlarge the heaps by --heap-size or ACP_HEAP_SIZE"});
}

TEST(DsmHeaps, a_job_without_heaps_names_the_limit_that_left_it_none) {
    expect_words(refusal({"4096"}, {}, limit_files),
                 {"this job has no heaps", "RLIMIT_FSIZE, ulimit -f"});
    expect_words(refusal({"4096"}, {"--heap-size", "0"}),
                 {"this job has no heaps", "ACP_HEAP_SIZE or acprun --heap-size has set"});
}

// A rank with another value needs another amount of memory behind the pages.
TEST(DsmChecks, ranks_with_different_values_of_the_check_are_refused_on_all_ranks) {
    for (const std::string nodes : {"1", "2"}) {
        for (const auto& values :
             std::vector<std::vector<std::string>>{{"off", "count", "off", "off"},
                                                   {"off", "off", "off", "reads"},
                                                   {"reads", "reads", "stop", "reads"},
                                                   {"stop", "stop", "count", "count"}}) {
            std::vector<std::string> arguments{"65536"};
            arguments.insert(arguments.end(), values.begin(), values.end());
            const std::string output =
                refusal(arguments, {"--nodes", nodes, "--heap-size", "32M"}, nullptr, 4);
            std::size_t other = 1;
            while (values[other] == values[0]) ++other;
            for (int rank = 0; rank < 4; ++rank) {
                expect_words(output, {"rank " + std::to_string(rank) + ": error " +
                                      std::to_string(ACP_ERR_CONFIG) + ": "});
            }
            expect_words(output, {"rank 0 has another value of ACP_DSM_CHECK than rank " +
                                  std::to_string(other) + ": give it to all ranks alike"});
        }
    }
}

}  // namespace
}  // namespace acp::test
