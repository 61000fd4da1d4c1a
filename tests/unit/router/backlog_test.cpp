// SPDX-License-Identifier: BSD-3-Clause
// Records of work, and where work waits: shares, tickets, turns of initiators, room at processes,
// severed nodes.
#include "router/backlog.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "unit/router/lower_parts.hpp"

namespace acp::router::test {
namespace {

std::uint32_t take_for(LowerParts& parts, std::uint32_t initiator, std::uint64_t token) {
    const std::uint32_t index = parts.operations.take(Share::value, Work::value);
    OperationRecord& operation = parts.operations[index];
    operation.initiator = initiator;
    operation.token = token;
    operation.lane = 1;
    return index;
}

TEST(OperationsTest, lets_no_share_take_the_room_of_another) {
    LowerParts parts;
    for (std::uint32_t i = 0; i < small_settings().executions_max; ++i) {
        EXPECT_NE(parts.operations.take(Share::foreign, Work::run), no_index);
    }
    EXPECT_EQ(parts.operations.take(Share::foreign, Work::run), no_index);
    EXPECT_NE(parts.operations.take(Share::own, Work::request), no_index);
    EXPECT_NE(parts.operations.spare(), no_index);
}

TEST(OperationsTest, finds_by_a_ticket_only_what_placement_has) {
    LowerParts parts;
    const std::uint32_t index = parts.operations.take(Share::own, Work::run);
    const Ticket ticket = parts.operations.ticket_of(index);
    EXPECT_EQ(parts.operations.find_with_placement(ticket), no_index);
    parts.operations[index].is_with_placement = true;
    EXPECT_EQ(parts.operations.find_with_placement(ticket), index);
    parts.operations.release(index);
    const std::uint32_t again = parts.operations.take(Share::own, Work::run);
    ASSERT_EQ(again, index);
    parts.operations[again].is_with_placement = true;
    EXPECT_EQ(parts.operations.find_with_placement(ticket), no_index);
}

TEST(OperationsTest, neither_counts_nor_shows_the_spare_record) {
    LowerParts parts;
    const std::uint32_t spare = parts.operations.spare();
    EXPECT_EQ(parts.operations.spare(), spare);
    EXPECT_EQ(parts.operations.in_use(), 0U);
    std::uint32_t shown = 0;
    parts.operations.for_each([&](const OperationRecord& /*operation*/) { ++shown; });
    EXPECT_EQ(shown, 0U);
    EXPECT_EQ(&parts.operations.use_spare(), &parts.operations[spare]);
    EXPECT_EQ(parts.operations[spare].work, Work::place);
    EXPECT_EQ(parts.operations.in_use(), 1U);
}

TEST(OperationsTest, gives_buffers_back_with_their_records) {
    LowerParts parts;
    const std::uint32_t staged = parts.operations.take_staged();
    ASSERT_NE(staged, no_index);
    EXPECT_EQ(parts.operations.take_staged(), no_index);
    parts.operations.release(staged);
    EXPECT_NE(parts.operations.take_staged(), no_index);
    const std::uint32_t first = parts.operations.take_invoke({});
    ASSERT_NE(first, no_index);
    ASSERT_NE(parts.operations.take_invoke({}), no_index);
    EXPECT_EQ(parts.operations.take_invoke({}), no_index);
    parts.operations.release(first);
    EXPECT_NE(parts.operations.take_invoke({}), no_index);
}

TEST(BacklogTest, gives_initiators_their_turns_one_after_the_other) {
    LowerParts parts;
    for (const std::uint64_t token : {2ULL, 4ULL}) parts.backlog.enqueue(take_for(parts, 0, token));
    for (const std::uint64_t token : {6ULL, 8ULL}) parts.backlog.enqueue(take_for(parts, 1, token));
    RouterPeer& to = parts.nodes.peer(1);
    std::vector<std::uint64_t> tokens;
    while (!to.flows.is_empty()) {
        const Backlog::Turn turn = parts.backlog.take_turn(to);
        tokens.push_back(parts.operations[turn.operation].token);
        parts.backlog.end_turn(to, turn, StepOutcome::done);
    }
    EXPECT_EQ(tokens, (std::vector<std::uint64_t>{2, 6, 4, 8}));
    EXPECT_EQ(parts.operations.in_use(), 0U);
}

TEST(BacklogTest, keeps_the_turn_of_work_that_found_no_room) {
    LowerParts parts;
    parts.backlog.enqueue(take_for(parts, 0, 2));
    parts.backlog.enqueue(take_for(parts, 1, 6));
    RouterPeer& to = parts.nodes.peer(1);
    const Backlog::Turn turn = parts.backlog.take_turn(to);
    parts.backlog.end_turn(to, turn, StepOutcome::blocked);
    EXPECT_EQ(parts.backlog.take_turn(to).operation, turn.operation);
}

TEST(BacklogTest, asks_parked_work_again_when_it_is_time_and_later_each_time_nothing_moves) {
    LowerParts parts;
    const std::uint32_t index = take_for(parts, 0, 2);
    parts.backlog.park(index, 1);
    std::uint32_t asked = 0;
    const auto refuse = [&](std::uint32_t /*operation*/) {
        ++asked;
        return false;
    };
    parts.backlog.retry_due(refuse);
    EXPECT_EQ(asked, 0U);
    parts.activity.set_now(parts.backlog.retry_at());
    parts.backlog.retry_due(refuse);
    EXPECT_EQ(asked, 1U);
    EXPECT_EQ(parts.backlog.retry_at(), parts.activity.now() + 2 * retry_ns_min);
    parts.backlog.retry_soon(0);  // no work of that process waits
    EXPECT_NE(parts.backlog.retry_at(), 0U);
    parts.backlog.retry_soon(1);
    parts.backlog.retry_due([&](std::uint32_t operation) {
        parts.operations.release(operation);
        return true;
    });
    EXPECT_EQ(parts.backlog.retry_at(), datagram::never);
}

TEST(BacklogTest, asks_those_first_that_were_not_asked_last_time) {
    RouterSettings settings = small_settings();
    settings.executions_max = retries_per_poll_max + 1;
    LowerParts parts(true, settings);
    for (std::uint32_t i = 0; i <= retries_per_poll_max; ++i) {
        parts.backlog.park(take_for(parts, 0, 2ULL * i), 0);
    }
    std::vector<std::uint64_t> asked;
    const auto refuse = [&](std::uint32_t operation) {
        asked.push_back(parts.operations[operation].token);
        return false;
    };
    parts.activity.set_now(parts.backlog.retry_at());
    parts.backlog.retry_due(refuse);
    EXPECT_EQ(asked.size(), retries_per_poll_max);
    parts.activity.set_now(parts.backlog.retry_at());
    parts.backlog.retry_due(refuse);
    ASSERT_GT(asked.size(), retries_per_poll_max);
    EXPECT_EQ(asked[retries_per_poll_max], 2ULL * retries_per_poll_max);
}

TEST(BacklogTest, keeps_bytes_for_a_process_up_to_the_maximum) {
    LowerParts parts;
    EXPECT_TRUE(parts.backlog.may_keep(0, 1000));
    EXPECT_FALSE(parts.backlog.may_keep(0, 1001));
    parts.backlog.count_kept(0, 600);
    EXPECT_FALSE(parts.backlog.may_keep(0, 401));
    EXPECT_TRUE(parts.backlog.may_keep(1, 1000));
    parts.backlog.count_given_up(0, 600);
    EXPECT_TRUE(parts.backlog.may_keep(0, 1000));
}

TEST(BacklogTest, drops_the_work_for_a_severed_node_and_notifies_its_initiator) {
    LowerParts parts;
    ASSERT_NE(parts.enter_get(2), no_index);
    ASSERT_NE(parts.enter_get(4), no_index);
    parts.backlog.enqueue(take_for(parts, 0, 2));
    RouterPeer& gone = parts.nodes.peer(1);
    (void)parts.nodes.note_severed(1);
    parts.backlog.abandon_all(gone);
    EXPECT_EQ(parts.told.ended.size(), 1U);
    parts.backlog.enqueue(take_for(parts, 0, 4));
    EXPECT_EQ(parts.told.ended.size(), 2U);
    EXPECT_TRUE(gone.flows.is_empty());
    EXPECT_EQ(parts.operations.in_use(), 0U);
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
