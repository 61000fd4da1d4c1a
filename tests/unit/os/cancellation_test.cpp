// SPDX-License-Identifier: BSD-3-Clause
// A cancellation is held off, and the previous state is restored afterwards.
#include "os/cancellation.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

namespace acp::os {
namespace {

// Whether a cancellation may end the calling thread.
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

// namespace acp::os
}  // namespace
}  // namespace acp::os
