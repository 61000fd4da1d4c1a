// SPDX-License-Identifier: BSD-3-Clause
// The message of a refusal of shared pages for which the heaps have no room names the need, the size of
// the heaps, and the setting or limit that decided this size.
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>

#include "support/job.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

void limit_files() {
    const rlimit limit{3'174'400, 3'174'400};
    setrlimit(RLIMIT_FSIZE, &limit);
}

std::string refusal(const char* bytes,
                    const std::vector<std::string>& launcher,
                    void (*before_exec)() = nullptr) {
    arm_watchdog(60, "a job whose heaps are too small");
    JobOptions options;
    options.ranks = 2;
    options.launcher = launcher;
    options.program = {ACP_TEST_PROGRAM_DIR "/dsm_heap_probe", bytes};
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
    expect_words(refusal("8796093022208", {"--nodes", "2", "--heap-size", "32M"}),
                 {"8796093022208 bytes of shared pages take ", "on node 0 (rank 0 and others)",
                  "a heap has 33554432 bytes", "no heap may have more than 1099511627776 bytes"});
}

TEST(DsmHeaps, more_pages_than_a_configured_heap_has_are_refused_with_the_remedy) {
    expect_words(
        refusal("67108864", {"--heap-size", "32M"}),
        {"67108864 bytes of shared pages take 68157440 bytes of one heap of each node",
         "a heap has 33554432 bytes", "enlarge the heaps by --heap-size or ACP_HEAP_SIZE"});
}

TEST(DsmHeaps, a_job_without_heaps_names_the_limit_that_left_it_none) {
    expect_words(refusal("4096", {}, limit_files),
                 {"this job has no heaps", "RLIMIT_FSIZE, ulimit -f"});
    expect_words(refusal("4096", {"--heap-size", "0"}),
                 {"this job has no heaps", "ACP_HEAP_SIZE or acprun --heap-size has set"});
}

}  // namespace
}  // namespace acp::test
