// SPDX-License-Identifier: BSD-3-Clause
// An end of a pipe is killed, or stopped for a while, before any access to the memory of the ring
// or of a slot: see ring_kill_test.cpp.
#include <csignal>
#include <gtest/gtest.h>

#include "pipe_memory.hpp"
#include "stepped_path.hpp"
#include "support/scoped_watchdog.hpp"
#include "support/struck_child.hpp"

namespace acp::message {
namespace {

constexpr std::uint64_t records = 24;
constexpr RingKey first_key{1};
constexpr RingKey second_key{2};

using test::StruckChild;
using Sender = PipingSender<SteppedPath>;

// The words that both processes share beside the pipe.
struct Board {
    SteppedPath::PeerBell receiver_bell;
    SteppedPath::PeerBell sender_bell;
    std::atomic<std::uint64_t> sent;
    std::atomic<std::uint64_t> received;
};

struct Scene {
    Scene() { (void)receiver.open(first_key); }

    [[nodiscard]] SteppedPath path(SteppedPath::PeerBell& peer) const {
        return {pages.ring.data(), peer, SteppedPath::Fence::by_each};
    }

    [[nodiscard]] Sender sender(RingKey key) const {
        return {path(board->receiver_bell), pages, key};
    }

    // Sends records, as many as there is room for.
    void send_some(Sender& sender) const {
        for (std::uint64_t number = board->sent.load(); number < records; ++number) {
            bool is_wake_due = false;
            if (!sender.send(number, copy_in_steps, is_wake_due)) return;
            board->sent.store(number + 1);
        }
    }

    // Receives all records, twice with recover() in between, as a receiver does after its sender's
    // death. Returns "" or the error.
    std::string receive_some() {
        for (int look = 0; look < 2; ++look) {
            for (;;) {
                ReceivedRecord found = receiver.receive();
                if (found.data == nullptr) break;
                const std::uint64_t number = board->received.load();
                const std::string wrong = check_piped(pages, number, found);
                if (!wrong.empty()) return "record " + std::to_string(number) + ": " + wrong;
                (void)release_piped(receiver);
                board->received.store(number + 1);
            }
            receiver.recover();
        }
        return "";
    }

    // Continues to send and receive until all records have arrived.
    void expect_all_arrives(Sender& sender, const std::string& when) {
        while (board->received.load() < records && !testing::Test::HasFailure()) {
            const std::uint64_t before = board->received.load();
            send_some(sender);
            EXPECT_EQ(receive_some(), "") << when;
            sender.ring.serve();
            EXPECT_LT(before, board->received.load()) << when << ": nothing moves";
        }
        EXPECT_EQ(board->sent.load(), records) << when;
    }

    // Expects the records that were sent, or one more: the record at which the sender was struck
    // may have arrived.
    void expect_what_was_sent(const std::string& when) {
        EXPECT_EQ(receive_some(), "") << when;
        const std::uint64_t sent = board->sent.load();
        const std::uint64_t received = board->received.load();
        EXPECT_TRUE(received == sent || received == sent + 1) << when;
    }

    PipePages pages;
    SharedPages board_pages{sizeof(Board)};
    Board* board = new (board_pages.data()) Board;
    RingReceiver<SteppedPath> receiver{path(board->sender_bell), pages.shape, first_key};
};

// A scene whose victim sends.
struct SenderScene : Scene {
    void act() const {
        Sender sending = sender(first_key);
        send_some(sending);
    }
};

// A scene whose victim receives records that were sent before.
struct ReceiverScene : Scene {
    ReceiverScene() { send_some(sending); }

    void act() { EXPECT_EQ(receive_some(), ""); }

    Sender sending = sender(first_key);
};

TEST(PipeKill, of_a_sender_before_any_access_leaves_whole_pieces_and_a_usable_ring) {
    const test::ScopedWatchdog watchdog("a sender that is killed");
    const auto check = [](SenderScene& scene, const StruckChild& child) {
        scene.expect_what_was_sent(child.when());
        scene.board->sent.store(scene.board->received.load());
        (void)scene.receiver.open(second_key);
        Sender successor = scene.sender(second_key);
        scene.expect_all_arrives(successor, child.when());
    };
    EXPECT_GT(test::strike_everywhere<SenderScene>({SIGKILL, 1, stride}, check), 30U);
}

TEST(PipeKill, a_sender_that_is_stopped_before_any_access_loses_and_doubles_nothing) {
    const test::ScopedWatchdog watchdog("a sender that is stopped");
    const auto check = [](SenderScene& scene, StruckChild& child) {
        scene.expect_what_was_sent(child.when());
        child.go_on();
        EXPECT_EQ(scene.receive_some(), "") << child.when();
        EXPECT_EQ(scene.board->received.load(), scene.board->sent.load()) << child.when();
    };
    EXPECT_GT(test::strike_everywhere<SenderScene>({SIGSTOP, 1, stride}, check), 30U);
}

TEST(PipeKill, a_sender_outlives_a_receiver_killed_before_any_access) {
    const test::ScopedWatchdog watchdog("a receiver that is killed");
    const auto check = [](ReceiverScene& scene, const StruckChild& child) {
        scene.send_some(scene.sending);
        scene.sending.ring.serve();
        scene.board->sent.store(scene.board->received.load());
        (void)scene.receiver.open(second_key);
        Sender anew = scene.sender(second_key);
        scene.expect_all_arrives(anew, child.when());
    };
    EXPECT_GT(test::strike_everywhere<ReceiverScene>({SIGKILL, 1, stride}, check), 30U);
}

TEST(PipeKill, a_receiver_that_is_stopped_before_any_access_loses_and_doubles_nothing) {
    const test::ScopedWatchdog watchdog("a receiver that is stopped");
    const auto check = [](ReceiverScene& scene, StruckChild& child) {
        const std::uint64_t sent = scene.board->sent.load();
        scene.send_some(scene.sending);
        scene.sending.ring.serve();
        child.go_on();
        EXPECT_GE(scene.board->received.load(), sent) << child.when();
        EXPECT_LE(scene.board->received.load(), scene.board->sent.load()) << child.when();
    };
    EXPECT_GT(test::strike_everywhere<ReceiverScene>({SIGSTOP, 1, stride}, check), 30U);
}

}  // namespace
}  // namespace acp::message
