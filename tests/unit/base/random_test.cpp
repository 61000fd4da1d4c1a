// SPDX-License-Identifier: BSD-3-Clause
// The generator is the published one, repeats itself for a seed, and is fair within a bound. One
// thread.
#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace acp::base {
namespace {

TEST(Mix64, matches_the_published_sequence_for_seed_0) {
    EXPECT_EQ(mix64(0), 0xe220a8397b1dcdafU);
    EXPECT_EQ(mix64(0x9e3779b97f4a7c15U), 0x6e789e6aa1b965f4U);
}

TEST(Random, matches_the_published_sequence_when_seeded_by_splitmix64) {
    Random random(0);
    EXPECT_EQ(random(), 0x99ec5f36cb75f2b4U);
    EXPECT_EQ(random(), 0xbf6e1f784956452aU);
    EXPECT_EQ(random(), 0x1a5f849d4933e6e0U);
}

TEST(Random, repeats_for_one_seed_and_differs_for_another) {
    Random first(7);
    Random again(7);
    Random other(8);
    int equal_to_other = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t value = first();
        EXPECT_EQ(value, again());
        equal_to_other += value == other() ? 1 : 0;
    }
    EXPECT_EQ(equal_to_other, 0);
}

TEST(Random, stays_below_the_bound_and_reaches_every_value) {
    Random random(1);
    std::array<int, 10> counts{};
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t value = random.below(counts.size());
        ASSERT_LT(value, counts.size());
        ++counts[value];
    }
    // 10^4 expected; 600 is more than six standard deviations.
    for (const int count : counts) EXPECT_NEAR(count, 10'000, 600);
}

TEST(Random, takes_every_bound) {
    Random random(2);
    EXPECT_EQ(random.below(1), 0U);
    for (int i = 0; i < 1000; ++i) {
        EXPECT_LT(random.below(Random::max()), Random::max());
        EXPECT_LT(random.below((std::uint64_t{1} << 63) + 1), (std::uint64_t{1} << 63) + 1);
    }
}

TEST(Random, serves_the_standard_librarys_algorithms) {
    std::vector<int> shuffled(100);
    std::iota(shuffled.begin(), shuffled.end(), 0);
    const std::vector<int> sorted = shuffled;
    std::shuffle(shuffled.begin(), shuffled.end(), Random(3));
    EXPECT_NE(shuffled, sorted);
    EXPECT_TRUE(std::is_permutation(shuffled.begin(), shuffled.end(), sorted.begin()));
}

}  // namespace
}  // namespace acp::base
