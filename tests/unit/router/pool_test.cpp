// SPDX-License-Identifier: BSD-3-Clause
// The pool, its queue and its index: limits, reuse, and an index against a plain map under random
// use.
#include "router/pool.hpp"

#include <gtest/gtest.h>
#include <map>
#include <utility>

#include "support/random.hpp"

namespace acp::router::test {
namespace {

struct Record {
    std::uint64_t token = 0;
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    std::uint32_t chain = 0;
    bool is_taken = false;
};

TEST(PoolTest, gives_out_as_many_as_it_has_and_then_none) {
    Pool<Record> pool(3);
    EXPECT_EQ(pool.take(), 0U);
    EXPECT_EQ(pool.take(), 1U);
    EXPECT_EQ(pool.take(), 2U);
    EXPECT_EQ(pool.take(), no_index);
    pool.give(1);
    EXPECT_EQ(pool.used(), 2U);
    EXPECT_EQ(pool.take(), 1U);
    EXPECT_EQ(pool.take(), no_index);
}

TEST(PoolTest, touches_no_more_than_were_in_use_at_once) {
    Pool<Record> pool(1U << 24);
    for (int i = 0; i < 1000; ++i) pool.give(pool.take());
    EXPECT_EQ(pool.touched(), 1U);
}

TEST(QueueTest, keeps_order_and_takes_at_both_ends) {
    Pool<Record> pool(4);
    for (int i = 0; i < 4; ++i) (void)pool.take();
    Queue queue;
    queue.push(pool, 1);
    queue.push(pool, 2);
    queue.push_front(pool, 0);
    queue.push(pool, 3);
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(queue.pop(pool), i);
    EXPECT_TRUE(queue.is_empty());
    queue.push_front(pool, 2);
    queue.push(pool, 1);
    EXPECT_EQ(queue.pop(pool), 2U);
    EXPECT_EQ(queue.pop(pool), 1U);
}

TEST(IndexTest, finds_what_a_map_finds) {
    const std::uint64_t seed = acp::test::fresh_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    acp::test::Random random(seed);
    Pool<Record> pool(5000);
    Index<Record> index(pool);
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> model;
    for (int step = 0; step < 200'000; ++step) {
        const auto initiator = static_cast<std::uint32_t>(random.below(5));
        const std::uint64_t token = 2 * random.below(4000);
        const auto found = model.find({initiator, token});
        ASSERT_EQ(index.find(initiator, token), found == model.end() ? no_index : found->second);
        if (found != model.end()) {
            index.erase(found->second);
            pool.give(found->second);
            model.erase(found);
            continue;
        }
        const std::uint32_t taken = pool.take();
        if (taken == no_index) continue;
        pool[taken].initiator = initiator;
        pool[taken].token = token;
        index.insert(taken);
        model[{initiator, token}] = taken;
    }
    EXPECT_EQ(pool.used(), model.size());
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
