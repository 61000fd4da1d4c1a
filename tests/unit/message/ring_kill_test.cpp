// SPDX-License-Identifier: BSD-3-Clause
// An end of a ring is killed, or stopped for a while, before any access to the ring's memory: the other end never sees half a record,
// gets all that was sent, and goes on with a successor.
#include <csignal>
#include <gtest/gtest.h>

#include "ring_memory.hpp"
#include "struck_child.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::message {
namespace {

constexpr std::uint64_t records = 40;
constexpr RingKey first_key{1};
constexpr RingKey second_key{2};

// What both processes share: the ring, the bells, and how far each of the two has come.
struct Board {
    SteppedPath::PeerBell receiver_bell;
    SteppedPath::PeerBell sender_bell;
    std::atomic<std::uint64_t> sent;
    std::atomic<std::uint64_t> received;
};

struct Scene {
    Scene() { (void)receiver.open(first_key); }

    [[nodiscard]] SteppedPath path(SteppedPath::PeerBell& peer) const {
        return {pages.data(), peer, SteppedPath::Fence::by_each};
    }

    // Sends from a record on, as many as find room, by copies and in place in turns.
    template <typename Sender>
    void send_some(Sender& sender, std::uint64_t end) const {
        for (std::uint64_t number = board->sent.load(); number < end; ++number) {
            if (!send_record(sender, {number, bytes_max}, number % 2 == 0, bytes_max)) return;
            board->sent.store(number + 1);
        }
    }

    // Receives what is there, and looks twice as a receiver does when its sender is dead. "" or what is wrong.
    template <typename Receiver>
    std::string receive_all(Receiver& from) const {
        for (int look = 0; look < 2; ++look) {
            for (;;) {
                const ReceivedRecord found = from.receive();
                if (found.data == nullptr) break;
                const std::uint64_t number = board->received.load();
                const std::string wrong = NumberedRecord(number, bytes_max).check(found);
                if (!wrong.empty()) return "record " + std::to_string(number) + ": " + wrong;
                (void)from.release();
                board->received.store(number + 1);
            }
            from.recover();
        }
        return "";
    }

    // A sender that lives on sends everything, a receiver that lives on gets everything.
    void expect_all_arrives(RingSender<SteppedPath>& sender, const std::string& when) {
        while (board->received.load() < records && !testing::Test::HasFailure()) {
            const std::uint64_t before = board->received.load();
            send_some(sender, records);
            EXPECT_EQ(receive_all(receiver), "") << when;
            sender.serve();
            EXPECT_LT(before, board->received.load()) << when << ": nothing moves";
        }
        EXPECT_EQ(board->sent.load(), records) << when;
    }

    RingShape shape{1024};
    std::uint64_t bytes_max = shape.payload_bytes_max();
    SharedPages pages{shape.bytes()};
    SharedPages board_pages{sizeof(Board)};
    Board* board = new (board_pages.data()) Board;
    RingReceiver<SteppedPath> receiver{path(board->sender_bell), shape, first_key};
};

void send_as_child(const Scene& scene) {
    RingSender<SteppedPath> sender(scene.path(scene.board->receiver_bell), scene.shape, first_key);
    scene.send_some(sender, records);
}

TEST(RingKill, of_a_sender_before_any_access_leaves_whole_records_and_a_ring_that_goes_on) {
    const test::ScopedWatchdog watchdog("a sender that is killed");
    std::uint64_t at = 1;
    for (bool is_hit = true; is_hit && !HasFailure(); at += stride) {
        Scene scene;
        pid_t child = 0;
        is_hit = child_hit(at, SIGKILL, child, [&] { send_as_child(scene); });
        const std::string when = "killed before access " + std::to_string(at);
        ASSERT_EQ(scene.receive_all(scene.receiver), "") << when;
        // The record at which the sender was killed is there or not; those before it are.
        const std::uint64_t sent = scene.board->sent.load();
        const std::uint64_t received = scene.board->received.load();
        ASSERT_TRUE(received == sent || received == sent + 1) << when;
        // Its successor begins with the record that did not arrive.
        scene.board->sent.store(received);
        (void)scene.receiver.open(second_key);
        RingSender<SteppedPath> successor(scene.path(scene.board->receiver_bell), scene.shape,
                                          second_key);
        scene.expect_all_arrives(successor, when);
    }
    EXPECT_GT(at, 30U);
}

TEST(RingKill, a_sender_that_is_stopped_before_any_access_loses_and_doubles_nothing) {
    const test::ScopedWatchdog watchdog("a sender that is stopped");
    std::uint64_t at = 1;
    for (bool is_hit = true; is_hit && !HasFailure(); at += stride) {
        Scene scene;
        pid_t child = 0;
        is_hit = child_hit(at, SIGSTOP, child, [&] { send_as_child(scene); });
        const std::string when = "stopped before access " + std::to_string(at);
        ASSERT_EQ(scene.receive_all(scene.receiver), "") << when;
        const std::uint64_t sent = scene.board->sent.load();
        const std::uint64_t received = scene.board->received.load();
        ASSERT_TRUE(received == sent || received == sent + 1) << when;
        if (is_hit) let_go_on(child, when);
        ASSERT_EQ(scene.receive_all(scene.receiver), "") << when;
        ASSERT_EQ(scene.board->received.load(), scene.board->sent.load()) << when;
    }
    EXPECT_GT(at, 30U);
}

// The child receives what the parent has sent.
TEST(RingKill, a_sender_outlives_a_receiver_killed_before_any_access) {
    const test::ScopedWatchdog watchdog("a receiver that is killed");
    std::uint64_t at = 1;
    for (bool is_hit = true; is_hit && !HasFailure(); at += stride) {
        Scene scene;
        RingSender<SteppedPath> sender(scene.path(scene.board->receiver_bell), scene.shape,
                                       first_key);
        scene.send_some(sender, records);
        pid_t child = 0;
        is_hit = child_hit(at, SIGKILL, child, [&] {
            EXPECT_EQ(scene.receive_all(scene.receiver), "");
            (void)scene.receiver.open(first_key);
        });
        const std::string when = "killed before access " + std::to_string(at);
        scene.send_some(sender, records);
        sender.serve();
        // Another receiver opens the ring; the record that was received last and those after it are sent again.
        scene.board->sent.store(scene.board->received.load());
        (void)scene.receiver.open(second_key);
        RingSender<SteppedPath> anew(scene.path(scene.board->receiver_bell), scene.shape,
                                     second_key);
        scene.expect_all_arrives(anew, when);
    }
    EXPECT_GT(at, 30U);
}

TEST(RingKill, a_receiver_that_is_stopped_before_any_access_loses_and_doubles_nothing) {
    const test::ScopedWatchdog watchdog("a receiver that is stopped");
    std::uint64_t at = 1;
    for (bool is_hit = true; is_hit && !HasFailure(); at += stride) {
        Scene scene;
        RingSender<SteppedPath> sender(scene.path(scene.board->receiver_bell), scene.shape,
                                       first_key);
        scene.send_some(sender, records);
        pid_t child = 0;
        is_hit = child_hit(at, SIGSTOP, child,
                           [&] { EXPECT_EQ(scene.receive_all(scene.receiver), ""); });
        const std::string when = "stopped before access " + std::to_string(at);
        const std::uint64_t sent = scene.board->sent.load();
        scene.send_some(sender, records);
        sender.serve();
        if (is_hit) let_go_on(child, when);
        // What was sent before it was stopped, and of what was sent meanwhile as much as it found before it ended.
        ASSERT_GE(scene.board->received.load(), sent) << when;
        ASSERT_LE(scene.board->received.load(), scene.board->sent.load()) << when;
    }
    EXPECT_GT(at, 30U);
}

}  // namespace
}  // namespace acp::message
