// SPDX-License-Identifier: BSD-3-Clause
// Plans for a network where several rails connect the nodes: the members agree on the rails. With
// one rail, or on a node, the same exchanges.
#include <string>

#include "conformance/exchange_fixture.hpp"
#include "support/nodes.hpp"

namespace acp::test {
namespace {

class ExchangeRailsTest : public ExchangeTest {
protected:
    // A network with such expensive commands that the planner splits no message.
    [[nodiscard]] std::string whole_messages(int engines) const {
        return "torus 5000 " + std::to_string(procs_) + "\ncommand_us 1000\nengines " +
               std::to_string(engines) + "\n";
    }

    // Each other member sends one message of 20'000 bytes to the last member.
    void all_send_to_last() {
        const int last = procs_ - 1;
        if (rank_ != last) add_send(last, 0, Buffer::Kind::own, 20'000);
        for (int from = 0; rank_ == last && from < last; ++from)
            add_receive(from, 0, Buffer::Kind::heap, 20'000);
    }

    // Whether each member is on a node of its own, with at least as many rails as senders.
    [[nodiscard]] bool is_spread() const {
        for (int rank = 0; rank < procs_; ++rank) {
            if (rank != rank_ && is_near(rank)) return false;
        }
        return procs_ > 2 && rails_of_job() >= procs_ - 1;
    }
};

TEST_F(ExchangeRailsTest, members_that_send_to_the_same_one_take_rails_of_their_own) {
    all_send_to_last();
    const acp_plan_t plan = compile(whole_messages(4).c_str());
    run_rounds(plan, 5);
    const std::string text = explained(plan);
    if (is_spread() && rank_ != procs_ - 1) {
        std::string wanted = "bytes by rail, as planned:";
        for (int rail = 0; rail < rails_of_job(); ++rail)
            wanted += (rail != 0 ? ", " : " ") + std::string(rail == rank_ ? "20000" : "0");
        EXPECT_NE(text.find(wanted + "\n"), std::string::npos) << text;
    }
    EXPECT_TRUE(rails_of_job() > 1 || text.find("by rail") == std::string::npos) << text;
    free_plan(plan);
}

TEST_F(ExchangeRailsTest, a_network_of_one_engine_keeps_to_one_rail) {
    all_send_to_last();
    const acp_plan_t plan = compile(whole_messages(1).c_str());
    run_rounds(plan, 5);
    if (is_spread() && rank_ != procs_ - 1) {
        EXPECT_NE(explained(plan).find("as planned: 20000, 0"), std::string::npos);
    }
    free_plan(plan);
}

// Members without a network model choose rails by their measurements.
TEST_F(ExchangeRailsTest, some_members_know_a_network_and_others_do_not) {
    add_send(next(), 0, Buffer::Kind::own, 900'001);
    add_send(before(), 1, Buffer::Kind::heap, 40'000);
    add_receive(before(), 0, Buffer::Kind::own, 900'001);
    add_receive(next(), 1, Buffer::Kind::own, 40'000);
    const std::string network = "torus 5000 " + std::to_string(procs_);
    const acp_plan_t plan = compile(rank_ % 2 == 0 ? network.c_str() : nullptr);
    run_rounds(plan, 8);
    free_plan(plan);
}

// Messages from a member's outbox are in flight when its round has ended. The member sees their
// completions when the next round begins, too late to measure the rails; if it took that time, the
// rails would look as slow as the pause between the rounds was long.
TEST_F(ExchangeRailsTest, rails_that_ended_unseen_between_rounds_are_not_taken_for_slow) {
    if (procs_ == 1) return;
    if (rank_ == 0) add_send(1, 0, Buffer::Kind::own, 2'000'000);
    if (rank_ == 1) add_receive(0, 0, Buffer::Kind::own, 2'000'000);
    const acp_plan_t plan = compile();
    for (int round = 0; round < 3; ++round) {
        fill(round);
        ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
        end(plan, false);
        check(round);
        sync_ranks();
        acp_complete(ACP_HANDLE_ALL);
    }
    if (rank_ == 0 && rails_of_job() > 1 && !is_near(1)) {
        const std::string text = explained(plan);
        EXPECT_NE(text.find("lately: unknown, unknown"), std::string::npos) << text;
        EXPECT_EQ(text.find("MB/s"), std::string::npos) << text;
    }
    free_plan(plan);
}

TEST_F(ExchangeRailsTest, uneven_patterns_arrive_whole_by_planned_rails) {
    Random random = common_random();
    for (int from = 0; from < procs_; ++from) {
        for (int to = 0; to < procs_; ++to) {
            const auto messages = static_cast<int>(random.below(5));
            for (int number = 0; number < messages; ++number) {
                const std::size_t bytes = random.below(random.chance(20) ? 600'000 : 30'000);
                if (from == rank_) add_send(to, number, Buffer::Kind::own, bytes);
                if (to == rank_) add_receive(from, number, Buffer::Kind::own, bytes);
            }
        }
    }
    const std::string network = "torus 5000 " + std::to_string(procs_);
    const acp_plan_t plan = compile(network.c_str());
    run_rounds(plan, 10);
    free_plan(plan);
}

}  // namespace
}  // namespace acp::test
