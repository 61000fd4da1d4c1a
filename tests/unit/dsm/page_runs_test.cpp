// SPDX-License-Identifier: BSD-3-Clause
// The runs of pages that a tracker gives to a system call: none is left out, and a join leaves no
// page in that may not join.
#include "dsm/page_runs.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace acp::dsm {
namespace {

using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Pages written as letters: w, p(rotected), u(ntracked), or absent.
MappedPages<> pages_of(const std::string& letters) {
    MappedPages<> mapped(letters.size());
    for (std::uint64_t i = 0; i < letters.size(); ++i) {
        if (letters[i] == 'w') mapped.set(i, MappedState::written);
        if (letters[i] == 'p') mapped.set(i, MappedState::is_protected);
        if (letters[i] == 'u') mapped.set(i, MappedState::untracked);
    }
    return mapped;
}

Runs written_runs(const std::string& letters, std::uint64_t gap_max) {
    const MappedPages<> mapped = pages_of(letters);
    Runs runs;
    for_each_run(
        mapped, {1, letters.size() - 1},
        [](MappedState state) { return state == MappedState::written; },
        [](MappedState state) { return state != MappedState::untracked; }, gap_max,
        [&](PageRange run) {
            runs.emplace_back(run.first, run.count);
            return true;
        });
    return runs;
}

TEST(PageRuns, are_joined_across_gaps_up_to_the_limit) {
    EXPECT_EQ(written_runs("wwwp.w.", 0), (Runs{{1, 2}, {5, 1}}));
    EXPECT_EQ(written_runs("wwwp.w.", 1), (Runs{{1, 2}, {5, 1}}));
    EXPECT_EQ(written_runs("wwwp.w.", 2), (Runs{{1, 5}}));
    EXPECT_EQ(written_runs("wwwpuw.w", 9), (Runs{{1, 2}, {5, 3}}));
    EXPECT_EQ(written_runs("w......", 9), Runs{});
    EXPECT_EQ(written_runs(".w", 9), (Runs{{1, 1}}));
}

TEST(PageRuns, are_the_same_beside_groups_that_were_never_mapped) {
    std::string letters(400, '.');
    for (const std::size_t written : {63U, 64U, 127U, 320U, 399U}) letters[written] = 'w';
    EXPECT_EQ(written_runs(letters, 0), (Runs{{63, 2}, {127, 1}, {320, 1}, {399, 1}}));
    EXPECT_EQ(written_runs(letters, 191), (Runs{{63, 65}, {320, 80}}));
    EXPECT_EQ(written_runs(letters, 192), (Runs{{63, 337}}));
}

TEST(PageRuns, end_when_the_visitor_says_so) {
    const MappedPages<> mapped = pages_of("w.w");
    int visits = 0;
    for_each_run(
        mapped, {0, 3}, [](MappedState state) { return state == MappedState::written; },
        [&](PageRange) { return ++visits > 1; });
    EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace acp::dsm
