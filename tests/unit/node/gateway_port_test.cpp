// SPDX-License-Identifier: BSD-3-Clause
// Members of several nodes and the gateways between them: meetings, resets and losses over nodes,
// and how a gateway that sleeps is woken. Members are threads of this process.
#include "node/gateway_port.hpp"

#include <algorithm>
#include <mutex>
#include <unistd.h>

#include "node/death.hpp"
#include "node/member.hpp"

#include "unit/node/test_nodes.hpp"

namespace acp::node {
namespace {

using test::Gateways;
using test::make_nodes;

class NodesTest : public testing::Test {
protected:
    void SetUp() override {
        for (Segment& segment : segments_) {
            for (std::uint32_t slot = 0; slot < segment.shape().local_procs; ++slot) {
                members_.push_back(std::make_unique<Member>(segment.share(), slot));
                ASSERT_TRUE(members_.back()->take_slot().is_ok());
            }
        }
    }

    // Runs a body for each member, in threads of their own.   body(process index, member)
    template <typename Body>
    void for_each(Body body) {
        std::vector<std::thread> threads;
        for (std::uint32_t i = 0; i < members_.size(); ++i) {
            threads.emplace_back([&, i] { body(i, *members_[i]); });
        }
        for (std::thread& thread : threads) thread.join();
    }

    std::vector<Segment> segments_ = make_nodes({2, 1, 3});
    std::vector<std::unique_ptr<Member>> members_;
};

TEST_F(NodesTest, no_process_leaves_a_meeting_before_all_of_all_nodes_have_entered) {
    const Gateways gateways(segments_);
    constexpr std::uint32_t rounds = 50;
    std::atomic<std::uint32_t> arrived{0};
    std::atomic<bool> is_early{false};
    for_each([&](std::uint32_t, Member& member) {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            arrived.fetch_add(1, std::memory_order_relaxed);
            ASSERT_TRUE(member.synchronize().is_ok());
            if (arrived.load(std::memory_order_relaxed) < round * members_.size()) {
                is_early.store(true, std::memory_order_relaxed);
            }
        }
    });
    EXPECT_FALSE(is_early.load(std::memory_order_relaxed));
}

TEST_F(NodesTest, ranks_change_places_over_nodes_twice) {
    const Gateways gateways(segments_);
    const std::vector<std::vector<std::uint32_t>> rounds = {{5, 4, 3, 2, 1, 0}, {1, 2, 0, 4, 5, 3}};
    for_each([&](std::uint32_t process, Member& member) {
        for (const auto& wanted : rounds) {
            ASSERT_TRUE(member.agree_on_rank(wanted[process]).is_ok());
            ASSERT_TRUE(member.synchronize().is_ok());
            member.take_rank(wanted[process]);
            ASSERT_TRUE(member.synchronize().is_ok());
            EXPECT_EQ(member.rank(), wanted[process]);
            for (std::uint32_t other = 0; other < members_.size(); ++other) {
                EXPECT_EQ(member.segment().rank_of(other), wanted[other]);
                EXPECT_EQ(member.segment().process_of(wanted[other]), other);
            }
            ASSERT_TRUE(member.synchronize().is_ok());
        }
    });
}

// Processes are late at random, before they add their number and before they read the gathered
// ones: all read the same numbers.
TEST_F(NodesTest, numbers_are_gathered_from_all_processes_also_from_late_ones) {
    const Gateways gateways(segments_);
    constexpr std::uint32_t rounds = 40;
    for_each([&](std::uint32_t process, Member& member) {
        const auto dawdle = [&](std::uint32_t round) {
            const bool is_late = (round + process) % members_.size() == 0;
            for (int i = 0; is_late && i < 200; ++i) std::this_thread::yield();
        };
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            dawdle(round);
            ASSERT_TRUE(member.gather(100 * round + process).is_ok());
            dawdle(round + 1);
            for (std::uint32_t other = 0; other < members_.size(); ++other) {
                EXPECT_EQ(member.gathered(other), 100 * round + other) << "round " << round;
            }
            if (round % 3 == 0) {
                ASSERT_TRUE(member.synchronize().is_ok());
            }
        }
    });
}

// If two processes fail, the one with the lower index is named to all others; nothing is kept per
// process.
TEST_F(NodesTest, a_call_that_fails_in_some_fails_in_all_with_one_verdict) {
    const Gateways gateways(segments_);
    for_each([&](std::uint32_t process, Member& member) {
        for (std::uint32_t round = 0; round < 5; ++round) {
            EXPECT_TRUE(member.conclude({}).is_ok());
            const bool has_failed = process == 2 || process == 4;
            base::Status own;
            if (has_failed)
                own = {base::Code::memory, "none for process " + std::to_string(process)};
            const base::Status status = member.conclude(std::move(own));
            EXPECT_EQ(status.code(), base::Code::memory);
            const std::string words =
                has_failed ? "none for process " + std::to_string(process) : "rank 2 failed (";
            EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
        }
    });
    for (const Segment& segment : segments_) {
        for (std::uint32_t process = 0; process < members_.size(); ++process) {
            EXPECT_EQ(segment.wanted_table()[process].load(std::memory_order_relaxed), 0U);
        }
    }
}

TEST_F(NodesTest, processes_in_different_epochs_fail) {
    const Gateways gateways(segments_);
    for_each([&](std::uint32_t process, Member& member) {
        member.begin_epoch();
        if (process == 3) member.begin_epoch();
        const base::Status status = member.conclude({});
        EXPECT_EQ(status.code(), base::Code::state);
        EXPECT_NE(status.message().find("some ranks are in epoch 1 of the job and some in epoch 2"),
                  std::string::npos)
            << status.message();
    });
}

TEST_F(NodesTest, a_death_ends_a_gathering_for_those_that_wait) {
    GatewayPort port(segments_[0]);
    std::thread gateway([&] {
        while (Barrier::arrivals(segments_[0]).load(std::memory_order_acquire) < 2) {
            std::this_thread::yield();
        }
        port.publish_death(4, {9});
    });
    std::vector<std::thread> threads;
    for (std::uint32_t process = 0; process < 2; ++process) {
        threads.emplace_back([&, process] {
            const base::Status status = members_[process]->gather(process);
            EXPECT_EQ(status.code(), base::Code::peer);
            EXPECT_NE(status.message().find("rank 4 on node 2"), std::string::npos)
                << status.message();
        });
    }
    for (std::thread& thread : threads) thread.join();
    gateway.join();
}

TEST_F(NodesTest, a_rank_asked_for_on_two_nodes_is_refused_everywhere_in_the_same_words) {
    const Gateways gateways(segments_);
    for_each([&](std::uint32_t process, Member& member) {
        const base::Status status = member.agree_on_rank(process == 5 ? 0 : process);
        EXPECT_EQ(status.code(), base::Code::argument);
        EXPECT_EQ(status.message(),
                  "rank 5 asked to become rank 0, and so did rank 0, or one of the two is in "
                  "another collective call; nothing was changed");
        ASSERT_TRUE(member.synchronize().is_ok());
        EXPECT_EQ(member.rank(), process);
    });
}

TEST_F(NodesTest, a_death_on_another_node_ends_the_meetings_here_with_its_name_and_reason) {
    GatewayPort port(segments_[2]);
    std::thread gateway([&] {
        while (Barrier::arrivals(segments_[2]).load(std::memory_order_acquire) < 2) {
            std::this_thread::yield();
        }
        port.publish_death(1, {9});
    });
    std::vector<std::thread> threads;
    for (std::uint32_t process = 3; process < 5; ++process) {
        threads.emplace_back([&, process] {
            for (int round = 0; round < 2; ++round) {
                const base::Status status = members_[process]->synchronize();
                EXPECT_EQ(status.code(), base::Code::peer);
                EXPECT_EQ(status.message(),
                          "the barrier cannot complete: rank 1 on node 0 (10.0.0.0) was killed by "
                          "signal 9 (SIGKILL)");
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    gateway.join();
}

TEST_F(NodesTest, a_lost_node_ends_the_meetings_here) {
    GatewayPort port(segments_[0]);
    port.publish_severed(2, {NodeFate::silent});
    EXPECT_EQ(
        members_[0]->synchronize().message(),
        "the barrier cannot complete: rank 3 and 2 more are on node 2 (10.0.0.2), which has not "
        "answered for the 10 s of ACP_PEER_TIMEOUT (UDP to 10.0.0.2:4711; its machine may be down, "
        "its agent or a "
        "rank that is its own gateway (ACP_GATEWAY) may be stopped, or a firewall may have begun "
        "to drop it)");
}

TEST_F(NodesTest, a_gateway_that_ends_ends_the_meetings_of_its_node) {
    GatewayPort port(segments_[0]);
    port.open(0);
    port.close(9);
    const base::Status status = members_[0]->synchronize();
    EXPECT_EQ(status.code(), base::Code::peer);
    EXPECT_NE(status.message().find("the gateway of node 0 (process "), std::string::npos);
}

TEST_F(NodesTest, a_sleeping_gateway_is_woken_by_a_meeting_and_an_awake_one_is_not) {
    auto event = std::move(os::Event::create()).value();
    Segment& segment = segments_[1];  // a node of one process
    GatewayPort port(segment);
    port.open(event.fd());
    ASSERT_TRUE(segment.open_gateway_event().is_ok());
    Member alone(segment.share(), 0);
    const auto meet_once = [&](bool is_asleep) {
        std::thread thread([&] { EXPECT_TRUE(alone.synchronize().is_ok()); });
        while (!port.has_work()) std::this_thread::yield();
        if (is_asleep) {
            while (!event.drain()) std::this_thread::yield();
        }
        port.end_sleep();
        const auto meeting = port.take_meeting();
        EXPECT_TRUE(meeting.has_value() && meeting->gathers == Gathers::nothing);
        EXPECT_FALSE(port.take_meeting().has_value()) << "given once";
        port.finish_meeting({});
        thread.join();
        return meeting->number;
    };
    EXPECT_EQ(meet_once(false), 0U);
    EXPECT_FALSE(event.drain());
    port.announce_sleep();
    EXPECT_EQ(meet_once(true), 1U);
    EXPECT_EQ(meet_once(false), 2U);
    EXPECT_FALSE(event.drain());
}

TEST_F(NodesTest, a_death_wakes_the_gateway_of_its_node) {
    auto event = std::move(os::Event::create()).value();
    GatewayPort port(segments_[0]);
    port.open(event.fd());
    ASSERT_TRUE(segments_[0].open_gateway_event().is_ok());
    mark_dead(segments_[0], 1, 9);
    EXPECT_TRUE(event.drain());
}

TEST_F(NodesTest, a_process_reports_once_that_the_program_closed_its_event) {
    auto event = std::move(os::Event::create()).value();
    GatewayPort port(segments_[0]);
    port.open(event.fd());
    const int number = dup(STDIN_FILENO);  // the lowest free one, which the copy takes
    close(number);
    ASSERT_TRUE(segments_[0].open_gateway_event().is_ok());
    close(number);
    testing::internal::CaptureStderr();
    segments_[0].signal_gateway();
    segments_[0].signal_gateway();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(
        said.find("descriptor " + std::to_string(number) +
                  ", by which it wakes the agent of its node, was closed or is another file now"),
        std::string::npos)
        << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

// Counts how often the waiting thread polls it, and ends the meeting after some polls.
class Turned : public Helper {
public:
    explicit Turned(GatewayPort& port) : port_(port) {}

    void enter() override { ++waits_; }

    bool poll() override {
        EXPECT_EQ(waits_, 1U);
        if (!held_) held_ = port_.take_meeting();
        if (!held_ || ++polls_ % 3 != 0) return false;
        port_.finish_meeting({});
        held_.reset();
        return true;
    }

    std::int64_t rest() override {
        EXPECT_EQ(waits_, 1U);
        return node::for_ever;
    }

    void leave() override { --waits_; }

    // The number of waits that have not ended.
    [[nodiscard]] std::uint32_t waits() const { return waits_; }

private:
    GatewayPort& port_;
    std::optional<GatewayPort::DueMeeting> held_;
    std::uint32_t polls_ = 0;
    std::uint32_t waits_ = 0;
};

TEST_F(NodesTest, a_waiting_process_polls_its_helper) {
    GatewayPort port(segments_[1]);
    Turned helper(port);
    Member& member = *members_[2];
    member.barrier().set_helper(&helper);
    for (int round = 0; round < 4; ++round) {
        EXPECT_TRUE(member.synchronize().is_ok());
        EXPECT_EQ(helper.waits(), 0U);
    }
}

}  // namespace
}  // namespace acp::node
