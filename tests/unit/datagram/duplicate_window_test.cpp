// SPDX-License-Identifier: BSD-3-Clause
// Each serial number is fresh once, also where the numbers wrap; against a set as a model. One
// thread.
#include "datagram/duplicate_window.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "base/random.hpp"

namespace acp::datagram {
namespace {

using Seen = DuplicateWindow::Seen;

TEST(DuplicateWindow, knows_fresh_duplicate_too_old_and_too_far) {
    DuplicateWindow window(100);
    EXPECT_EQ(window.insert(100), Seen::fresh);
    EXPECT_EQ(window.insert(100), Seen::duplicate);
    EXPECT_EQ(window.base(), 101U);
    EXPECT_EQ(window.insert(101 + DuplicateWindow::span - 1), Seen::fresh);
    EXPECT_EQ(window.insert(101 + DuplicateWindow::span), Seen::too_far);
    EXPECT_EQ(window.look(101 - DuplicateWindow::past_max), Seen::duplicate);
    EXPECT_EQ(window.look(101 - DuplicateWindow::past_max - 1), Seen::too_old);
    EXPECT_EQ(window.look(101 + (1U << 31)), Seen::too_old);
    EXPECT_EQ(window.look(101 + (1U << 31) - 1), Seen::too_far);
}

TEST(DuplicateWindow, begins_after_all_that_is_complete) {
    DuplicateWindow window;
    for (const Dsn dsn : {3U, 1U, 2U, 5U}) EXPECT_EQ(window.insert(dsn), Seen::fresh);
    EXPECT_EQ(window.base(), 0U);
    EXPECT_EQ(window.beyond(), 4U);
    EXPECT_EQ(window.insert(0), Seen::fresh);
    EXPECT_EQ(window.base(), 4U);
    EXPECT_EQ(window.beyond(), 1U);
    EXPECT_EQ(window.insert(4), Seen::fresh);
    EXPECT_EQ(window.base(), 6U);
    EXPECT_EQ(window.beyond(), 0U);
}

TEST(DuplicateWindow, gives_each_of_any_order_once_across_the_wrap) {
    const std::uint64_t seed = 17;
    base::Random random(seed);
    const Dsn first = 0U - 20'000U;
    DuplicateWindow window(first);
    std::set<Dsn> fresh;
    Dsn base = first;
    for (int step = 0; step < 200'000; ++step) {
        const Dsn dsn = base + static_cast<Dsn>(random.below(600)) - 200;
        const bool is_before = static_cast<std::int32_t>(dsn - base) < 0;
        const Seen seen = window.insert(dsn);
        if (is_before) {
            ASSERT_EQ(seen, Seen::duplicate) << "seed " << seed;
        } else {
            ASSERT_EQ(seen, fresh.insert(dsn).second ? Seen::fresh : Seen::duplicate)
                << "seed " << seed;
        }
        while (fresh.erase(base) != 0) ++base;
        ASSERT_EQ(window.base(), base);
        ASSERT_EQ(window.beyond(), fresh.size());
    }
    EXPECT_GT(static_cast<std::int32_t>(base), 0) << "the numbers wrapped";
}

}  // namespace
}  // namespace acp::datagram
