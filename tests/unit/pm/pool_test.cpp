// SPDX-License-Identifier: BSD-3-Clause
// Pools: messages of any number of senders arrive in order, whichever of them have leases, and no
// sender has to wait for an idle lease holder.
#include <gtest/gtest.h>
#include <set>

#include "support/effort.hpp"
#include "test_node.hpp"

namespace acp::pm {
namespace {

static_assert(pool_bytes <= 4 << 20, "a context of any number of processes takes at most 4 MiB");

using Node = TestNode<>;

TEST(Pool, brings_messages_of_few_senders_in_the_order_sent) {
    Node node(4);
    Exchange exchange(node);
    test::Random random(1);
    for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
        (void)exchange.send(static_cast<std::uint32_t>(random.below(4)));
        if (random.chance(50)) (void)exchange.receive();
        if (random.chance(2)) node.tend();
    }
    exchange.receive_all(3);
    for (std::uint32_t from = 0; from < 4; ++from) EXPECT_GT(exchange.received(from), 2000U);
}

TEST(Pool, lends_its_rings_in_turns_to_more_senders_than_it_has_rings) {
    for (const std::uint32_t count : {65U, 100U, 1000U}) {
        Node node(count);
        Exchange exchange(node);
        test::Random random(count);
        const std::uint64_t wanted = test::effort(std::uint64_t{20}, std::uint64_t{5}) * count;
        for (std::uint64_t sends = 0; sends < wanted && !HasFailure();) {
            sends += exchange.send(static_cast<std::uint32_t>(random.below(count))) ? 1U : 0U;
            if (random.chance(90)) (void)exchange.receive();
            if (random.chance(5)) node.tend();
        }
        exchange.receive_all(3);
        std::uint32_t heard = 0;
        for (std::uint32_t from = 0; from < count; ++from)
            heard += exchange.received(from) > 0 ? 1U : 0U;
        EXPECT_GT(heard, count * 9 / 10) << "of " << count;
    }
}

// A sender that sleeps until then must be woken.
TEST(Pool, rings_when_a_lease_that_was_wanted_is_free) {
    Node node(65);
    Exchange exchange(node);
    for (std::uint32_t from = 0; from < 64; ++from) EXPECT_TRUE(exchange.send(from));
    EXPECT_FALSE(exchange.send(64)) << "there are 64 leases";
    node.tend();
    EXPECT_EQ(node.host(0).rings, 0U) << "nothing was received, so no lease can be taken back";
    while (exchange.receive()) {
    }
    node.tend();
    EXPECT_EQ(node.host(0).rings, 1U);
    EXPECT_TRUE(exchange.send(64));
    node.tend();
    EXPECT_EQ(node.host(0).rings, 1U);
    // A lease became free before the receiver saw the request for one.
    node.word(offsetof(sync::LeaseDesk<>, wanted)) = 1;
    node.tend();
    EXPECT_EQ(node.host(0).rings, 2U);
}

// Each sender has one message to send; lease holders become idle then.
TEST(Pool, gives_the_leases_of_silent_senders_to_others) {
    Node node(1000);
    Exchange exchange(node);
    std::set<std::uint32_t> waiting;
    for (std::uint32_t from = 0; from < node.count(); ++from) waiting.insert(from);
    for (int round = 0; !waiting.empty(); ++round) {
        ASSERT_LT(round, 100) << waiting.size() << " senders found no room";
        std::erase_if(waiting, [&](std::uint32_t from) { return exchange.send(from); });
        while (exchange.receive()) {
        }
        node.tend();
    }
    EXPECT_EQ(exchange.under_way(), 0U);
}

TEST(Pool, does_not_take_back_what_holds_a_message_or_is_being_written) {
    Node node(200);
    char* const room = node.outlet(1).reserve(8);
    ASSERT_NE(room, nullptr);
    Exchange exchange(node);
    ASSERT_TRUE(exchange.send(2));
    const auto held = node.pool().receive();
    ASSERT_NE(held.data, nullptr);
    // All other senders request a lease, again and again.
    for (int round = 0; round < 20; ++round) {
        for (std::uint32_t from = 3; from < node.count(); ++from) {
            if (node.outlet(from).reserve(8) != nullptr) node.outlet(from).cancel();
        }
        node.tend();
    }
    EXPECT_EQ(NumberedMessage(2, 0, message_bytes_max).check(held), "");
    node.pool().release();
    std::memcpy(room, "12345678", 8);
    node.outlet(1).commit(8);
    const auto found = node.pool().receive();
    ASSERT_NE(found.data, nullptr);
    EXPECT_EQ(found.source, 1U);
    EXPECT_EQ(std::string(found.data, found.bytes), "12345678");
    node.pool().release();
}

TEST(Pool, that_is_used_anew_drops_what_was_sent_before) {
    Node node(100);
    Exchange before(node);
    // This sender is in the middle of a write all the time.
    char* const room = node.outlet(99).reserve(8);
    for (std::uint32_t from = 0; from < 40; ++from) ASSERT_TRUE(before.send(from));
    node.pool().close();
    EXPECT_EQ(node.outlet(3).reserve(8), nullptr) << "closed";
    EXPECT_EQ(node.outlet(60).reserve(8), nullptr) << "closed";
    node.pool().open();
    EXPECT_EQ(node.pool().receive().data, nullptr);
    std::memset(room, 1, 8);
    node.outlet(99).commit(8);
    node.tend();
    EXPECT_EQ(node.pool().receive().data, nullptr);
    Exchange after(node);
    for (std::uint32_t from = 0; from < 60; ++from) ASSERT_TRUE(after.send(from)) << from;
    after.receive_all(3);
}

TEST(Pool, that_is_opened_again_lends_the_ring_of_a_sender_that_died_writing) {
    Node node(100);
    ASSERT_NE(node.outlet(99).reserve(8), nullptr);
    node.process(99).is_gone.store(1);
    node.pool().close();
    node.pool().open();
    Exchange after(node);
    for (std::uint32_t from = 0; from < 64; ++from) ASSERT_TRUE(after.send(from)) << from;
    after.receive_all(3);
}

TEST(Pool, that_is_closed_leaves_no_sender_unsettled) {
    Node node(2);
    Exchange before(node);
    ASSERT_TRUE(before.send(1));
    EXPECT_FALSE(node.outlet(1).is_settled());
    node.pool().close();
    EXPECT_TRUE(node.outlet(1).is_settled());
}

TEST(Pool, of_a_dead_sender_gives_all_that_was_sent_and_lends_its_ring_again) {
    Node node(100);
    Exchange exchange(node);
    for (std::uint32_t from = 0; from < 64; ++from) {
        ASSERT_TRUE(exchange.send(from));
        ASSERT_TRUE(exchange.send(from));
        node.process(from).is_gone.store(1);
    }
    EXPECT_FALSE(exchange.send(70)) << "all rings are in use";
    exchange.receive_all(3);
    node.tend();
    for (std::uint32_t from = 64; from < 100; ++from) ASSERT_TRUE(exchange.send(from)) << from;
    exchange.receive_all(3);
}

// The gateway writes for a sender on another node, possibly after the sender's death.
TEST(Pool, of_a_dead_sender_waits_for_the_gateway_that_writes_for_it) {
    Node node(3);
    Exchange exchange(node);
    ASSERT_TRUE(exchange.send(1));
    exchange.receive_all(3);
    const auto& state = node.word(lease_offset(1));
    const std::uint64_t held = state;
    node.process(2).note.begin(place_of(0, 1));
    node.process(1).is_gone.store(1);
    node.tend();
    EXPECT_EQ(state, held);
    node.process(2).note.end();
    node.tend();
    EXPECT_EQ(sync::LeaseState(state, 1).kind(), sync::LeaseKind::free);
}

TEST(Pool, receives_from_a_sender_that_it_does_not_watch) {
    Node node(30);
    Exchange exchange(node);
    test::Random random(5);
    for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
        ASSERT_TRUE(exchange.send(static_cast<std::uint32_t>(random.below(30))));
        ASSERT_TRUE(exchange.receive()) << "without tend()";
    }
}

TEST(Pool, favours_no_sender) {
    Node node(4);
    Exchange exchange(node, 8);
    for (int i = 0; i < 50; ++i)
        for (std::uint32_t from = 0; from < 4; ++from) ASSERT_TRUE(exchange.send(from));
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(exchange.receive());
    for (std::uint32_t from = 0; from < 4; ++from) EXPECT_GE(exchange.received(from), 15U) << from;
}

TEST(Pool, notifies_a_sender_that_all_was_received) {
    Node node(2);
    Exchange exchange(node);
    ASSERT_TRUE(exchange.send(1));
    EXPECT_FALSE(node.outlet(1).is_settled());
    exchange.receive_all(1);
    node.tend();
    EXPECT_TRUE(node.outlet(1).is_settled());
}

}  // namespace
}  // namespace acp::pm
