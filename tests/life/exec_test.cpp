// SPDX-License-Identifier: BSD-3-Clause
// Ranks copy into a rank that runs another program: the new program receives at most the copies
// that were in progress at that moment, and none of those is reported as successful.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <sstream>

#include "life/driver.hpp"

namespace acp::test {
namespace {

using ExecTest = LifeTest;
using Numbers = std::set<std::uint64_t>;

struct Said {
    std::uint64_t words = 0;
    Numbers copies;
    bool was_said = false;
};

// The line "writer RANK WHAT WORDS words: COPY..."
Said said(const std::string& output, int rank, const std::string& what) {
    const std::string start = "writer " + std::to_string(rank) + " " + what + " ";
    const auto at = output.find(start);
    if (at == std::string::npos) return {};
    std::istringstream line(
        output.substr(at + start.size(), output.find('\n', at) - at - start.size()));
    Said result;
    std::string word;
    line >> result.words >> word;
    result.copies = Numbers(std::istream_iterator<std::uint64_t>(line), {});
    result.was_said = true;
    return result;
}

//   words_max  the most words that one system call copies for a writer
void expect_stranger_is_left_alone(const JobResult& result, std::uint64_t words_max) {
    EXPECT_EQ(result.output.find("wrong:"), std::string::npos) << result.output;
    for (const int writer : {0, 2, 3}) {
        const Said failed = said(result.output, writer, "failed");
        const Said left = said(result.output, writer, "left");
        ASSERT_TRUE(failed.was_said && left.was_said) << result.output;
        EXPECT_FALSE(failed.copies.empty()) << "writer " << writer;
        EXPECT_TRUE(std::includes(failed.copies.begin(), failed.copies.end(), left.copies.begin(),
                                  left.copies.end()))
            << "a copy of writer " << writer << " went to the new program and counts as good:\n"
            << result.output;
        EXPECT_LE(left.words, words_max) << "writer " << writer << ":\n" << result.output;
    }
}

JobResult run(const std::vector<std::string>& spread) {
    JobOptions options;
    options.ranks = 4;
    options.launcher = {"--on-failure=continue"};
    options.launcher.insert(options.launcher.end(), spread.begin(), spread.end());
    options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/life_exec_probe"};
    options.environment = {errors_are_returned};
    return run_job(options);
}

// Each trial hits another moment of the copies.
constexpr int trials = 5;

TEST_F(ExecTest, copies_into_a_rank_that_runs_another_program_are_not_made_in_that_one) {
    constexpr std::uint64_t words_of_a_piece = 256 * 1024 / 8;  // JobRunner::attached_piece_bytes
    for (int trial = 0; trial < trials; ++trial) {
        const JobResult result = run({});
        if (result.output.find("path attach") == std::string::npos) {
            GTEST_SKIP() << "the kernel lets no rank attach to another: " << result.output;
        }
        expect_stranger_is_left_alone(result, words_of_a_piece);
    }
}

TEST_F(ExecTest, copies_of_other_nodes_are_not_made_there_either) {
    constexpr std::uint64_t words_of_a_batch = 16 * 16 * 1024 / 8;  // AttachBatch's staging
    for (int trial = 0; trial < trials; ++trial) {
        expect_stranger_is_left_alone(run({"--nodes=2"}), words_of_a_batch);
    }
}

}  // namespace
}  // namespace acp::test
