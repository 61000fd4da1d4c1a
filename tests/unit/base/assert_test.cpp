// SPDX-License-Identifier: BSD-3-Clause
// A broken invariant ends the process and says where. One thread; the dying happens in a forked
// child.
#include "base/assert.hpp"

#include <gtest/gtest.h>

namespace acp::base {
namespace {

TEST(AssertDeathTest, a_broken_invariant_names_place_and_condition_and_aborts) {
    const int count = 3;
    EXPECT_EXIT(ACP_ASSERT(count == 4), testing::KilledBySignal(SIGABRT),
                "acp: .*assert_test.cpp:[0-9]+: broken invariant: count == 4");
}

TEST(Assert, a_condition_that_holds_is_evaluated_once_and_silently) {
    int evaluations = 0;
    testing::internal::CaptureStderr();
    ACP_ASSERT(++evaluations == 1);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(evaluations, 1);
}

}  // namespace
}  // namespace acp::base
