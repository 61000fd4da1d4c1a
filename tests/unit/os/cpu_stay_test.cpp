// SPDX-License-Identifier: BSD-3-Clause
// A stay leaves one CPU in the mask, and its end restores the mask, in any sequence of calls.
#include "os/cpu_stay.hpp"

#include <gtest/gtest.h>

#include "os/cpu.hpp"

namespace acp::os {
namespace {

TEST(CpuStay, keeps_the_thread_on_one_cpu_until_its_end) {
    const int all = affinity_count();
    CpuStay stay;
    for (const int nth : {0, all - 1, 7 * all + 1}) {
        stay.begin(nth);
        EXPECT_TRUE(stay.is_on());
        EXPECT_EQ(affinity_count(), 1);
        stay.end();
        EXPECT_FALSE(stay.is_on());
        EXPECT_EQ(affinity_count(), all);
    }
}

TEST(CpuStay, a_second_beginning_or_end_changes_nothing) {
    const int all = affinity_count();
    CpuStay stay;
    stay.end();
    EXPECT_EQ(affinity_count(), all);
    stay.begin(0);
    stay.begin(all - 1);
    stay.end();
    stay.end();
    EXPECT_EQ(affinity_count(), all);
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
