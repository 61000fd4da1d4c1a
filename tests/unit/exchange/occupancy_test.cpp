// SPDX-License-Identifier: BSD-3-Clause
// Free times, against a count by brute force.
#include "exchange/occupancy.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace acp::exchange {
namespace {

TEST(Occupancy, finds_the_earliest_time_that_is_free_for_so_long) {
    Occupancy line;
    EXPECT_EQ(line.earliest(3, 5, 1), 3);
    line.add(2, 4);
    line.add(6, 7);
    EXPECT_EQ(line.earliest(0, 2, 1), 0);
    EXPECT_EQ(line.earliest(0, 3, 1), 7);
    EXPECT_EQ(line.earliest(3, 2, 1), 4);
    EXPECT_EQ(line.earliest(3, 2.5, 1), 7);
    EXPECT_EQ(line.earliest(3, 9, 2), 3);
    line.add(3, 8);
    EXPECT_EQ(line.earliest(0, 4, 2), 0 + 7);
    line.clear();
    EXPECT_EQ(line.earliest(0, 99, 1), 0);
}

TEST(Occupancy, counts_as_brute_force_does) {
    base::Random random(2);
    for (int round = 0; round < 200; ++round) {
        Occupancy line;
        std::vector<int> count(60);
        for (std::uint64_t i = random.below(12); i-- > 0;) {
            const auto begin = static_cast<std::size_t>(random.below(30));
            const auto end = begin + 1 + static_cast<std::size_t>(random.below(8));
            line.add(static_cast<double>(begin), static_cast<double>(end));
            for (std::size_t k = begin; k < end; ++k) ++count[k];
        }
        const auto most = static_cast<unsigned>(1 + random.below(3));
        const auto length = static_cast<std::size_t>(1 + random.below(6));
        const auto from = static_cast<std::size_t>(random.below(20));
        std::size_t expected = from;
        for (std::size_t k = from; k < expected + length; ++k) {
            if (count[k] >= static_cast<int>(most)) expected = k + 1;
        }
        EXPECT_EQ(line.earliest(static_cast<double>(from), static_cast<double>(length), most),
                  static_cast<double>(expected));
    }
}

}  // namespace
}  // namespace acp::exchange
