// SPDX-License-Identifier: BSD-3-Clause
// An end of a ring is killed, or stopped for a while, before any access to the ring's memory: the
// other end does not see half a record, gets all records that were sent, and continues with a
// successor.
#include <csignal>
#include <gtest/gtest.h>

#include "ring_memory.hpp"
#include "stepped_path.hpp"
#include "support/scoped_watchdog.hpp"
#include "support/struck_child.hpp"

namespace acp::message {
namespace {

using test::StruckChild;

constexpr std::uint64_t records = 40;
constexpr RingKey first_key{1};
constexpr RingKey second_key{2};

// The words that both processes share: the ring, the bells, and the progress of each of the two.
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

    // Sends records, as many as there is room for, alternately by copies and in place.
    template <typename Sender>
    void send_some(Sender& sender, std::uint64_t end) const {
        for (std::uint64_t number = board->sent.load(); number < end; ++number) {
            if (!send_record(sender, {number, bytes_max}, number % 2 == 0, bytes_max)) return;
            board->sent.store(number + 1);
        }
    }

    // Receives all records, twice with recover() in between, as a receiver does after its sender's
    // death. Returns "" or the error.
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

    // Continues to send and receive until all records have arrived.
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

// A scene whose victim sends.
struct SenderScene : Scene {
    void act() const {
        RingSender<SteppedPath> sender(path(board->receiver_bell), shape, first_key);
        send_some(sender, records);
    }

    // Expects all records before the one at which the sender was struck; that one may have arrived.
    void expect_received_but_last(const std::string& when) {
        ASSERT_EQ(receive_all(receiver), "") << when;
        const std::uint64_t sent = board->sent.load();
        const std::uint64_t received = board->received.load();
        ASSERT_TRUE(received == sent || received == sent + 1) << when;
    }
};

// A scene whose victim receives records that were sent before.
struct ReceiverScene : Scene {
    ReceiverScene() { send_some(sender, records); }

    void act() { EXPECT_EQ(receive_all(receiver), ""); }

    RingSender<SteppedPath> sender{path(board->receiver_bell), shape, first_key};
};

// A scene whose victim also opens the ring again.
struct OpenerScene : ReceiverScene {
    void act() {
        ReceiverScene::act();
        (void)receiver.open(first_key);
    }
};

TEST(RingKill, of_a_sender_before_any_access_leaves_whole_records_and_a_usable_ring) {
    const test::ScopedWatchdog watchdog("a sender that is killed");
    const auto check = [](SenderScene& scene, const StruckChild& child) {
        scene.expect_received_but_last(child.when());
        // Its successor begins with the record that did not arrive.
        scene.board->sent.store(scene.board->received.load());
        (void)scene.receiver.open(second_key);
        RingSender<SteppedPath> successor(scene.path(scene.board->receiver_bell), scene.shape,
                                          second_key);
        scene.expect_all_arrives(successor, child.when());
    };
    EXPECT_GT(test::strike_everywhere<SenderScene>({SIGKILL, 1, stride}, check), 30U);
}

TEST(RingKill, a_sender_that_is_stopped_before_any_access_loses_and_doubles_nothing) {
    const test::ScopedWatchdog watchdog("a sender that is stopped");
    const auto check = [](SenderScene& scene, StruckChild& child) {
        scene.expect_received_but_last(child.when());
        child.go_on();
        ASSERT_EQ(scene.receive_all(scene.receiver), "") << child.when();
        ASSERT_EQ(scene.board->received.load(), scene.board->sent.load()) << child.when();
    };
    EXPECT_GT(test::strike_everywhere<SenderScene>({SIGSTOP, 1, stride}, check), 30U);
}

TEST(RingKill, a_sender_outlives_a_receiver_killed_before_any_access) {
    const test::ScopedWatchdog watchdog("a receiver that is killed");
    const auto check = [](OpenerScene& scene, const StruckChild& child) {
        scene.send_some(scene.sender, records);
        scene.sender.serve();
        // Another receiver opens the ring; the record that was received last and those after it are
        // sent again.
        scene.board->sent.store(scene.board->received.load());
        (void)scene.receiver.open(second_key);
        RingSender<SteppedPath> anew(scene.path(scene.board->receiver_bell), scene.shape,
                                     second_key);
        scene.expect_all_arrives(anew, child.when());
    };
    EXPECT_GT(test::strike_everywhere<OpenerScene>({SIGKILL, 1, stride}, check), 30U);
}

TEST(RingKill, a_receiver_that_is_stopped_before_any_access_loses_and_doubles_nothing) {
    const test::ScopedWatchdog watchdog("a receiver that is stopped");
    const auto check = [](ReceiverScene& scene, StruckChild& child) {
        const std::uint64_t sent = scene.board->sent.load();
        scene.send_some(scene.sender, records);
        scene.sender.serve();
        child.go_on();
        // It has received all records that were sent before it was stopped, and some of those that
        // were sent while it was stopped.
        ASSERT_GE(scene.board->received.load(), sent) << child.when();
        ASSERT_LE(scene.board->received.load(), scene.board->sent.load()) << child.when();
    };
    EXPECT_GT(test::strike_everywhere<ReceiverScene>({SIGSTOP, 1, stride}, check), 30U);
}

}  // namespace
}  // namespace acp::message
