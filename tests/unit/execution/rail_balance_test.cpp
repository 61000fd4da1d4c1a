// SPDX-License-Identifier: BSD-3-Clause
// Parcels of a plan on several rails: the rail of each parcel, what the completions on a rail
// teach, and which measurements are ignored.
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
    // Executes a round, with a poll every `look_ns` nanoseconds. Returns its duration.
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

    explicit Rounds64(std::vector<unsigned> planned = {})
        : balance_(4, Bytes(parcels, 32 * kilo), std::move(planned)) {}

    [[nodiscard]] std::vector<unsigned> rails() const {
        std::vector<unsigned> rails;
        for (std::size_t i = 0; i < parcels; ++i) rails.push_back(balance_.rail(i));
        return rails;
    }

    static constexpr std::size_t parcels = 64;
    RailBalance balance_;
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

TEST(RailBalance, a_plan_is_kept_until_a_rail_is_slow_and_again_when_it_has_recovered) {
    std::vector<unsigned>
        planned;  // half of each rail's parcels in a row: no learner would choose that
    for (unsigned i = 0; i < 64; ++i) planned.push_back(i / 8 % 4);
    Rounds64 rounds(planned);
    const std::vector<double> whole{1.0, 1.0, 0.96, 1.0};
    const std::vector<double> halved{1.0, 1.0, 0.5, 1.0};
    for (int i = 0; i < 10; ++i) {
        (void)rounds.run(whole, 1000);
        EXPECT_EQ(rounds.rails(), planned) << i;
        EXPECT_FALSE(rounds.balance_.has_left_plan());
    }
    for (int i = 0; i < 10; ++i) (void)rounds.run(halved, 1000);
    EXPECT_LE(static_cast<double>(rounds.run(halved, 1000)), 1.2 * 64 * 32 * kilo / 3.5);
    EXPECT_TRUE(rounds.balance_.has_left_plan());
    for (int i = 0; i < 20; ++i) (void)rounds.run(whole, 1000);
    EXPECT_EQ(rounds.rails(), planned);
    EXPECT_FALSE(rounds.balance_.has_left_plan());
}

TEST(RailBalance, a_rail_that_the_plan_leaves_out_stays_out) {
    std::vector<unsigned> planned;
    for (unsigned i = 0; i < 64; ++i) planned.push_back(i % 2);
    Rounds64 rounds(planned);
    for (int i = 0; i < 10; ++i) {
        (void)rounds.run({1.0, 0.3, 1.0, 1.0}, 1000);
        EXPECT_EQ(rounds.rails(), planned) << i;
    }
}

TEST(RailBalance, an_end_that_was_seen_late_teaches_nothing) {
    Rounds64 rounds;
    (void)rounds.run({1.0, 1.0, 0.5, 1.0}, 10'000'000);
    for (unsigned rail = 0; rail < 4; ++rail) EXPECT_EQ(rounds.balance_.rate(rail), 0);
    (void)rounds.run({1.0, 1.0, 0.5, 1.0}, 1000);
    for (unsigned rail = 0; rail < 4; ++rail) EXPECT_GT(rounds.balance_.rate(rail), 0);
}

TEST(RailBalance, a_rail_that_a_round_left_open_was_at_most_as_fast_as_that) {
    RailBalance balance(2, Bytes{32 * kilo, 5, 32 * kilo});
    EXPECT_TRUE(balance.has(0));
    EXPECT_FALSE(balance.has(1)) << "the transfer is too short for a measurement";
    balance.begin(0);
    balance.note_sent(0, 7);
    EXPECT_TRUE(balance.is_looking());
    balance.begin(32 * kilo);
    EXPECT_FALSE(balance.is_looking());
    EXPECT_EQ(balance.rate(0), 1000) << "bytes per microsecond";
    balance.note_sent(0, 8);
    balance.begin(33 * kilo);  // soon after: it may be as fast as before
    EXPECT_EQ(balance.rate(0), 1000);
    balance.note_sent(0, 9);
    balance.begin(97 * kilo);
    EXPECT_EQ(balance.rate(0), 750);
    std::vector<std::uint64_t> asked;
    balance.note_sent(2, 10);
    balance.look(98 * kilo, [&](std::uint64_t handle) {
        asked.push_back(handle);
        return false;
    });
    EXPECT_EQ(asked, (std::vector<std::uint64_t>{10}));
}

TEST(RailBalance, a_rail_has_ended_when_all_its_parcels_have) {
    RailBalance balance(2, Bytes(8, 32 * kilo));
    balance.begin(0);
    for (std::size_t i = 0; i < 8; ++i) balance.note_sent(i, i + 1);
    balance.look(1000, [](std::uint64_t handle) { return handle > 2; });
    balance.look(1001, [](std::uint64_t handle) { return handle > 2; });
    EXPECT_TRUE(balance.is_looking());
    EXPECT_EQ(balance.rate(0) + balance.rate(1), 0);
    balance.look(1002, [](std::uint64_t) { return true; });
    EXPECT_FALSE(balance.is_looking());
    EXPECT_GT(balance.rate(0), 0);
    EXPECT_GT(balance.rate(1), 0);
}

}  // namespace
}  // namespace acp::execution
