// SPDX-License-Identifier: BSD-3-Clause
// The table of docs/life.md: the next state for each step from each state, and the message where a
// call is refused.
#include "api/life.hpp"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace acp::api {
namespace {

using enum LifeState;
using Path = std::vector<Step>;

// The steps by which a process reaches a state.
Path path_to(LifeState state) {
    const Path used = {Step::join, Step::joined};
    const auto then = [&](std::initializer_list<Step> more) {
        Path path = used;
        path.insert(path.end(), more);
        return path;
    };
    switch (state) {
        case not_initialised:
            return {};
        case joining:
            return {Step::join};
        case in_use:
            return used;
        case meeting:
            return then({Step::synchronize});
        case resetting:
            return then({Step::reset});
        case leaving:
            return then({Step::leave});
        case over:
            return then({Step::leave, Step::left});
        case given_up:
            return then({Step::reset, Step::give_up});
        case forked:
            return then({Step::fork});
    }
    return {};
}

std::unique_ptr<Life> life_in(LifeState state) {
    auto life = std::make_unique<Life>();
    for (const Step step : path_to(state)) EXPECT_TRUE(life->take(step));
    EXPECT_EQ(life->state(), state);
    return life;
}

constexpr auto none = static_cast<LifeState>(life_state_count);

// The state that each state (a row) goes to by each step (a column); the columns are join, joined,
// refuse, meet, reset, go_on, give_up, leave, left, fork.
constexpr std::array<std::array<LifeState, step_count>, life_state_count> wanted = {{
    {joining, none, none, none, none, none, none, none, none, forked},            // not initialised
    {none, in_use, not_initialised, none, none, none, none, none, none, forked},  // joining
    {none, none, none, meeting, resetting, none, none, leaving, none, forked},    // in use
    {none, none, none, none, none, in_use, none, none, none, forked},             // meeting
    {none, none, none, none, none, in_use, given_up, none, none, forked},         // resetting
    {none, none, none, none, none, in_use, none, none, over, forked},             // leaving
    {joining, none, none, none, none, none, none, none, none, forked},            // over
    {joining, none, none, none, none, none, none, leaving, none, forked},         // given up
    {none, none, none, none, none, none, none, none, none, forked},               // forked
}};

TEST(LifeTest, a_meeting_begins_and_ends_as_by_its_steps) {
    for (std::uint32_t i = 0; i < life_state_count; ++i) {
        const auto state = static_cast<LifeState>(i);
        const auto by_step = life_in(state);
        const auto in_short = life_in(state);
        EXPECT_EQ(in_short->begin_meeting(), by_step->take(Step::synchronize)) << name_of(state);
        EXPECT_EQ(in_short->state(), by_step->state()) << name_of(state);
        const LifeState during = in_short->state();
        in_short->end_meeting();
        EXPECT_EQ(in_short->state(), during == meeting ? in_use : during) << name_of(state);
    }
}

TEST(LifeTest, takes_the_steps_of_the_table_and_no_others) {
    for (std::uint32_t from = 0; from < life_state_count; ++from) {
        for (std::uint32_t step = 0; step < step_count; ++step) {
            SCOPED_TRACE(std::string(name_of(static_cast<LifeState>(from))) + ", step " +
                         std::to_string(step));
            const auto life = life_in(static_cast<LifeState>(from));
            const LifeState to = wanted[from][step];
            EXPECT_EQ(life->take(static_cast<Step>(step)), to != none);
            EXPECT_EQ(life->state(), to != none ? to : static_cast<LifeState>(from));
        }
    }
}

TEST(LifeTest, may_be_used_between_init_and_finalize_also_during_a_barrier) {
    for (std::uint32_t state = 0; state < life_state_count; ++state) {
        const auto one = static_cast<LifeState>(state);
        EXPECT_EQ(life_in(one)->is_usable(), one == in_use || one == meeting) << name_of(one);
    }
}

std::string explained(const Life& life, base::Code code, const char* call = "acp_rank") {
    std::array<char, 512> text{};
    EXPECT_EQ(life.explain(call, " by rank 3 on host", text), code);
    const std::string told = text.data();
    EXPECT_TRUE(told.starts_with(call + std::string(" by rank 3 on host"))) << told;
    std::array<char, 512> without_name{};
    EXPECT_EQ(life.explain(call, "", without_name), code);
    EXPECT_TRUE(told.size() == text.size() - 1 ||
                told == call + std::string(" by rank 3 on host") +
                            std::string(without_name.data()).substr(std::strlen(call)));
    return told;
}

TEST(LifeTest, gives_the_reason_for_a_refused_call) {
    const auto said = [](LifeState state) { return explained(*life_in(state), base::Code::state); };
    EXPECT_TRUE(said(not_initialised).starts_with("acp_rank by rank 3 on host before acp_init"));
    EXPECT_EQ(said(over), "acp_rank by rank 3 on host after acp_finalize");
    EXPECT_NE(said(joining).find("while acp_init is under way in this process"), std::string::npos);
    EXPECT_NE(said(meeting).find("acp_sync is under way"), std::string::npos);
    EXPECT_NE(said(resetting).find("acp_reset is under way"), std::string::npos);
    EXPECT_NE(said(leaving).find("acp_finalize is under way"), std::string::npos);
    EXPECT_NE(explained(*life_in(forked), base::Code::forked).find("may only exec or _exit"),
              std::string::npos);
    for (const LifeState state : {in_use, meeting}) {
        EXPECT_NE(explained(*life_in(state), base::Code::state, "acp_init").find("joined already"),
                  std::string::npos);
    }
}

TEST(LifeTest, repeats_the_reason_of_what_failed) {
    Life life;
    EXPECT_TRUE(life.take(Step::join));
    life.set_reason(base::Code::config, "ACP_X=y does not fit");
    EXPECT_TRUE(life.take(Step::refuse));
    EXPECT_NE(explained(life, base::Code::state).find("ACP_X=y does not fit"), std::string::npos);
    EXPECT_TRUE(life.take(Step::join) && life.take(Step::joined) && life.take(Step::reset));
    life.set_reason(base::Code::peer, std::string(2000, 'r'));
    EXPECT_TRUE(life.take(Step::give_up));
    EXPECT_EQ(life.reason_code(), base::Code::peer);
    const std::string text = explained(life, base::Code::peer);
    EXPECT_NE(text.find("given up"), std::string::npos);
    EXPECT_NE(text.find("rrrr"), std::string::npos);
    EXPECT_LT(text.size(), 512U) << "a long reason is cut";
    EXPECT_EQ(std::string(life.reason().data()), std::string(reason_bytes_max - 1, 'r'));
}

}  // namespace
}  // namespace acp::api
