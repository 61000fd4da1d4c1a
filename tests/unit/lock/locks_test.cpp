// SPDX-License-Identifier: BSD-3-Clause
// A thread that waits for a lock, as other processes of its node see it.
#include "lock/locks.hpp"

#include <future>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "node/awaited.hpp"
#include "os/clock.hpp"

#include "support/rank_node.hpp"
#include "support/watchdog.hpp"

namespace acp::lock::test {
namespace {

constexpr std::int64_t for_ever = -1;

// A waiter calls LongWait between two of its sleeps.
TEST(LocksTest, a_wait_is_shown_since_its_beginning_also_between_two_sleeps) {
    acp::test::arm_watchdog(60, "unit_lock");
    acp::test::RankNode node(2);
    Locks holder(*node[0].gma, *node[0].allocator);
    Locks waiter(*node[1].gma, *node[1].allocator);
    const GlobalAddress lock = holder.make(0).value();
    ASSERT_TRUE(holder.take(lock, for_ever, nullptr).value().has_lock);
    node::Doing shown;
    std::promise<void> reported;
    std::thread waiting([&] {
        auto taken = waiter.take(lock, for_ever, [&](std::int64_t, const std::string&) {
            shown = node::look_at(node.segment(), 1, os::now_ns());
            reported.set_value();
        });
        ASSERT_TRUE(taken.is_ok()) << taken.failure().message();
        EXPECT_TRUE(taken.value().has_lock);
        EXPECT_TRUE(waiter.release(lock).is_ok());
    });
    reported.get_future().wait();
    EXPECT_TRUE(holder.release(lock).is_ok());
    waiting.join();
    EXPECT_EQ(shown.what, node::WaitFor::object);
    EXPECT_EQ(shown.text, "holds the lock");
    EXPECT_GT(shown.waited_ns, 0U);
    EXPECT_EQ(node::look_at(node.segment(), 1, os::now_ns()).what, node::WaitFor::nothing);
    acp::test::arm_watchdog(0, "");
}

}  // namespace
}  // namespace acp::lock::test
