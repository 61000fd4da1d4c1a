// SPDX-License-Identifier: BSD-3-Clause
// Chains of seven ordered copies under burst loss: none waits for a second. One thread.
#include "sim/chain.hpp"

#include <gtest/gtest.h>

#include "support/effort.hpp"

namespace acp::sim {
namespace {

Time worst_of(double loss) {
    Time worst = 0;
    for (std::uint64_t seed = 0; seed < test::effort<std::uint64_t>(20, 2); ++seed) {
        ChainOptions options;
        options.seed = seed;
        options.loss = loss;
        const ChainResult result = run_chains(options);
        EXPECT_EQ(result.violation, "") << "seed " << seed;
        if (!result.took.empty()) worst = std::max(worst, result.took.back());
    }
    return worst;
}

TEST(Chains, of_seven_ordered_copies_end_within_a_second_though_bursts_take_30_per_cent) {
    EXPECT_LE(worst_of(0.3), 1 * s);
}

TEST(Chains, of_seven_ordered_copies_end_within_200_ms_where_bursts_take_10_per_cent) {
    EXPECT_LE(worst_of(0.1), 200 * ms);
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
