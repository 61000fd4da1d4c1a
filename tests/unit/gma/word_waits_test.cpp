// SPDX-License-Identifier: BSD-3-Clause
// A thread that waits for a word and is asked to report a long wait: other processes of the node
// see one wait, and a timeout counts from the call.
#include "gma/word_waits.hpp"

#include <gtest/gtest.h>
#include <string>

#include "node/awaited.hpp"
#include "node/death.hpp"
#include "os/clock.hpp"

#include "ranks_in_process.hpp"
#include "support/watchdog.hpp"

namespace acp::gma::test {
namespace {

class WordWaitsTest : public testing::Test {
protected:
    void SetUp() override { acp::test::arm_watchdog(60, "unit_gma"); }

    void TearDown() override { acp::test::arm_watchdog(0, ""); }

    Ranks ranks_{base::IntraNode::automatic, 1, 1};
    WordWaits waits_{*ranks_[0].gma};
    std::uint64_t word_ = 0;
    const AwaitedWord one_{&word_, sizeof word_, node::WordComparison::equal, 1};
};

TEST_F(WordWaitsTest, a_long_wait_is_shown_since_its_beginning_also_while_it_is_reported) {
    node::Doing shown;
    const WordWaits::LongWordWait tell = [&](const std::string& word) {
        shown = node::look_at(ranks_.node(), 0, os::now_ns());
        EXPECT_NE(word.find("is 1 (it held 0)"), std::string::npos) << word;
        word_ = 1;
    };
    EXPECT_TRUE(waits_.wait(one_, node::for_ever, &tell).is_ok());
    EXPECT_EQ(shown.what, node::WaitFor::word);
    EXPECT_GT(shown.waited_ns, 0U);
    EXPECT_EQ(node::look_at(ranks_.node(), 0, os::now_ns()).what, node::WaitFor::nothing);
}

TEST_F(WordWaitsTest, a_reported_wait_names_the_timeout_of_its_call) {
    int reports = 0;
    const WordWaits::LongWordWait tell = [&](const std::string&) { ++reports; };
    constexpr std::int64_t timeout_ns = WordWaits::long_wait_ns + 10'000'000;
    const base::Status end = waits_.wait(one_, timeout_ns, &tell);
    EXPECT_EQ(end.code(), base::Code::timeout);
    EXPECT_EQ(std::string(end.message()).find("after " + std::to_string(timeout_ns) + " ns"), 0U)
        << end.message();
    EXPECT_EQ(reports, 1);
}

TEST(WordWaitsOfManyTest, each_rank_that_is_gone_is_named_once) {
    acp::test::arm_watchdog(60, "unit_gma");
    constexpr std::uint32_t killed = 9;
    Ranks ranks(base::IntraNode::automatic, 5, 5);
    WordWaits waits(*ranks[0].gma);
    const std::uint64_t word = 0;
    const AwaitedWord one{&word, sizeof word, node::WordComparison::equal, 1};
    const auto end_of_wait = [&] { return std::string(waits.wait(one, 0).message()); };
    const auto expect_none_new = [&] { EXPECT_EQ(end_of_wait().find("after 0 ns"), 0U); };
    expect_none_new();
    node::mark_dead(ranks.node(), 1, killed);
    EXPECT_EQ(end_of_wait().find("rank 1 "), 0U);
    expect_none_new();
    node::mark_dead(ranks.node(), 2, node::departed_status);
    EXPECT_EQ(end_of_wait().find("rank 2 "), 0U);
    expect_none_new();
    node::mark_dead(ranks.node(), 4, killed);
    node::mark_dead(ranks.node(), 3, killed);
    const std::string both = end_of_wait();
    EXPECT_EQ(both.find("rank 3 "), 0U) << both;
    EXPECT_NE(both.find("; others that are gone: 1; "), std::string::npos) << both;
    expect_none_new();
    WordWaits later(*ranks[0].gma);
    EXPECT_EQ(later.wait(one, 0).code(), base::Code::timeout);
    acp::test::arm_watchdog(0, "");
}

}  // namespace
}  // namespace acp::gma::test
