// SPDX-License-Identifier: BSD-3-Clause
// Commands of a node's processes, from submission to completion; and the parts of them that are
// sent again.
#include "router/own_commands.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "unit/router/lower_parts.hpp"

namespace acp::router::test {
namespace {

TEST(OwnCommandsTest, ends_each_command_once) {
    LowerParts parts;
    ASSERT_NE(parts.enter_get(2), no_index);
    EXPECT_EQ(parts.own.outstanding_of(0), 1U);
    EXPECT_TRUE(parts.own.has(0, 2));
    parts.own.complete(parts.own.find(0, 2), {base::Code::ok, BlamedAddress::none, 0});
    EXPECT_FALSE(parts.own.has(0, 2));
    EXPECT_EQ(parts.own.outstanding_of(0), 0U);
    EXPECT_EQ(parts.told.ended.size(), 1U);
    EXPECT_EQ(parts.activity.counters().completions, 1U);
}

TEST(OwnCommandsTest, takes_no_more_than_its_maximum_and_forgets_what_is_withdrawn) {
    LowerParts parts;
    for (std::uint64_t i = 1; i <= small_settings().commands_max; ++i) {
        ASSERT_NE(parts.enter_get(2 * i), no_index);
    }
    EXPECT_EQ(parts.enter_get(100), no_index);
    parts.own.withdraw(parts.own.find(0, 2));
    EXPECT_NE(parts.enter_get(100), no_index);
    EXPECT_EQ(parts.activity.counters().commands, small_settings().commands_max);
    EXPECT_TRUE(parts.told.ended.empty());
}

TEST(OwnCommandsTest, gives_up_the_part_that_has_come_of_a_copy_that_fails) {
    LowerParts parts;
    ASSERT_NE(parts.enter_get(2), no_index);
    PutFrame piece;
    piece.bytes = 16;
    piece.token = 2;
    piece.total = 64;
    bool is_full = false;
    EXPECT_EQ(parts.partials.arrive(1, piece, is_full), Fault::none);
    parts.own.complete(parts.own.find(0, 2), {base::Code::peer, BlamedAddress::source, 2});
    EXPECT_EQ(parts.partials.used(), 0U);
    EXPECT_EQ(parts.activity.counters().forgotten, 1U);
}

TEST(OwnCommandsTest, ends_what_involves_a_node_and_nothing_else) {
    LowerParts parts;
    ASSERT_NE(parts.enter_get(2), no_index);
    const std::uint32_t other = parts.enter_get(4);
    ASSERT_NE(other, no_index);
    parts.own[other].source = parts.address(4);
    parts.own.end_all_of(parts.nodes.peer(1));
    ASSERT_EQ(parts.told.ended.size(), 1U);
    EXPECT_EQ(parts.told.ended[0].token, 2U);
    EXPECT_TRUE(parts.own.has(0, 4));
}

TEST(ResendsTest, joins_what_follows_and_gives_it_out_when_it_is_due) {
    LowerParts parts;
    const std::uint32_t index = parts.enter_get(2);
    parts.resends.add(index, 0, 16);
    parts.resends.add(index, 16, 16);
    EXPECT_EQ(parts.resends.used(), 1U);
    EXPECT_EQ(parts.resends.deadline(), parts.activity.now() + resend_ns_min);
    std::vector<std::uint64_t> bytes;
    const auto send = [&](const Resend& again) {
        bytes.push_back(again.bytes);
        return true;
    };
    parts.resends.send_due(send);
    EXPECT_TRUE(bytes.empty());
    parts.activity.set_now(parts.resends.deadline());
    parts.resends.send_due([](const Resend& /*again*/) { return false; });
    EXPECT_EQ(parts.resends.used(), 1U);
    parts.resends.send_due(send);
    EXPECT_EQ(bytes, std::vector<std::uint64_t>{32});
    EXPECT_EQ(parts.resends.deadline(), datagram::never);
}

TEST(ResendsTest, waits_twice_as_long_for_what_was_refused_before) {
    LowerParts parts;
    const std::uint32_t index = parts.enter_get(2);
    parts.own[index].attempts = 3;
    parts.resends.add_value(index, 99);
    EXPECT_EQ(parts.resends.deadline(), parts.activity.now() + 8 * resend_ns_min);
    parts.own[index].attempts = 200;
    parts.resends.add(index, 0, 8);
    EXPECT_EQ(parts.resends.used(), 2U);
}

TEST(ResendsTest, fails_the_command_for_which_no_record_is_left) {
    LowerParts parts;
    const std::uint32_t index = parts.enter_get(2, 1U << 20);
    // Every second byte, so that no part is joined to the one before.
    for (std::uint32_t i = 0; i < resends_min; ++i) parts.resends.add(index, 2ULL * i, 1);
    EXPECT_TRUE(parts.told.ended.empty());
    parts.resends.add(index, 2ULL * resends_min, 1);
    ASSERT_EQ(parts.told.ended.size(), 1U);
    EXPECT_EQ(parts.told.ended[0].code, base::Code::limit);
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
