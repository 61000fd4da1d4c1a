// SPDX-License-Identifier: BSD-3-Clause
// Short yields earn credit for long ones; only a debt switches yielding off, for longer each time,
// for the whole node.
#include "node/yield_credit.hpp"

#include <gtest/gtest.h>
#include <memory>

namespace acp::node {
namespace {

constexpr std::uint64_t all_credit_ns = YieldCredit::credit_max * YieldCredit::good_yield_gain_ns;
constexpr std::uint64_t now_ns = 1'000'000'000;

class YieldCreditTest : public testing::Test {
protected:
    [[nodiscard]] bool may_yield(std::uint64_t at_ns) const {
        return YieldCredit::may_yield(*node_, at_ns);
    }

    // Long yields beyond all credit, from `at_ns` on; returns when yielding is allowed again.
    std::uint64_t overdraw(std::uint64_t at_ns) {
        credit_.note_long(*node_, at_ns, all_credit_ns);
        credit_.note_long(*node_, at_ns, all_credit_ns);
        return node_->no_yield_until_ns.load(std::memory_order_relaxed);
    }

    std::unique_ptr<ControlBlock> node_ = std::make_unique<ControlBlock>();
    YieldCredit credit_;
};

TEST_F(YieldCreditTest, pays_for_long_yields_while_there_is_credit) {
    for (int i = 0; i < 100; ++i) {
        credit_.note_long(*node_, now_ns, all_credit_ns / 100);
        EXPECT_TRUE(may_yield(now_ns)) << "after " << i + 1 << " long yields";
    }
    credit_.note_long(*node_, now_ns, all_credit_ns / 100);
    EXPECT_FALSE(may_yield(now_ns));
}

TEST_F(YieldCreditTest, good_yields_earn_credit) {
    credit_.note_long(*node_, now_ns, all_credit_ns);  // all that was given at the start
    for (int i = 0; i < 100; ++i) credit_.note_good(*node_);
    credit_.note_long(*node_, now_ns, 100 * YieldCredit::good_yield_gain_ns);
    EXPECT_TRUE(may_yield(now_ns));
    credit_.note_long(*node_, now_ns, YieldCredit::good_yield_gain_ns);
    EXPECT_FALSE(may_yield(now_ns));
}

TEST_F(YieldCreditTest, switches_off_for_twice_as_long_each_time_up_to_a_bound) {
    std::uint64_t at = now_ns;
    std::uint64_t expected = YieldCredit::backoff_min_ns;
    for (int i = 0; i < 8; ++i) {
        const std::uint64_t until = overdraw(at);
        EXPECT_EQ(until - at, expected);
        EXPECT_FALSE(may_yield(until - 1));
        EXPECT_TRUE(may_yield(until));
        at = until;
        expected = std::min(2 * expected, YieldCredit::backoff_max_ns);
    }
}

TEST_F(YieldCreditTest, one_event_seen_by_many_counts_once) {
    YieldCredit other;
    const std::uint64_t until = overdraw(now_ns);
    other.note_long(*node_, now_ns, all_credit_ns);
    other.note_long(*node_, now_ns, all_credit_ns);
    EXPECT_EQ(node_->no_yield_until_ns.load(std::memory_order_relaxed), until);
}

TEST_F(YieldCreditTest, many_good_yields_forgive) {
    std::uint64_t at = now_ns;
    for (int i = 0; i < 3; ++i) at = overdraw(at);  // the next would last eight times the least
    for (int i = 0; i < YieldCredit::credit_max; ++i) credit_.note_good(*node_);
    EXPECT_EQ(overdraw(at) - at, 4 * YieldCredit::backoff_min_ns);
}

}  // namespace
}  // namespace acp::node
