// SPDX-License-Identifier: BSD-3-Clause
// Whether a cancellation is held off, and that what was before is so afterwards.
#include "os/cancellation.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

namespace acp::os {
namespace {

// Of the calling thread, which a cancellation may end or not.
int state() {
    int now = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &now);
    pthread_setcancelstate(now, nullptr);
    return now;
}

TEST(CancellationHold, holds_off_until_the_outer_one_ends) {
    ASSERT_EQ(state(), PTHREAD_CANCEL_ENABLE);
    {
        const CancellationHold outer;
        EXPECT_EQ(state(), PTHREAD_CANCEL_DISABLE);
        { const CancellationHold inner; }
        EXPECT_EQ(state(), PTHREAD_CANCEL_DISABLE);
    }
    EXPECT_EQ(state(), PTHREAD_CANCEL_ENABLE);
}

TEST(CancellationHold, holds_off_nothing_where_that_is_not_needed) {
    {
        const CancellationHold none(false);
        EXPECT_EQ(state(), PTHREAD_CANCEL_ENABLE);
        const CancellationHold needed(true);
        EXPECT_EQ(state(), PTHREAD_CANCEL_DISABLE);
        { const CancellationHold within(false); }
        EXPECT_EQ(state(), PTHREAD_CANCEL_DISABLE);
    }
    EXPECT_EQ(state(), PTHREAD_CANCEL_ENABLE);
}

}  // namespace
}  // namespace acp::os
