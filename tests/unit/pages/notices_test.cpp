// SPDX-License-Identifier: BSD-3-Clause
// Notices have one form, in which they arrive as their node added them; the parser refuses all else;
// and merged notices name for each page its only writer. One thread.
#include "pages/notices.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "base/random.hpp"

#include "support/random.hpp"

namespace acp::pages {
namespace {

using Bytes = std::vector<std::byte>;
using Runs = std::vector<NoticeRun>;

constexpr std::uint64_t window = 1000;

Runs runs_of(Notices notices) {
    Runs runs;
    for (std::size_t i = 0; i < notices.count(); ++i) runs.push_back(notices[i]);
    return runs;
}

// The runs of one node, encoded and parsed.
Runs encoded_and_parsed(const Runs& runs, std::uint64_t pages = window) {
    NoticeMerger merger;
    for (const NoticeRun& run : runs) merger.add(run, 3);
    const auto notices = Notices::parse(merger.encode(), pages);
    EXPECT_TRUE(notices.has_value());
    return notices ? runs_of(*notices) : Runs{};
}

TEST(Notices, of_neighbouring_pages_are_one_run) {
    EXPECT_EQ(encoded_and_parsed({{5, 1, notice_written},
                                  {3, 1, notice_written},
                                  {4, 1, notice_written},
                                  {9, 2, notice_shared}}),
              (Runs{{3, 3, notice_written}, {9, 2, notice_shared}}));
}

TEST(Notices, that_overlap_are_cut_into_runs_of_their_kinds) {
    EXPECT_EQ(encoded_and_parsed(
                  {{10, 10, notice_written}, {15, 10, notice_shared}, {12, 3, notice_written}}),
              (Runs{{10, 5, notice_written},
                    {15, 5, notice_written | notice_shared},
                    {20, 5, notice_shared}}));
}

TEST(Notices, of_more_pages_than_a_run_has_are_several_runs) {
    const std::uint64_t all = 2 * notice_run_pages_max + 1;
    const Runs expected = {{0, notice_run_pages_max, notice_written},
                           {notice_run_pages_max, notice_run_pages_max, notice_written},
                           {2 * notice_run_pages_max, 1, notice_written}};
    EXPECT_EQ(encoded_and_parsed({{0, all, notice_written}}, notice_pages_max), expected);
}

TEST(Notices, of_the_last_page_of_the_largest_window_arrive) {
    const Runs runs = {{notice_pages_max - 1, 1, notice_kinds_all}};
    EXPECT_EQ(encoded_and_parsed(runs, notice_pages_max), runs);
}

TEST(Notices, of_no_page_have_no_bytes) {
    NoticeMerger merger;
    EXPECT_TRUE(merger.encode().empty());
    EXPECT_EQ(encoded_and_parsed({}), Runs{});
}

TEST(Notices, of_runs_in_any_order_are_those_of_the_runs_in_ascending_order) {
    Runs runs;
    for (PageNumber page = 0; page < 100; ++page) runs.push_back({3 * page, 2, notice_written});
    const auto expected = encoded_and_parsed(runs);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (std::size_t i = runs.size(); i > 1; --i)
            std::swap(runs[i - 1], runs[base::mix64(seed * 1000 + i) % i]);
        EXPECT_EQ(encoded_and_parsed(runs), expected) << seed;
    }
}

TEST(Notices, of_neighbouring_pages_of_one_node_are_one_run) {
    NoticeMerger merger;
    for (PageNumber page = 0; page < 128; ++page) merger.add({page, 1, notice_written}, 0);
    merger.add({128, 1, notice_written}, 1);
    merger.add({129, 1, notice_shared}, 1);
    const std::vector<MergedRun> expected = {
        {0, 128, notice_written, 0}, {128, 1, notice_written, 1}, {129, 1, notice_shared, no_node}};
    const auto merged = merger.merge();
    EXPECT_EQ(std::vector<MergedRun>(merged.begin(), merged.end()), expected);
}

TEST(Notices, of_the_next_epoch_have_nothing_of_the_last_one) {
    NoticeMerger merger;
    merger.add({1, 1, notice_written}, 0);
    EXPECT_EQ(merger.encode().size(), notice_bytes);
    EXPECT_EQ(merger.encode().size(), notice_bytes) << "encoding changes nothing";
    merger.clear();
    EXPECT_TRUE(merger.encode().empty());
    EXPECT_TRUE(merger.merge().empty());
}

std::uint64_t word(std::uint64_t first, std::uint64_t count, std::uint64_t kinds) {
    return first | (count - 1) << 40 | kinds << 61;
}

bool is_accepted(const std::vector<std::uint64_t>& words, std::uint64_t pages = window) {
    Bytes bytes(words.size() * sizeof(std::uint64_t));
    if (!bytes.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
    return Notices::parse(bytes, pages).has_value();
}

TEST(NoticeParser, refuses_runs_outside_of_the_window) {
    EXPECT_TRUE(is_accepted({word(window - 1, 1, 1)}));
    EXPECT_FALSE(is_accepted({word(window, 1, 1)}));
    EXPECT_FALSE(is_accepted({word(window - 1, 2, 1)}));
    EXPECT_FALSE(is_accepted({word(0, notice_run_pages_max, 1)}));
    EXPECT_FALSE(is_accepted({word(0, 1, 1)}, 0));
}

TEST(NoticeParser, refuses_runs_without_a_kind_of_an_unknown_one_or_out_of_order) {
    EXPECT_FALSE(is_accepted({word(1, 1, 0)}));
    EXPECT_TRUE(is_accepted({word(1, 1, notice_kinds_all)}));
    EXPECT_FALSE(is_accepted({word(1, 1, notice_kinds_all + 1)}));
    EXPECT_FALSE(is_accepted({word(1, 1, notice_kinds_all + 2)}));
    EXPECT_TRUE(is_accepted({word(1, 2, 1), word(3, 1, 2)}));
    EXPECT_FALSE(is_accepted({word(1, 2, 1), word(2, 1, 2)})) << "a page twice";
    EXPECT_FALSE(is_accepted({word(5, 1, 1), word(3, 1, 1)}));
}

TEST(NoticeParser, refuses_a_run_that_is_cut_in_two) {
    EXPECT_FALSE(is_accepted({word(1, 2, 1), word(3, 1, 1)}));
    const std::uint64_t most = notice_run_pages_max;
    EXPECT_TRUE(is_accepted({word(0, most, 1), word(most, 1, 1)}, 2 * most));
}

TEST(NoticeParser, refuses_half_a_run) {
    NoticeMerger merger;
    merger.add({1, 1, notice_written}, 0);
    merger.add({3, 1, notice_written}, 0);
    const auto bytes = merger.encode();
    for (std::size_t count = 0; count <= bytes.size(); ++count) {
        EXPECT_EQ(Notices::parse(bytes.first(count), window).has_value(), count % 8 == 0);
    }
}

// The definition, page by page.
struct PageNotice {
    NoticeKinds kinds = 0;
    std::vector<NodeNumber> writers;

    [[nodiscard]] NodeNumber writer() const {
        if (writers.empty()) return no_node;
        return writers.size() == 1 ? writers[0] : several_nodes;
    }
};

// Disjoint runs, as a node has encoded them.
Runs random_runs(test::Random& random) {
    Runs runs;
    for (PageNumber page = random.below(20); page < 60;) {
        const std::uint64_t count = random.between(1, 9);
        runs.push_back({page, count, static_cast<NoticeKinds>(random.between(1, 3))});
        page += count + random.below(6);
    }
    return runs;
}

void note(std::vector<PageNotice>& pages, const Runs& runs, NodeNumber node) {
    for (const NoticeRun& run : runs) {
        for (PageNumber page = run.first; page < run.first + run.count; ++page) {
            pages[page].kinds = static_cast<NoticeKinds>(pages[page].kinds | run.kinds);
            if ((run.kinds & notice_written) != 0) pages[page].writers.push_back(node);
        }
    }
}

bool is_same(const MergedRun& one, const MergedRun& other) {
    return one.kinds == other.kinds && one.writer == other.writer;
}

// The definition of the merged runs: each page joins the run before it if both say the same.
std::vector<MergedRun> defined_runs(const std::vector<PageNotice>& pages) {
    std::vector<MergedRun> runs;
    for (PageNumber page = 0; page < pages.size(); ++page) {
        const MergedRun run{page, 1, pages[page].kinds, pages[page].writer()};
        if (run.kinds == 0) continue;
        if (!runs.empty() && runs.back().first + runs.back().count == page &&
            is_same(runs.back(), run)) {
            ++runs.back().count;
        } else {
            runs.push_back(run);
        }
    }
    return runs;
}

TEST(MergedNotices, name_for_each_page_its_kinds_and_its_only_writer) {
    test::Random random(12);
    NoticeMerger merger;
    for (int round = 0; round < 500 && !testing::Test::HasFailure(); ++round) {
        std::vector<PageNotice> pages(80);
        merger.clear();
        for (NodeNumber node = 0; node < 4; ++node) {
            const Runs runs = random_runs(random);
            NoticeMerger of_node;
            for (const NoticeRun& run : runs) of_node.add(run, node);
            const auto notices = Notices::parse(of_node.encode(), window);
            ASSERT_TRUE(notices.has_value());
            merger.add(*notices, node);
            note(pages, runs, node);
        }
        const auto merged = merger.merge();
        EXPECT_EQ(std::vector<MergedRun>(merged.begin(), merged.end()), defined_runs(pages));
    }
}

TEST(MergedNotices, of_node_0_name_it) {
    NoticeMerger merger;
    merger.add({1, 2, notice_written}, 0);
    merger.add({2, 2, notice_shared}, 5);
    const std::vector<MergedRun> expected = {{1, 1, notice_written, 0},
                                             {2, 1, notice_written | notice_shared, 0},
                                             {3, 1, notice_shared, no_node}};
    const auto merged = merger.merge();
    EXPECT_EQ(std::vector<MergedRun>(merged.begin(), merged.end()), expected);
}

}  // namespace
}  // namespace acp::pages
