// SPDX-License-Identifier: BSD-3-Clause
// The first touch of each page counts until a fence follows it, and a fault maps the touched page alone.
#include "dsm/touched_bytes.hpp"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "dsm/lone_pages.hpp"

namespace acp::dsm::test {
namespace {

using Touches = std::vector<std::pair<pages::PageNumber, std::uint32_t>>;

Touches take(TouchedBytes& touched) {
    Touches all;
    touched.take([&](pages::PageNumber page, std::uint32_t byte) { all.emplace_back(page, byte); });
    return all;
}

TEST(TouchedBytesTest, have_the_first_touch_of_each_page_since_they_were_taken) {
    const std::atomic<std::uint64_t> fences{0};
    TouchedBytes touched(4, fences);
    touched.note(4095);
    touched.note(5);
    touched.note(4096);
    touched.note(3 * 4096 + 100);
    EXPECT_EQ(take(touched), (Touches{{0, 4095}, {1, 0}, {3, 100}}));
    EXPECT_EQ(take(touched), Touches{});
    touched.note(5);
    EXPECT_EQ(take(touched), (Touches{{0, 5}}));
}

TEST(TouchedBytesTest, are_ended_by_a_fence) {
    std::atomic<std::uint64_t> fences{7};
    TouchedBytes touched(3, fences);
    touched.note(0);
    ++fences;
    touched.note(1);
    touched.note(4096 + 9);
    EXPECT_EQ(take(touched), (Touches{{1, 9}})) << "page 0 stays mapped behind the fence";
}

struct AllPages final : PageSource {
    void bring(PageRange pages) noexcept override { brought += pages.count; }

    void bring_with(pages::PageNumber /*page*/,
                    std::span<const PageRange> others) noexcept override {
        brought += 1 + others.size();
    }

    [[nodiscard]] bool try_bring(pages::PageNumber /*page*/) noexcept override { return true; }

    [[nodiscard]] bool is_untracked(pages::PageNumber page) const noexcept override {
        return page == 3;
    }

    std::uint64_t brought = 0;
};

TEST(LonePagesTest, bring_pages_and_map_none_beside_them) {
    AllPages all;
    LonePages lone(all);
    lone.bring({1, 2});
    lone.bring_with(5, {});
    EXPECT_EQ(all.brought, 3U);
    EXPECT_EQ(lone.ahead_max(), 0U);
    EXPECT_FALSE(lone.try_bring(1));
    EXPECT_FALSE(lone.may_map_beside(1));
    EXPECT_TRUE(lone.is_untracked(3));
    EXPECT_FALSE(lone.is_untracked(4));
}

}  // namespace
}  // namespace acp::dsm::test
