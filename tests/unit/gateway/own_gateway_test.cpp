// SPDX-License-Identifier: BSD-3-Clause
// Gateways in ranks: losses are read from the node segment, and all addresses share a port.
// Behaviour that they share with gateways of agents is tested there, by the shapes "alone" and
// "mixed".
#include "node/gateway_port.hpp"
#include "node/loss.hpp"

#include "unit/gateway/test_job.hpp"

namespace acp::gateway::test {
namespace {

JobOptions of_ranks() {
    JobOptions options;
    options.counts = {1, 1, 1};
    options.is_own = true;
    return options;
}

std::string_view name_of_call(std::uint32_t) {
    return "a call";
}

// Settings of node 0 of three nodes with a rank each.
GatewaySettings listening_on(std::vector<Address> addresses) {
    GatewaySettings settings;
    settings.node = 0;
    settings.nodes = 3;
    settings.first_process = {0, 1, 2, 3};
    settings.bind = std::move(addresses);
    return settings;
}

TEST(OwnGateway, a_loss_reported_by_the_agent_ends_its_commands_and_no_others) {
    Job job(of_ranks());
    ASSERT_EQ(job.copy(0, job.memory(1, false).address, job.memory(0, false).address, 8), Code::ok);
    job.stop_node(1);
    job.submit(0, {Operation::copy, 0, job.memory(1, false).address, job.memory(0, false).address,
                   8, 0, 0});
    node::GatewayPort(job.segment(0)).publish_death(1, {9});
    job.poll_until([&] { return !job.process(0).ended.empty(); });
    EXPECT_EQ(job.process(0).ended.front().code, Code::peer);
    job.process(0).ended.clear();
    EXPECT_EQ(job.copy(0, job.memory(1, false).address, job.memory(0, false).address, 8),
              Code::peer);
    EXPECT_EQ(job.copy(0, job.memory(2, false).address, job.memory(0, false).address, 8), Code::ok);
}

TEST(OwnGateway, a_node_reported_as_lost_is_severed) {
    Job job(of_ranks());
    node::GatewayPort(job.segment(0)).publish_severed(2, {node::NodeFate::silent});
    EXPECT_EQ(job.copy(0, job.memory(2, false).address, job.memory(0, false).address, 8),
              Code::peer);
    EXPECT_EQ(job.copy(0, job.memory(1, false).address, job.memory(0, false).address, 8), Code::ok);
}

// The lost node sends nothing that would make the gateway poll, and no other node needs to.
TEST(OwnGateway, a_command_for_a_lost_node_has_ended_at_the_next_poll) {
    Job job(of_ranks());
    node::GatewayPort(job.segment(0)).publish_severed(2, {node::NodeFate::silent});
    const Command copy{
        Operation::copy, 0, job.memory(2, false).address, job.memory(0, false).address, 8, 0, 0};
    ASSERT_EQ(job.run(0, copy).code, Code::peer);
    for (int i = 0; i < 20; ++i) {
        for (int polls = 0; polls < 20; ++polls) job.poll();  // the gateway has nothing to do
        job.submit(0, copy);
        EXPECT_LE(job.own(0).deadline_ns(), os::now_ns()) << "a thread that sleeps must poll";
        job.poll();
        ASSERT_EQ(job.process(0).ended.size(), 1U) << "command " << i;
        EXPECT_EQ(job.process(0).ended.front().code, Code::peer);
        job.process(0).ended.clear();
    }
}

// A rank that waits for a rank of that node issues no command that could fail.
TEST(OwnGateway, notes_for_its_node_what_gateways_of_ranks_alone_have_given_up) {
    Job job(of_ranks());
    for (const std::uint32_t other : {1U, 2U}) {
        ASSERT_EQ(job.copy(0, job.memory(other, false).address, job.memory(0, false).address, 8),
                  Code::ok);
    }
    node::GatewayPort(job.segment(1)).publish_severed(2, {node::NodeFate::silent});
    job.poll_until([&] { return node::is_lost(job.segment(0), 2); });
    EXPECT_TRUE(node::is_node_lost(job.segment(0), 2))
        << "node 1 has reported the loss to its gateway";
    EXPECT_EQ(job.segment(0).control().deaths.load(std::memory_order_relaxed), 1U);
    EXPECT_FALSE(node::is_lost(job.segment(0), 1));
}

// The gateway of rank 1 notifies that of rank 0 before the agent of node 0 has detected the end.
TEST(OwnGateway, sends_the_wait_status_of_a_process_before_it_severs_its_node) {
    Job job(of_ranks());
    for (const std::uint32_t other : {1U, 2U}) {
        ASSERT_EQ(job.copy(0, job.memory(other, false).address, job.memory(0, false).address, 8),
                  Code::ok);
    }
    node::GatewayPort(job.segment(1)).publish_death(2, {9});
    job.poll_until([&] { return node::is_lost(job.segment(0), 2); });
    const std::string told = node::fate_of_process(job.segment(0), 2);
    EXPECT_NE(told.find("was killed by signal 9"), std::string::npos) << told;
    EXPECT_EQ(node::first_fate(job.segment(0)), told);
}

// A poll at which a timer is due sends at once, so several gets are tried.
// Process 0 gets from process 1, whose polls may leave their answers unsent.
class OwnAnswers : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(job_.run(0, get_).code, Code::ok); }

    // Asks, until process 1 has received it.
    void ask() {
        job_.submit(0, get_);
        do {
            answering_.let_answers_wait();
        } while (!answering_.poll(ended_));
    }

    Job job_{of_ranks()};
    Command get_{
        Operation::copy, 0, job_.memory(0, false).address, job_.memory(1, false).address, 8, 0, 0};
    remote::Link& asking_ = *job_.process(0).link;
    remote::Link& answering_ = *job_.process(1).link;
    std::vector<remote::Ended> ended_;
};

TEST_F(OwnAnswers, wait_for_the_next_poll_if_its_caller_lets_them) {
    int waited = 0;
    for (int i = 0; i < 100; ++i) {
        ask();
        if (answering_.deadline_ns() == 0) {
            for (int polls = 0; polls < 20; ++polls) (void)asking_.poll(ended_);
            EXPECT_TRUE(ended_.empty()) << "the answer was not sent yet";
            ++waited;
        }
        while (ended_.empty()) {
            (void)answering_.poll(ended_);
            (void)asking_.poll(ended_);
        }
        ended_.clear();
    }
    EXPECT_GT(waited, 50);
}

TEST_F(OwnAnswers, are_sent_by_a_process_that_leaves_at_once) {
    ask();
    job_.own(1).leave(0);
    while (ended_.empty()) (void)asking_.poll(ended_);
    EXPECT_EQ(ended_.front().code, Code::ok);
}

// Meetings of ranks whose gateways carry them; the test requests each one.
class OwnMeetingsOfNodes : public testing::Test {
protected:
    OwnMeetingsOfNodes() {
        for (std::uint32_t node = 0; node < 3; ++node) {
            meetings_.push_back(
                std::make_unique<node::OwnMeetings>(job_.segment(node), name_of_call));
            job_.own(node).carry_meetings(*meetings_.back());
        }
    }

    [[nodiscard]] bool is_released(std::uint32_t node, std::uint32_t number) {
        const auto& released = job_.segment(node).control().barrier_released;
        return released.reached(released.load(), number);
    }

    Job job_{of_ranks()};
    std::vector<std::unique_ptr<node::OwnMeetings>> meetings_;
};

TEST_F(OwnMeetingsOfNodes, end_when_all_have_come_and_not_before) {
    for (std::uint32_t number = 1; number <= 20; ++number) {
        for (std::uint32_t i = 0; i < 3; ++i) {
            for (int polls = 0; polls < 20; ++polls) job_.poll();
            EXPECT_FALSE(is_released(0, number) || is_released(1, number) ||
                         is_released(2, number));
            meetings_[(number + i) % 3]->ask(number, 1);
        }
        job_.poll_until([&] {
            return is_released(0, number) && is_released(1, number) && is_released(2, number);
        });
        for (const auto& one : meetings_) EXPECT_TRUE(one->verdict().is_ok());
    }
}

TEST_F(OwnMeetingsOfNodes, notify_all_nodes_of_calls_that_do_not_match) {
    meetings_[0]->ask(1, 1);
    meetings_[1]->ask(1, 2);
    meetings_[2]->ask(1, 1);
    job_.poll_until([&] { return is_released(0, 1) && is_released(1, 1) && is_released(2, 1); });
    for (const auto& one : meetings_) EXPECT_EQ(one->verdict().code(), Code::state);
}

TEST_F(OwnMeetingsOfNodes, fail_on_all_nodes_that_wait_when_one_of_them_gives_a_node_up) {
    ASSERT_EQ(job_.copy(0, job_.memory(2, false).address, job_.memory(0, false).address, 8),
              Code::ok);
    meetings_[0]->ask(1, 1);
    meetings_[1]->ask(1, 1);
    for (int polls = 0; polls < 20; ++polls) job_.poll();
    EXPECT_FALSE(meetings_[0]->has_failed());
    job_.stop_node(2);
    node::GatewayPort(job_.segment(0)).publish_severed(2, {node::NodeFate::silent});
    job_.poll_until([&] { return meetings_[0]->has_failed() && meetings_[1]->has_failed(); });
    EXPECT_EQ(meetings_[0]->failure().code(), Code::peer);
}

TEST_F(OwnMeetingsOfNodes, end_where_a_node_dies_after_it_has_sent_all_that_others_need) {
    std::vector<remote::Ended> ended;
    const auto poll_node = [&](std::uint32_t node) { job_.process(node).link->poll(ended); };
    for (const auto& one : meetings_) one->ask(1, 1);
    job_.poll_until([&] { return is_released(0, 1) && is_released(1, 1) && is_released(2, 1); });
    for (const auto& one : meetings_) one->ask(2, 1);
    // Node 0 notifies node 1, and then is not polled while the others are.
    poll_node(0);
    for (int i = 0; i < 20; ++i) {
        job_.submit(2, {Operation::copy, 0, job_.memory(0, false).address,
                        job_.memory(2, false).address, 8, 0, 0});
        poll_node(2);
    }
    while (!is_released(1, 2)) {
        poll_node(1);
        poll_node(2);
    }
    node::GatewayPort(job_.segment(0)).publish_death(1, {9});
    for (int polls = 0; polls < 100 && !is_released(0, 2); ++polls) poll_node(0);
    EXPECT_TRUE(is_released(0, 2)) << "what node 1 had sent lay in the sockets";
}

TEST_F(OwnMeetingsOfNodes, fail_at_once_after_a_node_was_lost) {
    node::GatewayPort(job_.segment(0)).publish_severed(2, {node::NodeFate::silent});
    for (int polls = 0; polls < 20; ++polls) job_.poll();
    EXPECT_FALSE(meetings_[0]->has_failed())
        << "outside a meeting a lost node is no failure: it may leave at the end of an epoch";
    meetings_[0]->ask(1, 1);
    job_.poll_until([&] { return meetings_[0]->has_failed(); });
}

TEST(OwnGateway, listens_on_all_its_addresses_at_one_port) {
    Job job(of_ranks());
    Rank& rank = *job.process(0).rank;
    const GatewaySettings settings = listening_on(
        {engine::emulated_address(40), engine::emulated_address(41), engine::emulated_address(42)});
    auto made = OwnGateway::open(job.segment(0), rank.space, rank.hazards, settings);
    ASSERT_TRUE(made.is_ok()) << made.failure().message();
    const auto addresses = made.value()->addresses();
    ASSERT_EQ(addresses.size(), 3U);
    EXPECT_NE(addresses[0].port, 0);
    EXPECT_EQ(addresses[1].port, addresses[0].port);
    EXPECT_EQ(addresses[2].port, addresses[0].port);
}

TEST(OwnGateway, names_an_address_that_no_port_makes_its_own) {
    Job job(of_ranks());
    Rank& rank = *job.process(0).rank;
    const GatewaySettings settings =
        listening_on({engine::emulated_address(40), Address{{192, 0, 2, 1}, 0, 4}});
    auto made = OwnGateway::open(job.segment(0), rank.space, rank.hazards, settings);
    ASSERT_FALSE(made.is_ok());
    EXPECT_EQ(made.failure().code(), Code::system);
    EXPECT_NE(made.failure().message().find("192.0.2.1"), std::string::npos)
        << made.failure().message();
}

}  // namespace
}  // namespace acp::gateway::test
