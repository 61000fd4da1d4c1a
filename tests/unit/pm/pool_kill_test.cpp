// SPDX-License-Identifier: BSD-3-Clause
// A sender is killed or stopped before each access of a send, with and without a lease: no other
// sender waits for it, the messages that it sent arrive, and its ring is leased again after its
// death.
#include <csignal>
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"
#include "support/stepped_atomic.hpp"
#include "support/struck_child.hpp"
#include "test_node.hpp"

namespace acp::pm {
namespace {

using test::StruckChild;

constexpr std::uint32_t senders = 80;  // more than there are rings
constexpr std::uint32_t victim = 1;
constexpr std::uint64_t stride = test::effort(std::uint64_t{1}, std::uint64_t{7});

using Node = TestNode<test::SteppedAtomic>;

// The victim's number of sent messages, and all messages that the others send and receive.
struct Scene {
    // Runs in the child: sends two messages.
    void act() {
        for (int i = 0; i < 2; ++i) {
            const std::uint64_t number = sent().load();
            char* const room = node.outlet(victim).reserve(bytes);
            ASSERT_NE(room, nullptr);
            std::memset(room, static_cast<int>('a' + number), bytes);
            node.outlet(victim).commit(bytes);
            sent().store(number + 1);
        }
    }

    [[nodiscard]] std::atomic<std::uint64_t>& sent() {
        return *reinterpret_cast<std::atomic<std::uint64_t>*>(pages.data());
    }

    // All other senders send twice, and every message arrives.
    void expect_others_go_on(const std::string& when) {
        for (int round = 0; round < 2; ++round) {
            for (std::uint32_t from = 2; from < senders; ++from) {
                for (int tends = 0;; ++tends) {
                    char* const room = node.outlet(from).reserve(8);
                    if (room != nullptr) break;
                    ASSERT_LT(tends, 40) << when << ": sender " << from << " waits";
                    receive_all(when);
                    node.tend();
                }
                node.outlet(from).commit(8);
                ++others_sent;
            }
        }
        receive_all(when);
        EXPECT_EQ(others_received, others_sent) << when;
    }

    void receive_all(const std::string& when) {
        for (int looks = 0; looks < 3; ++looks) {
            for (;;) {
                const auto found = node.pool().receive();
                if (found.data == nullptr) break;
                if (found.source == victim) {
                    ASSERT_EQ(found.bytes, bytes) << when;
                    ASSERT_EQ(std::string(found.data, bytes),
                              std::string(bytes, static_cast<char>('a' + received)))
                        << when;
                    ++received;
                } else {
                    ++others_received;
                }
                node.pool().release();
            }
            node.tend();
        }
    }

    // The victim's completed messages have arrived, and perhaps the one in which it was struck.
    void expect_received_but_last(const std::string& when) {
        EXPECT_GE(received, sent().load()) << when;
        EXPECT_LE(received, sent().load() + 1) << when;
    }

    static constexpr std::uint64_t bytes = 100;
    SharedPages pages{64};
    Node node{senders};
    std::uint64_t received = 0;
    std::uint64_t others_sent = 0;
    std::uint64_t others_received = 0;
};

TEST(PoolKill, of_a_sender_before_any_access_leaves_whole_messages_and_a_ring_for_others) {
    const test::ScopedWatchdog watchdog("a sender that is killed");
    const auto check = [](Scene& scene, const StruckChild& child) {
        scene.receive_all(child.when());
        scene.expect_others_go_on(child.when());
        scene.expect_received_but_last(child.when());
        scene.node.process(victim).is_gone.store(1);
        scene.receive_all(child.when());
        for (std::uint32_t index = 0; index < leases; ++index)
            EXPECT_NE(scene.node.pool().holder_of(index), victim) << child.when();
    };
    EXPECT_GT(test::strike_everywhere<Scene>({SIGKILL, 1, stride}, check), 30U);
}

TEST(PoolKill, a_sender_that_is_stopped_before_any_access_delays_no_other_and_loses_nothing) {
    const test::ScopedWatchdog watchdog("a sender that is stopped");
    const auto check = [](Scene& scene, StruckChild& child) {
        scene.receive_all(child.when());
        scene.expect_others_go_on(child.when());
        scene.expect_received_but_last(child.when());
        child.go_on();
        scene.receive_all(child.when());
        EXPECT_EQ(scene.received, 2U) << child.when();
        EXPECT_EQ(scene.sent().load(), 2U) << child.when();
    };
    EXPECT_GT(test::strike_everywhere<Scene>({SIGSTOP, 1, stride}, check), 30U);
}

}  // namespace
}  // namespace acp::pm
