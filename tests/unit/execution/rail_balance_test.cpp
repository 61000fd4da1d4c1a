// SPDX-License-Identifier: BSD-3-Clause
// Parcels of a plan on several rails: which are given out, what the ends of rails teach, and what is not believed.
#include "execution/rail_balance.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace acp::execution {
namespace {

using Bytes = std::vector<std::uint64_t>;

constexpr std::uint64_t kilo = 1024;

TEST(RailBalance, is_on_where_several_long_parcels_can_go_by_several_rails) {
    EXPECT_TRUE(RailBalance(2, Bytes{32 * kilo, 10, 32 * kilo}).is_on());
    EXPECT_FALSE(RailBalance(1, Bytes{32 * kilo, 32 * kilo}).is_on());
    EXPECT_FALSE(RailBalance(4, Bytes{32 * kilo, 10, 10}).is_on());
    EXPECT_FALSE(RailBalance(4, Bytes{}).is_on());
}

// Rounds of 64 parcels of 32 KiB on four rails with rates in bytes per nanosecond.
class Rounds64 {
public:
    // Carries out a round; looks at each of so many nanoseconds. Returns how long it took.
    std::uint64_t run(const std::vector<double>& rates, std::uint64_t look_ns) {
        const std::uint64_t begun = now_;
        balance_.begin(now_);
        std::vector<std::uint64_t> ends(rates.size(), begun);
        std::vector<std::uint64_t> end_of(parcels);
        for (std::size_t i = 0; i < parcels; ++i) {
            const unsigned rail = balance_.rail(i);
            ends[rail] += static_cast<std::uint64_t>(32 * kilo / rates[rail]);
            end_of[i] = ends[rail];
            balance_.note_sent(i, i + 1);
        }
        EXPECT_TRUE(balance_.is_looking());
        while (balance_.is_looking()) {
            now_ += look_ns;
            balance_.look(now_, [&](std::uint64_t handle) { return end_of[handle - 1] <= now_; });
        }
        return *std::max_element(ends.begin(), ends.end()) - begun;
    }

    static constexpr std::size_t parcels = 64;
    RailBalance balance_{4, Bytes(parcels, 32 * kilo)};
    std::uint64_t now_ = 1000;
};

TEST(RailBalance, a_rail_that_was_halved_gets_half_within_ten_rounds) {
    Rounds64 rounds;
    const std::vector<double> whole(4, 1.0);
    const std::vector<double> halved{1.0, 1.0, 0.5, 1.0};
    constexpr double all_bytes = 64 * 32 * kilo;
    for (int i = 0; i < 5; ++i) (void)rounds.run(whole, 1000);
    EXPECT_GE(static_cast<double>(rounds.run(halved, 1000)), 1.7 * all_bytes / 3.5);
    for (int i = 0; i < 9; ++i) (void)rounds.run(halved, 1000);
    EXPECT_LE(static_cast<double>(rounds.run(halved, 1000)), 1.2 * all_bytes / 3.5);
    EXPECT_NEAR(rounds.balance_.rate(2) / rounds.balance_.rate(1), 0.5, 0.05);
    for (int i = 0; i < 10; ++i) (void)rounds.run(whole, 1000);
    EXPECT_LE(static_cast<double>(rounds.run(whole, 1000)), 1.1 * all_bytes / 4);
}

TEST(RailBalance, an_end_that_was_seen_late_teaches_nothing) {
    Rounds64 rounds;
    (void)rounds.run({1.0, 1.0, 0.5, 1.0}, 10'000'000);
    for (unsigned rail = 0; rail < 4; ++rail) EXPECT_EQ(rounds.balance_.rate(rail), 0);
    (void)rounds.run({1.0, 1.0, 0.5, 1.0}, 1000);
    for (unsigned rail = 0; rail < 4; ++rail) EXPECT_GT(rounds.balance_.rate(rail), 0);
}

TEST(RailBalance, what_a_round_left_open_is_dropped_by_the_next_one) {
    RailBalance balance(2, Bytes{32 * kilo, 5, 32 * kilo});
    balance.begin(0);
    balance.note_sent(0, 7);
    balance.note_sent(1, 8);  // too short to tell anything
    EXPECT_TRUE(balance.is_looking());
    balance.begin(100);
    EXPECT_FALSE(balance.is_looking());
    balance.note_sent(2, 9);
    std::vector<std::uint64_t> asked;
    balance.look(200, [&](std::uint64_t handle) {
        asked.push_back(handle);
        return false;
    });
    EXPECT_EQ(asked, (std::vector<std::uint64_t>{9}));
}

}  // namespace
}  // namespace acp::execution
