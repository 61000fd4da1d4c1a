// SPDX-License-Identifier: BSD-3-Clause
// Answers of agents belong to the call that they answer, however late they come. The agents are the
// other ends of channels. One thread.
#include "acprun/roll_call.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "os/pipe.hpp"

namespace acp::run {
namespace {

class RollCallTest : public ::testing::Test {
protected:
    void SetUp() override {
        job_.nodes.resize(2);
        for (std::size_t node = 0; node < 2; ++node) {
            auto pair = os::make_stream_pair();
            ASSERT_TRUE(pair.is_ok());
            agents_[node].channel.emplace(std::move(pair.value().near));
            far_.emplace_back(std::move(pair.value().far));
            job_.nodes[node].name = "node " + std::to_string(node);
        }
    }

    // The number of the call that an agent was asked last; "" when it was asked nothing new.
    std::string asked(std::size_t node) {
        std::string number;
        if (!far_[node].receive().is_ok()) return number;
        while (const auto line = far_[node].next_line()) {
            EXPECT_TRUE(line->starts_with("doings ")) << *line;
            number = line->substr(7);
        }
        return number;
    }

    void answer(std::size_t node, const std::string& number, std::uint32_t rank, bool is_stopped) {
        node::Doing doing;
        doing.rank = rank;
        doing.state = node::SlotState::joined;
        doing.is_stopped = is_stopped;
        calls_.add(number + " " + node::to_words(doing));
        calls_.note_told(agents_[node], number);
    }

    PlannedJob job_;
    std::vector<AgentLink> agents_{2};
    RollCall calls_;

private:
    std::vector<launch::LineChannel> far_;
};

TEST_F(RollCallTest, prints_the_answers_of_all) {
    calls_.ask(agents_, "asked");
    answer(0, asked(0), 0, false);
    EXPECT_FALSE(calls_.take(agents_, job_).has_value()) << "node 1 has not answered";
    answer(1, asked(1), 1, false);
    EXPECT_EQ(calls_.take(agents_, job_),
              "asked: the ranks do this\n  ranks 0-1: no wait in a call of ACP");
}

TEST_F(RollCallTest, late_answers_to_a_call_before_are_none_to_the_next) {
    calls_.ask(agents_, "first");
    const std::string first = asked(0);
    ASSERT_EQ(asked(1), first);
    answer(0, first, 0, false);
    calls_.give_up();
    answer(1, first, 1, true);  // no call is in progress
    calls_.ask(agents_, "second");
    const std::string second = asked(0);
    ASSERT_NE(second, first);
    ASSERT_EQ(asked(1), second);
    answer(1, first, 1, true);  // during the next call
    answer(0, second, 0, false);
    EXPECT_FALSE(calls_.take(agents_, job_).has_value()) << "taken for an answer to this call";
    answer(1, second, 1, false);
    EXPECT_EQ(calls_.take(agents_, job_),
              "second: the ranks do this\n  ranks 0-1: no wait in a call of ACP");
    answer(1, second, 1, true);  // once more, and too late
    EXPECT_EQ(calls_.take_lines(), "");
}

TEST_F(RollCallTest, reports_of_agents_at_the_end_answer_no_call) {
    calls_.ask(agents_, "asked");
    const std::string number = asked(0);
    calls_.give_up();
    answer(0, number, 0, true);
    answer(0, "0", 0, false);
    EXPECT_EQ(calls_.take_lines(), "\n  rank 0: no wait in a call of ACP");
    for (const char* wrong : {"", "0", "x 1", "0 1 2 3"}) calls_.add(wrong);
    EXPECT_EQ(calls_.take_lines(), "");
}

}  // namespace
}  // namespace acp::run
