// SPDX-License-Identifier: BSD-3-Clause
// A page is reported once, also if several threads have added it several times.
#include "dsm/lent_pages.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace acp::dsm::test {
namespace {

class Reported final : public WrittenPages {
public:
    void add(PageRange pages) noexcept override {
        for (std::uint64_t i = 0; i < pages.count; ++i) all.push_back(pages.first + i);
    }

    std::vector<pages::PageNumber> all;
};

std::vector<pages::PageNumber> taken(LentPages& lent) {
    Reported reported;
    lent.take(reported);
    std::sort(reported.all.begin(), reported.all.end());
    return reported.all;
}

class LentPagesTest : public testing::Test {
protected:
    static constexpr std::uint64_t pages_count = 2000;

    void lend(PageRange pages) {
        lent.hold(pages);
        lent.add(pages);
    }

    MappedPages<> mapped{pages_count};
    LentPages lent{mapped};
};

TEST_F(LentPagesTest, are_reported_once_and_again_when_they_are_lent_again) {
    EXPECT_TRUE(taken(lent).empty());
    lend({7, 3});
    lend({8, 3});
    lend({99, 1});
    EXPECT_EQ(taken(lent), (std::vector<pages::PageNumber>{7, 8, 9, 10, 99}));
    EXPECT_TRUE(taken(lent).empty());
    lend({8, 1});
    EXPECT_EQ(taken(lent), (std::vector<pages::PageNumber>{8}));
}

TEST_F(LentPagesTest, of_several_threads_are_all_reported) {
    const auto lend_third = [&](std::uint64_t first) {
        for (std::uint64_t page = first; page < pages_count; page += 3) lend({page, 1});
    };
    std::vector<std::thread> threads;
    for (std::uint64_t first = 0; first < 3; ++first) threads.emplace_back(lend_third, first);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken(lent).size(), pages_count);
}

TEST_F(LentPagesTest, that_are_read_are_not_reported) {
    lent.hold({3, 4});
    lent.add({5, 1});
    EXPECT_EQ(taken(lent), (std::vector<pages::PageNumber>{5}));
    lent.add({5, 1});
    EXPECT_TRUE(taken(lent).empty()) << "it is not held";
}

TEST_F(LentPagesTest, that_one_command_writes_and_another_one_reads_are_reported) {
    lend({5, 1});
    lent.hold({4, 3});
    EXPECT_EQ(taken(lent), (std::vector<pages::PageNumber>{5}));
}

TEST_F(LentPagesTest, that_a_release_finds_are_written_and_in_its_range) {
    lend({5, 4});
    lent.hold({9, 2});
    Reported reported;
    lent.find({6, 5}, reported);
    EXPECT_EQ(reported.all, (std::vector<pages::PageNumber>{6, 7, 8}));
    EXPECT_EQ(taken(lent), (std::vector<pages::PageNumber>{5, 6, 7, 8}))
        << "a page is still lent after a release has found it";
}

TEST_F(LentPagesTest, are_not_dropped_by_an_eviction_until_they_are_taken) {
    lent.hold({3, 2});
    lent.hold({4, 2});
    for (pages::PageNumber page = 3; page < 6; ++page) EXPECT_FALSE(mapped.try_drop(page)) << page;
    EXPECT_TRUE(mapped.try_drop(6));
    EXPECT_TRUE(taken(lent).empty());
    for (pages::PageNumber page = 3; page < 6; ++page) EXPECT_TRUE(mapped.try_drop(page)) << page;
}

}  // namespace
}  // namespace acp::dsm::test
