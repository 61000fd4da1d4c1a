// SPDX-License-Identifier: BSD-3-Clause
// Waits for a message and for room: what ends each, and with which outcome. Sleepers are threads
// that only the tested event can wake: a wait without limit that misses it hangs, and the watchdog
// ends the test.
#include "pm/waits.hpp"

#include <thread>

#include "unit/pm/pm_node.hpp"

namespace acp::pm::test {
namespace {

using base::Code;

constexpr std::int64_t forever = -1;
constexpr std::int64_t a_moment = 1'000'000;

class WaitsTest : public testing::Test {
protected:
    // Fills the way from rank 0 to rank 1.
    std::uint64_t fill() {
        std::uint64_t count = 0;
        while (send(*all_[0], 1, text_of(0, count))) ++count;
        return count;
    }

    [[nodiscard]] RoomFound wait_for_room_at_1(std::int64_t timeout_ns) {
        return wait_for_room(*all_[0], 1, message_bytes_max, timeout_ns);
    }

    // Whether a waiting thread of the rank has announced its sleep since the last ring.
    static bool is_asleep(const PmNode& node, std::uint32_t rank) {
        auto& bell = node.ranks.segment().slot(rank).door.waiter_bell;
        return (bell.word().load(std::memory_order_seq_cst) & 1U) != 0;
    }

    static void await_sleep(const PmNode& node, std::uint32_t rank) {
        while (!is_asleep(node, rank)) std::this_thread::yield();
    }

    PmNode node_{3};
    std::vector<Context*> all_ = node_.open_all();
};

TEST_F(WaitsTest, a_wait_without_a_message_ends_at_its_time) {
    EXPECT_FALSE(wait_for_message(*all_[1], 0));
    EXPECT_FALSE(wait_for_message(*all_[1], a_moment));
    ASSERT_TRUE(send(*all_[0], 1, "late"));
    EXPECT_TRUE(wait_for_message(*all_[1], forever));
    EXPECT_TRUE(wait_for_message(*all_[1], 0)) << "the wait has taken the message";
    EXPECT_EQ(next(*all_[1]).text, "late");
    EXPECT_FALSE(wait_for_message(*all_[1], 0));
}

TEST_F(WaitsTest, a_held_message_ends_a_wait_at_once) {
    ASSERT_TRUE(send(*all_[0], 1, "held"));
    while (all_[1]->receive().data == nullptr) {
    }
    EXPECT_TRUE(wait_for_message(*all_[1], forever));
    all_[1]->release();
    EXPECT_FALSE(wait_for_message(*all_[1], 0));
}

TEST_F(WaitsTest, each_message_wakes_a_sleeper) {
    constexpr std::uint64_t count = 200;
    std::thread receiver([&] {
        for (std::uint64_t number = 0; number < count; ++number) {
            EXPECT_TRUE(wait_for_message(*all_[1], forever));
            EXPECT_EQ(next(*all_[1]).text, text_of(0, number));
            while (!send(*all_[1], 0, "taken")) {
            }
        }
    });
    for (std::uint64_t number = 0; number < count; ++number) {
        while (!send(*all_[0], 1, text_of(0, number))) {
        }
        EXPECT_TRUE(wait_for_message(*all_[0], forever));
        EXPECT_EQ(next(*all_[0]).text, "taken");
    }
    receiver.join();
}

TEST_F(WaitsTest, a_death_ends_a_wait_for_messages_until_it_is_reported) {
    std::thread receiver([&] { EXPECT_TRUE(wait_for_message(*all_[1], forever)); });
    await_sleep(node_, 1);
    node_.ranks.die(2);
    receiver.join();
    EXPECT_TRUE(wait_for_message(*all_[1], 0));
    EXPECT_EQ(all_[1]->take_gone(), 2U);
    EXPECT_FALSE(wait_for_message(*all_[1], a_moment));
}

TEST_F(WaitsTest, room_is_reserved_once_by_a_wait) {
    const RoomFound found = wait_for_room_at_1(0);
    ASSERT_EQ(found.outcome, RoomWait::room);
    ASSERT_NE(found.room, nullptr);
    EXPECT_TRUE(all_[0]->has_reserved());
    EXPECT_EQ(all_[0]->reserved_bytes(), message_bytes_max);
    std::memcpy(found.room, "by a wait", 9);
    all_[0]->truncate(9);
    all_[0]->send();
    EXPECT_EQ(next(*all_[1]).text, "by a wait");
}

TEST_F(WaitsTest, a_wait_for_room_ends_at_its_time_and_reserves_nothing) {
    (void)fill();
    for (const std::int64_t timeout_ns : {std::int64_t{0}, a_moment}) {
        const RoomFound found = wait_for_room_at_1(timeout_ns);
        EXPECT_EQ(found.outcome, RoomWait::timeout);
        EXPECT_EQ(found.room, nullptr);
        EXPECT_FALSE(all_[0]->has_reserved());
    }
}

TEST_F(WaitsTest, a_receiver_wakes_a_sender_without_room) {
    const std::uint64_t before = fill();
    constexpr std::uint64_t more = 50;
    std::thread sender([&] {
        for (std::uint64_t number = before; number < before + more; ++number) {
            const std::string text = text_of(0, number);
            const RoomFound found = wait_for_room(*all_[0], 1, text.size(), forever);
            ASSERT_EQ(found.outcome, RoomWait::room);
            std::memcpy(found.room, text.data(), text.size());
            all_[0]->send();
        }
    });
    for (std::uint64_t number = 0; number < before + more; ++number) {
        EXPECT_TRUE(wait_for_message(*all_[1], forever));
        EXPECT_EQ(next(*all_[1]).text, text_of(0, number));
    }
    sender.join();
}

TEST_F(WaitsTest, a_message_ends_a_wait_for_room) {
    (void)fill();
    ASSERT_TRUE(send(*all_[2], 0, "first"));
    RoomFound found = wait_for_room_at_1(forever);
    EXPECT_EQ(found.outcome, RoomWait::message);
    EXPECT_EQ(found.room, nullptr);
    while (all_[0]->receive().data == nullptr) {
    }
    found = wait_for_room_at_1(0);
    EXPECT_EQ(found.outcome, RoomWait::timeout) << "a held message is no new one";
    all_[0]->release();
    std::thread sender([&] { EXPECT_EQ(wait_for_room_at_1(forever).outcome, RoomWait::message); });
    while (!send(*all_[2], 0, "second")) {
    }
    sender.join();
    EXPECT_EQ(next(*all_[0]).text, "second");
}

TEST_F(WaitsTest, a_closed_or_dead_destination_ends_a_wait_for_room_with_its_error) {
    (void)fill();
    std::thread sender([&] {
        const RoomFound found = wait_for_room_at_1(forever);
        EXPECT_EQ(found.outcome, RoomWait::never);
        EXPECT_EQ(found.why.code(), Code::stale) << found.why.message();
    });
    await_sleep(node_, 0);
    all_[1]->close();
    // a sender that is not rung looks again by itself, but only after seconds
    EXPECT_FALSE(is_asleep(node_, 0)) << "the sender was not woken";
    sender.join();
    std::thread other([&] {
        const RoomFound found = wait_for_room(*all_[2], 1, 8, forever);
        EXPECT_EQ(found.outcome, RoomWait::never);
    });
    node_.ranks.die(1);
    other.join();
    const RoomFound found = wait_for_room(*all_[2], 1, 8, forever);
    EXPECT_EQ(found.outcome, RoomWait::never);
    EXPECT_EQ(found.why.code(), Code::peer);
    EXPECT_NE(found.why.message().find("signal 9"), std::string_view::npos) << found.why.message();
}

TEST_F(WaitsTest, opening_a_context_wakes_those_that_wait_for_room_there) {
    PmNode node(2);
    Context& sender = node.open(0);
    std::thread waiting([&] {
        const RoomFound found = wait_for_room(sender, 1, 5, forever);
        ASSERT_EQ(found.outcome, RoomWait::room);
        std::memcpy(found.room, "early", 5);
        sender.send();
    });
    await_sleep(node, 0);
    Context& receiver = node.open(1);
    EXPECT_FALSE(is_asleep(node, 0)) << "the sender was not woken";
    EXPECT_TRUE(wait_for_message(receiver, forever));
    EXPECT_EQ(next(receiver).text, "early");
    waiting.join();
}

}  // namespace
}  // namespace acp::pm::test
