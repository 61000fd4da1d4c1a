// SPDX-License-Identifier: BSD-3-Clause
// The log of a lock names the pages that releases changed, to a node that has seen fewer releases; it
// forgets the oldest ones, never names too few pages, and refuses bytes that are no log.
#include "pages/change_log.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <vector>

#include "support/random.hpp"

namespace acp::pages::test {
namespace {

using Pages = std::set<PageNumber>;

ReleasedRuns runs_of(const Pages& pages) {
    ReleasedRuns runs;
    for (const PageNumber page : pages) runs.add(page);
    return runs;
}

void release(ChangeLog& log, const Pages& pages) {
    log.add(runs_of(pages).runs());
}

// The pages that the log names to a node that has seen releases up to a number; nullopt: all pages.
std::optional<Pages> changed_since(const ChangeLog& log, std::uint64_t seen) {
    Pages pages;
    const bool has_all = log.for_each_since(seen, [&](const ChangedRun& run) {
        for (PageNumber page = run.first; page < run.end(); ++page) pages.insert(page);
    });
    if (has_all) return pages;
    return std::nullopt;
}

TEST(ReleasedRunsTest, joins_pages_side_by_side) {
    const ReleasedRuns runs = runs_of({3, 4, 5, 9, 11, 12});
    ASSERT_EQ(runs.runs().size(), 3U);
    EXPECT_EQ(runs.runs()[0], (ChangedRun{3, 3}));
    EXPECT_EQ(runs.runs()[1], (ChangedRun{9, 1}));
    EXPECT_EQ(runs.runs()[2], (ChangedRun{11, 2}));
}

TEST(ReleasedRunsTest, joins_the_nearest_runs_where_there_are_too_many) {
    ReleasedRuns runs;
    PageNumber page = 0;
    for (std::size_t i = 0; i < ReleasedRuns::runs_max; ++i) runs.add(page += 10);
    runs.add(page += 3);
    runs.add(page += 20);
    ASSERT_EQ(runs.runs().size(), ReleasedRuns::runs_max);
    const std::uint64_t last = ReleasedRuns::runs_max * 10;
    EXPECT_EQ(runs.runs()[0], (ChangedRun{10, 11}));
    EXPECT_EQ(runs.runs()[ReleasedRuns::runs_max - 2], (ChangedRun{last, 4}));
    EXPECT_EQ(runs.runs()[ReleasedRuns::runs_max - 1], (ChangedRun{last + 23, 1}));
}

TEST(ChangeLogTest, names_the_pages_of_the_releases_that_a_node_has_not_seen) {
    ChangeLog log(100);
    EXPECT_EQ(log.newest(), 100U);
    EXPECT_EQ(changed_since(log, 100), Pages());
    release(log, {7});
    release(log, {20, 21});
    EXPECT_EQ(log.newest(), 102U);
    EXPECT_EQ(changed_since(log, 100), (Pages{7, 20, 21}));
    EXPECT_EQ(changed_since(log, 101), (Pages{20, 21}));
    EXPECT_EQ(changed_since(log, 102), Pages());
    EXPECT_EQ(changed_since(log, 99), std::nullopt) << "before the log";
}

TEST(ChangeLogTest, keeps_one_entry_of_a_page_that_each_release_changes) {
    ChangeLog log;
    for (int i = 0; i < 1000; ++i) release(log, {5, 6, 7});
    EXPECT_EQ(changed_since(log, 0), (Pages{5, 6, 7}));
    release(log, {6});
    EXPECT_EQ(changed_since(log, 1000), Pages{6});
    EXPECT_EQ(changed_since(log, 999), (Pages{5, 6, 7}));
}

TEST(ChangeLogTest, forgets_the_oldest_releases_where_it_is_full) {
    ChangeLog log;
    for (PageNumber i = 0; i <= ChangeLog::runs_max; ++i) release(log, {2 * i});
    EXPECT_EQ(changed_since(log, 0), std::nullopt);
    ASSERT_TRUE(changed_since(log, 1).has_value());
    EXPECT_EQ(changed_since(log, 1)->size(), ChangeLog::runs_max);
}

TEST(ChangeLogTest, never_names_too_few_pages) {
    for (std::uint64_t seed = 1; seed < 300; ++seed) {
        acp::test::Random random(seed);
        ChangeLog log;
        std::vector<Pages> releases;
        const std::uint64_t pages_max = random.between(1, 200);
        for (std::uint64_t i = random.below(150); i != 0; --i) {
            Pages pages;
            const std::uint64_t first = random.below(pages_max);
            for (std::uint64_t k = random.between(1, 40); k != 0; --k)
                pages.insert(random.chance(50) ? random.below(pages_max) : first + k);
            releases.push_back(pages);
            release(log, pages);
            ChangeLog copy;
            ASSERT_TRUE(copy.read(log.bytes(), 300));
            log = copy;
        }
        for (std::uint64_t seen = 0; seen <= releases.size(); ++seen) {
            const auto changed = changed_since(log, seen);
            for (std::uint64_t i = seen; changed && i < releases.size(); ++i)
                for (const PageNumber page : releases[i])
                    ASSERT_TRUE(changed->contains(page)) << seed << ", release " << i + 1;
        }
        EXPECT_EQ(changed_since(log, releases.size()), Pages());
    }
}

TEST(ChangeLogTest, refuses_bytes_that_are_no_log) {
    ChangeLog log(3);
    release(log, {9});
    ChangeLog other(77);
    EXPECT_FALSE(other.read(log.bytes().first(8), 100));
    EXPECT_FALSE(other.read({}, 100));
    EXPECT_FALSE(other.read(log.bytes(), 9)) << "page 9 of 9 pages";
    EXPECT_TRUE(other.read(log.bytes(), 10));
    EXPECT_EQ(other.newest(), 4U);
    for (std::uint64_t seed = 1; seed < 2000; ++seed) {
        acp::test::Random random(seed);
        std::vector<std::byte> bytes(log.bytes().begin(), log.bytes().end());
        for (std::uint64_t i = random.between(1, 4); i != 0; --i)
            bytes[random.below(48)] = static_cast<std::byte>(random.below(256));
        ChangeLog read(1);
        if (!read.read(bytes, 100)) {
            EXPECT_EQ(read.newest(), 1U);
            continue;
        }
        (void)read.for_each_since(0, [](const ChangedRun& run) { EXPECT_LE(run.end(), 100U); });
        release(read, {1});
    }
}

}  // namespace
}  // namespace acp::pages::test
