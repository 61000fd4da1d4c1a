// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a condition that is no command: the thread that makes it true rings, and the waiting
// thread serves its process until then.
#include "gma/condition.hpp"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

#include "gma/condition_of_layer.hpp"
#include "node/awaited.hpp"
#include "os/clock.hpp"

#include "ranks_in_process.hpp"
#include "support/watchdog.hpp"

namespace acp::gma::test {
namespace {

class ConditionTest : public testing::TestWithParam<base::IntraNode> {
protected:
    void SetUp() override { acp::test::arm_watchdog(60, "unit_gma"); }

    void TearDown() override { acp::test::arm_watchdog(0, ""); }
};

// A flag that another thread of the test sets.
class FlagCondition final : public Condition {
public:
    LookResult look() override {
        return is_set.load(std::memory_order_acquire) ? LookResult::all : LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        const Command none{};
        entry.tell(node::WaitFor::command, since_ns, &none);
        ++announced;
    }

    std::atomic<bool> is_set{false};
    std::atomic<int> announced{0};
};

TEST_P(ConditionTest,
       a_condition_ends_a_wait_when_its_bringer_rings_and_the_sleeper_serves_meanwhile) {
    Ranks ranks(GetParam(), 2, 2);
    FlagCondition condition;
    node::Outcome outcome = node::Outcome::timeout;
    std::thread waiter([&] { outcome = ranks[1].gma->wait_until(condition, node::for_ever); });
    while (condition.announced.load() == 0) std::this_thread::yield();
    // The waiter sleeps or is about to; commands on its process still run.
    const std::uint64_t value = 4711;
    std::memcpy(ranks.starter(0), &value, sizeof value);
    EXPECT_TRUE(
        finish(ranks[0], ranks[0].gma->issue(copy(ranks[1].own, ranks[0].starter, 8), 0)).is_ok());
    std::uint64_t arrived = 0;
    std::memcpy(&arrived, ranks[1].memory.data(), sizeof arrived);
    EXPECT_EQ(arrived, value);
    EXPECT_EQ(node::look_at(ranks.node(), 1, os::now_ns()).what, node::WaitFor::command);
    condition.is_set.store(true, std::memory_order_release);
    node::ring_bell(ranks.node().slot(1).door.waiter_bell);
    waiter.join();
    EXPECT_EQ(outcome, node::Outcome::ready);
    EXPECT_EQ(node::look_at(ranks.node(), 1, os::now_ns()).what, node::WaitFor::nothing);
}

TEST_P(ConditionTest, a_wait_for_a_condition_that_stays_false_ends_at_the_callers_limit) {
    Ranks ranks(GetParam(), 1, 1);
    FlagCondition condition;
    EXPECT_EQ(ranks[0].gma->wait_until(condition, 0), node::Outcome::timeout);
    const std::uint64_t start = os::now_ns();
    EXPECT_EQ(ranks[0].gma->wait_until(condition, 20'000'000), node::Outcome::timeout);
    EXPECT_GE(os::now_ns() - start, 20'000'000U);
    condition.is_set.store(true);
    EXPECT_EQ(ranks[0].gma->wait_until(condition, 0), node::Outcome::ready);
}

// Counts the calls of go_on() by kind.
class CountedWork final : public WorkUnderWay {
public:
    explicit CountedWork(AllUnderWay& all) noexcept : WorkUnderWay(all) { count_begun(); }

    ~CountedWork() override { count_ended(); }

    CountedWork(const CountedWork&) = delete;
    CountedWork& operator=(const CountedWork&) = delete;

    void go_on(bool is_thorough) noexcept override { ++(is_thorough ? thorough : brief); }

    int thorough = 0;
    int brief = 0;
};

TEST_P(ConditionTest, polls_are_thorough_between_the_announcement_of_a_sleep_and_the_sleep) {
    Ranks ranks(GetParam(), 1, 1);
    CountedWork work(ranks[0].gma->under_way());
    FlagCondition flag;
    ConditionOfLayer condition(flag, ranks[0].gma->under_way());
    std::atomic<std::uint32_t> bell{0};
    for (int sleeps = 1; sleeps <= 2; ++sleeps) {
        work.thorough = work.brief = 0;
        EXPECT_EQ(condition.look(), LookResult::nothing);
        EXPECT_EQ(work.brief, 1);
        node::AwaitedEntry entry(ranks.node().slot(0));
        condition.announce(entry, os::now_ns());
        EXPECT_EQ(condition.look(), LookResult::nothing);
        EXPECT_EQ(condition.look(), LookResult::nothing);
        EXPECT_EQ(work.thorough, 2);
        EXPECT_EQ(condition.sleep_on(bell, 0, 1, nullptr), os::Wake::timeout);
        EXPECT_EQ(work.brief, 1);
    }
    EXPECT_EQ(flag.announced.load(), 2);
}

TEST_P(ConditionTest, a_wait_of_several_calls_is_shown_as_one_also_between_them) {
    Ranks ranks(GetParam(), 1, 1);
    FlagCondition condition;
    const auto look = [&] { return node::look_at(ranks.node(), 0, os::now_ns()); };
    {
        ShownWait shown(ranks.node().slot(0));
        std::uint64_t before_ns = 0;
        for (int call = 0; call < 3; ++call) {
            EXPECT_EQ(ranks[0].gma->wait_until(condition, 2'000'000, false, &shown),
                      node::Outcome::timeout);
            const node::Doing doing = look();
            EXPECT_EQ(doing.what, node::WaitFor::command);
            EXPECT_GT(doing.waited_ns, before_ns);
            before_ns = doing.waited_ns;
        }
    }
    EXPECT_EQ(look().what, node::WaitFor::nothing);
}

INSTANTIATE_TEST_SUITE_P(Routes,
                         ConditionTest,
                         testing::Values(base::IntraNode::automatic,
                                         base::IntraNode::attach,
                                         base::IntraNode::mailbox));

}  // namespace
}  // namespace acp::gma::test
