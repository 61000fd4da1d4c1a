// SPDX-License-Identifier: BSD-3-Clause
// The result of a call for all processes, reduced from the results of each.
#include "node/conclusion.hpp"

#include <gtest/gtest.h>

#include "memory/ga_layout.hpp"

namespace acp::node {
namespace {

using base::Code;

Conclusion all_of(std::initializer_list<Conclusion> parts) {
    Conclusion all;
    for (const Conclusion& part : parts) all.add(part);
    return all;
}

TEST(Conclusion, is_good_when_all_parts_are_and_agree) {
    const Conclusion all = all_of({Conclusion::of(0, Code::ok, 7), Conclusion::of(1, Code::ok, 7)});
    EXPECT_FALSE(all.failure().has_value());
    EXPECT_EQ(all.least_epoch(), 7U);
    EXPECT_EQ(all.greatest_epoch(), 7U);
}

TEST(Conclusion, names_the_first_process_that_failed_whatever_the_order) {
    constexpr std::uint32_t last = (1U << memory::process_bits_max) - 1;
    const Conclusion a = Conclusion::of(last, Code::memory, 1);
    const Conclusion b = Conclusion::of(5, Code::unsupported, 1);
    const Conclusion c = Conclusion::of(0, Code::ok, 1);
    for (const Conclusion& all : {all_of({a, b, c}), all_of({c, b, a, b}), all_of({b, a, a, c})}) {
        ASSERT_TRUE(all.failure().has_value());
        EXPECT_EQ(all.failure()->process, 5U);
        EXPECT_EQ(all.failure()->code, Code::unsupported);
    }
    EXPECT_EQ(all_of({a, c}).failure()->process, last);
    EXPECT_EQ(all_of({a, c}).failure()->code, Code::memory);
}

TEST(Conclusion, distinguishes_epochs) {
    const Conclusion all = all_of({Conclusion::of(0, Code::ok, 3), Conclusion::of(1, Code::ok, 2),
                                   Conclusion::of(2, Code::ok, 9)});
    EXPECT_EQ(all.least_epoch(), 2U);
    EXPECT_EQ(all.greatest_epoch(), 9U);
}

TEST(Conclusion, knows_that_one_came_for_another_call) {
    EXPECT_FALSE(Conclusion::of(0, Code::ok, 0).has_other_call());
    EXPECT_FALSE(Conclusion::of(0, Code::ok, Conclusion::epoch_mask).has_other_call());
    EXPECT_TRUE(all_of({}).has_other_call());
    EXPECT_TRUE(
        all_of({Conclusion::of(0, Code::ok, 7), Conclusion::of_other_call()}).has_other_call());
}

}  // namespace
}  // namespace acp::node
