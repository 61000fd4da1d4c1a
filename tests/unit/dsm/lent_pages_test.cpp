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

TEST(LentPages, are_reported_once_and_again_when_they_are_lent_again) {
    LentPages lent(100);
    EXPECT_TRUE(taken(lent).empty());
    lent.add({7, 3});
    lent.add({8, 3});
    lent.add({99, 1});
    EXPECT_EQ(taken(lent), (std::vector<pages::PageNumber>{7, 8, 9, 10, 99}));
    EXPECT_TRUE(taken(lent).empty());
    lent.add({8, 1});
    EXPECT_EQ(taken(lent), (std::vector<pages::PageNumber>{8}));
}

TEST(LentPages, of_several_threads_are_all_reported) {
    constexpr std::uint64_t count = 2000;
    LentPages lent(count);
    const auto lend = [&](std::uint64_t first) {
        for (std::uint64_t page = first; page < count; page += 3) lent.add({page, 1});
    };
    std::vector<std::thread> threads;
    for (std::uint64_t first = 0; first < 3; ++first) threads.emplace_back(lend, first);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken(lent).size(), count);
}

}  // namespace
}  // namespace acp::dsm::test
