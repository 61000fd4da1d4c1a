// SPDX-License-Identifier: BSD-3-Clause
// Buffers: a fixed number, none given twice, the warmest first; queues keep their order.
#include "datagram/send_pool.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

TEST(SendPool, gives_each_buffer_once_and_then_none) {
    SendPool pool(3, 100);
    const BufferIndex a = pool.take();
    const BufferIndex b = pool.take();
    const BufferIndex c = pool.take();
    EXPECT_NE(a, b);
    EXPECT_NE(b, c);
    EXPECT_NE(a, c);
    EXPECT_EQ(pool.free_count(), 0U);
    EXPECT_EQ(pool.take(), no_buffer);
    pool.give_back(b);
    EXPECT_EQ(pool.free_count(), 1U);
    EXPECT_EQ(pool.take(), b);
}

TEST(SendPool, gives_the_buffer_given_back_last_first) {
    SendPool pool(8, 100);
    const BufferIndex a = pool.take();
    const BufferIndex b = pool.take();
    pool.give_back(a);
    pool.give_back(b);
    EXPECT_EQ(pool.take(), b);
    EXPECT_EQ(pool.take(), a);
}

TEST(SendPool, buffers_do_not_overlap) {
    SendPool pool(2, 100);
    const BufferIndex a = pool.take();
    const BufferIndex b = pool.take();
    const auto gap = pool.plain(a) < pool.plain(b) ? pool.plain(b) - pool.plain(a)
                                                   : pool.plain(a) - pool.plain(b);
    EXPECT_GE(gap, 100);
    EXPECT_EQ(pool.frames(a), pool.plain(a) + sealed_bytes);
}

TEST(BufferQueue, keeps_the_order) {
    SendPool pool(4, 100);
    BufferQueue queue;
    EXPECT_TRUE(queue.empty());
    const BufferIndex a = pool.take();
    const BufferIndex b = pool.take();
    queue.push(pool, a);
    queue.push(pool, b);
    EXPECT_EQ(queue.size(), 2U);
    EXPECT_EQ(queue.front(), a);
    EXPECT_EQ(queue.back(), b);
    EXPECT_EQ(queue.pop(pool), a);
    EXPECT_EQ(queue.pop(pool), b);
    EXPECT_TRUE(queue.empty());
    queue.push(pool, a);
    EXPECT_EQ(queue.front(), a);
    EXPECT_EQ(queue.back(), a);
}

}  // namespace
}  // namespace acp::datagram
