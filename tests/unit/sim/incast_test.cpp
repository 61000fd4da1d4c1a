// SPDX-License-Identifier: BSD-3-Clause
// Credit in a whole simulated job: one sender has as much in a large job as in a small one, and
// many senders that begin at once do not overflow the receiver's socket. One thread.
#include "sim/incast.hpp"

#include <gtest/gtest.h>

namespace acp::sim {
namespace {

constexpr std::uint64_t stock_bytes = 425'984;  // the default of Linux

TEST(Incast, one_stream_in_a_job_of_a_thousand_nodes_has_nine_tenths_of_that_in_a_job_of_two) {
    IncastOptions options;
    options.senders = 1;
    options.receive_bytes = stock_bytes;
    options.warm_up_ns = 20 * ms;
    options.duration_ns = 30 * ms;
    const IncastResult two = run_incast(options);
    EXPECT_EQ(two.violation, "");
    for (const NodeId nodes : {32U, 60U, 1000U}) {
        options.silent_nodes = nodes - 2;
        const IncastResult many = run_incast(options);
        EXPECT_EQ(many.violation, "");
        EXPECT_GE(many.share_of_link, 0.9 * two.share_of_link) << nodes;
        EXPECT_EQ(many.socket_full + many.socket_full_warm_up, 0U);
    }
}

TEST(Incast, of_many_that_begin_at_once_drops_nothing) {
    for (const NodeId senders : {16U, 40U}) {
        IncastOptions options;
        options.senders = senders;
        options.receive_bytes = senders == 16 ? mib : 4 * mib;
        options.warm_up_ns = 10 * ms;
        options.duration_ns = 20 * ms;
        const IncastResult result = run_incast(options);
        EXPECT_EQ(result.violation, "");
        EXPECT_EQ(result.socket_full_warm_up, 0U) << senders;
        EXPECT_EQ(result.socket_full, 0U) << senders;
    }
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
