// SPDX-License-Identifier: BSD-3-Clause
// A rank dies or stops while it holds locks with bytes of shared pages, or its node is lost. The other ranks
// get the locks; one of them is notified of the death. They find bytes that travel as of the last release,
// and all ranks find the same bytes of a long range. A driver of dsm_lock_probe.
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "support/job.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

class DsmLockTest : public ::testing::Test {
protected:
    static std::string output_of(const std::string& mode, const std::string& argument = "1") {
        arm_watchdog(240, "a job whose holder of a lock fails");
        JobOptions options;
        options.launcher = {"--on-failure=continue", "--nodes", "2", "--heap-size", "32M"};
        options.program = {ACP_TEST_PROGRAM_DIR "/dsm_lock_probe", mode, argument};
        options.environment = {"ACP_ON_ERROR=return", "ACP_PEER_TIMEOUT=1"};
        const JobResult result = run_job(options);
        arm_watchdog(0, "");
        return result.output;
    }

    static void expect(const std::string& output, const std::string& words) {
        EXPECT_NE(output.find(words), std::string::npos) << words << "\n" << output;
    }

    static void expect_no(const std::string& output) {
        EXPECT_EQ(output.find(": no\n"), std::string::npos) << output;
    }

    // What follows `words` in each line that has them, up to a part's end.
    static std::multiset<std::string> parts_behind(const std::string& output,
                                                   const std::string& words,
                                                   char end) {
        std::multiset<std::string> parts;
        for (std::size_t at = output.find(words); at != std::string::npos;
             at = output.find(words, at + 1)) {
            const std::size_t first = at + words.size();
            parts.insert(output.substr(first, output.find(end, first) - first));
        }
        return parts;
    }
};

TEST_F(DsmLockTest, one_rank_is_notified_of_a_dead_holder_and_all_find_the_same_bytes) {
    const std::string output = output_of("held");
    for (const std::string name : {"travelling", "staying"}) {
        const std::string words = "takes the lock of " + name + " bytes: ";
        EXPECT_EQ(parts_behind(output, words, ','), (std::multiset<std::string>{"0", "0", "1"}))
            << output;
        for (const std::string taken : {"0", "1"}) {
            const auto bytes = parts_behind(output, words + taken + ", bytes ", '\n');
            EXPECT_FALSE(bytes.empty());
            for (const auto other : {"0", "1"})
                for (const std::string& seen :
                     parts_behind(output, words + other + ", bytes ", '\n'))
                    EXPECT_EQ(bytes.count(seen), bytes.size()) << output;
        }
    }
    for (const std::string rank : {"rank 0: ", "rank 1: ", "rank 2: "})
        expect(output, rank + "works on: yes");
    expect_no(output);
}

TEST_F(DsmLockTest, ranks_wait_for_a_stopped_holder_and_find_what_it_wrote) {
    const std::string output = output_of("stopped");
    for (const std::string rank : {"rank 0: ", "rank 1: ", "rank 2: "}) {
        expect(output, rank + "tries in vain: yes");
        expect(output, rank + "waits in vain: yes");
    }
    for (const std::string rank : {"rank 0: ", "rank 1: ", "rank 2: ", "rank 3: "})
        expect(output, rank + "works on: yes");
    expect_no(output);
}

TEST_F(DsmLockTest, a_holder_that_dies_at_any_moment_leaves_bytes_of_two_sections) {
    const std::uint64_t trials = number_of("TEST_TRIALS", 8);
    const std::uint64_t first = number_of("TEST_SEED", 1);
    for (std::uint64_t seed = first; seed < first + trials && !HasFailure(); ++seed) {
        SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
        const std::string output = output_of("random", std::to_string(seed));
        for (const std::string rank : {"rank 0: ", "rank 1: ", "rank 2: "})
            expect(output, rank + "works on: yes");
    }
}

TEST_F(DsmLockTest, ranks_that_stop_at_any_moment_and_continue_lose_no_section) {
    const std::uint64_t trials = number_of("TEST_TRIALS", 8);
    const std::uint64_t first = number_of("TEST_SEED", 1);
    for (std::uint64_t seed = first; seed < first + trials && !HasFailure(); ++seed) {
        SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
        const std::string output = output_of("stops", std::to_string(seed));
        for (const std::string rank : {"rank 0: ", "rank 1: ", "rank 2: ", "rank 3: "}) {
            expect(output, rank + "has each section once: yes");
            expect(output, rank + "works on: yes");
        }
        expect_no(output);
    }
}

TEST_F(DsmLockTest, a_lost_node_takes_its_pages_away_and_passes_its_locks_on) {
    const std::string output = output_of("agent");
    for (const std::string rank : {"rank 0: ", "rank 1: "}) {
        expect(output, rank + "bytes of the last release: yes");
        expect(output, rank + "releases: yes");
        expect(output, rank + "is refused the long range: yes");
    }
    expect(output, "node 1");
    expect_no(output);
}

}  // namespace
}  // namespace acp::test
