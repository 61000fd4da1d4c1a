// SPDX-License-Identifier: BSD-3-Clause
// Copies of which a part has arrived: pieces counted, refused, in place or failed; copies dropped.
#include "router/partial_copies.hpp"

#include <gtest/gtest.h>

namespace acp::router::test {
namespace {

PutFrame piece_of(std::uint64_t token, std::uint16_t bytes, std::uint64_t total) {
    PutFrame frame;
    frame.token = token;
    frame.bytes = bytes;
    frame.total = total;
    return frame;
}

OperationRecord work_of(std::uint64_t token, std::uint64_t bytes) {
    OperationRecord operation;
    operation.token = token;
    operation.bytes = bytes;
    return operation;
}

class PartialCopiesTest : public ::testing::Test {
protected:
    Fault arrive(std::uint64_t token, std::uint16_t bytes, std::uint64_t total) {
        return partials.arrive(1, piece_of(token, bytes, total), is_full);
    }

    Activity activity;
    PartialCopies partials{activity, 2};
    bool is_full = false;
};

TEST_F(PartialCopiesTest, is_in_place_when_all_pieces_are_and_not_when_all_have_come) {
    EXPECT_EQ(arrive(2, 16, 32), Fault::none);
    EXPECT_EQ(arrive(2, 16, 32), Fault::none);
    EXPECT_FALSE(partials.settle(work_of(2, 16), true).is_in_place);
    EXPECT_TRUE(partials.settle(work_of(2, 16), true).is_in_place);
    EXPECT_EQ(partials.used(), 0U);
    EXPECT_EQ(activity.counters().forgotten, 0U);
}

TEST_F(PartialCopiesTest, reports_only_the_first_failure) {
    (void)arrive(2, 16, 48);
    EXPECT_TRUE(partials.settle(work_of(2, 16), false).is_new_failure);
    EXPECT_FALSE(partials.settle(work_of(2, 16), false).is_new_failure);
    EXPECT_FALSE(partials.settle(work_of(2, 16), true).is_in_place);
    EXPECT_EQ(partials.used(), 0U);
}

TEST_F(PartialCopiesTest, refuses_more_bytes_than_a_copy_has_and_another_total) {
    EXPECT_EQ(arrive(2, 16, 24), Fault::none);
    EXPECT_EQ(arrive(2, 8, 32), Fault::contradiction);
    EXPECT_EQ(arrive(2, 16, 24), Fault::overrun);
}

TEST_F(PartialCopiesTest, counts_a_refused_piece_as_not_come) {
    (void)arrive(2, 16, 24);
    partials.take_back(piece_of(2, 16, 24));
    EXPECT_EQ(partials.used(), 0U);
    EXPECT_EQ(arrive(2, 16, 24), Fault::none);
}

TEST_F(PartialCopiesTest, counts_no_more_copies_than_its_maximum) {
    (void)arrive(2, 16, 24);
    (void)arrive(4, 16, 24);
    EXPECT_FALSE(is_full);
    EXPECT_EQ(arrive(6, 16, 24), Fault::none);
    EXPECT_TRUE(is_full);
    EXPECT_EQ(partials.used(), 2U);
}

TEST_F(PartialCopiesTest, lets_a_visitor_drop_the_copy_it_is_shown) {
    (void)arrive(2, 16, 24);
    (void)arrive(4, 16, 24);
    partials.for_each([&](const Partial& copy) { partials.drop(copy.initiator, copy.token); });
    EXPECT_EQ(partials.used(), 0U);
    EXPECT_EQ(activity.counters().forgotten, 2U);
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
