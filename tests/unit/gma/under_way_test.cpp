// SPDX-License-Identifier: BSD-3-Clause
// Waiting threads make progress on the layers' operations in progress, thoroughly before they
// sleep; not on completed ones, nor after the epoch.
#include "gma/under_way.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

#include "gma/condition.hpp"
#include "node/wait.hpp"

#include "ranks_in_process.hpp"
#include "support/watchdog.hpp"

namespace acp::gma::test {
namespace {

// The bell of a process without a sleeping thread.
sync::Bell<> silent_bell;

class Layer final : public WorkUnderWay {
public:
    using WorkUnderWay::WorkUnderWay;

    void go_on(bool is_thorough) noexcept override {
        ++passes;
        if (is_thorough) ++thorough_passes;
    }

    void begin() noexcept { count_begun(); }

    void end() noexcept { count_ended(); }

    std::atomic<int> passes{0};
    std::atomic<int> thorough_passes{0};
};

TEST(UnderWay, a_layer_progresses_as_long_as_it_has_work_in_flight) {
    AllUnderWay all(silent_bell);
    Layer idle(all);
    Layer busy(all);
    EXPECT_TRUE(all.is_empty());
    busy.begin();
    busy.begin();
    busy.end();
    EXPECT_FALSE(all.is_empty());
    all.go_on(false);
    all.go_on(true);
    EXPECT_EQ(busy.passes, 2);
    EXPECT_EQ(busy.thorough_passes, 1);
    EXPECT_EQ(idle.passes, 0);
    busy.end();
    EXPECT_TRUE(all.is_empty());
    all.go_on(true);
    EXPECT_EQ(busy.passes, 2);
}

TEST(UnderWay, a_layer_that_goes_is_not_looked_at_again) {
    AllUnderWay all(silent_bell);
    auto first = std::make_unique<Layer>(all);
    Layer second(all);
    first->begin();
    second.begin();
    first.reset();
    all.go_on(false);
    EXPECT_EQ(second.passes, 1);
}

TEST(UnderWay, no_operation_progresses_after_the_epoch) {
    AllUnderWay all(silent_bell);
    Layer layer(all);
    layer.begin();
    all.end();
    EXPECT_TRUE(all.is_empty());
    all.go_on(true);
    EXPECT_EQ(layer.passes, 0);
}

TEST(UnderWay, some_of_many_looks_in_vain_are_thorough) {
    AllUnderWay all(silent_bell);
    Layer layer(all);
    layer.begin();
    for (int i = 0; i < 100; ++i) all.look_in_vain();
    EXPECT_GE(layer.thorough_passes, 2);
    EXPECT_LE(layer.thorough_passes, 50);
}

class NeverCondition final : public Condition {
public:
    LookResult look() override { return LookResult::nothing; }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        const Command none{};
        entry.tell(node::WaitFor::command, since_ns, &none);
    }
};

TEST(UnderWay, a_wait_progresses_it_and_polls_all_before_each_sleep) {
    acp::test::arm_watchdog(60, "unit_gma");
    Ranks ranks(base::IntraNode::automatic, 1, 1);
    Gma& gma = *ranks[0].gma;
    Layer layer(gma.under_way());
    NeverCondition never;
    EXPECT_EQ(gma.wait_until(never, 20'000'000), node::Outcome::timeout);
    EXPECT_EQ(layer.passes, 0);
    layer.begin();
    EXPECT_EQ(gma.wait_until(never, 20'000'000), node::Outcome::timeout);
    EXPECT_GE(layer.thorough_passes, 1);
    EXPECT_GT(layer.passes, layer.thorough_passes);
    layer.end();
    acp::test::arm_watchdog(0, "");
}

}  // namespace
}  // namespace acp::gma::test
