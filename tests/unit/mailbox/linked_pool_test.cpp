// SPDX-License-Identifier: BSD-3-Clause
// Records linked into queues: order, reuse, and the records that exist without another allocation.
#include "mailbox/linked_pool.hpp"

#include <deque>
#include <gtest/gtest.h>

#include "base/random.hpp"

#include "support/refuse_memory.hpp"

namespace acp::mailbox {
namespace {

using acp::test::all_from_there;
using acp::test::Refusal;

struct Record {
    std::uint64_t value = 0;
    std::uint32_t next = Chain::nobody;
};

TEST(LinkedPool, holds_what_queues_hold) {
    constexpr std::uint64_t seed = 7;
    base::Random random(seed);
    LinkedPool<Record> pool(4);
    Chain chains[3];
    std::deque<std::uint64_t> models[3];
    for (std::uint64_t step = 0; step < 20'000; ++step) {
        const std::uint64_t which = random.below(3);
        if (random.below(2) == 0) {
            ASSERT_GE(pool.make_room(1), 1U);
            const std::uint32_t index = pool.take();
            pool[index].value = step;
            if (random.below(4) == 0) {
                pool.push_front(chains[which], index);
                models[which].push_front(step);
            } else {
                pool.push(chains[which], index);
                models[which].push_back(step);
            }
        } else if (!models[which].empty()) {
            const std::uint32_t index = pool.pop(chains[which]);
            ASSERT_EQ(pool[index].value, models[which].front()) << "seed " << seed;
            models[which].pop_front();
            pool.give(index);
        }
        ASSERT_EQ(chains[which].is_empty(), models[which].empty());
        ASSERT_EQ(pool.used_count(), models[0].size() + models[1].size() + models[2].size());
        ASSERT_GE(pool.size(), pool.used_count());
    }
}

// A record that counts its constructions.
struct Counted {
    inline static int made = 0;
    std::uint32_t next = (++made, Chain::nobody);
};

TEST(LinkedPool, makes_no_record_before_it_is_taken) {
    LinkedPool<Counted> pool(64);
    EXPECT_EQ(Counted::made, 0);
    EXPECT_EQ(pool.take(), 0U);
    EXPECT_EQ(pool.take(), 1U);
    pool.give(0);
    EXPECT_EQ(pool.take(), 0U);  // freed records first
    EXPECT_EQ(Counted::made, 2);
}

TEST(LinkedPool, gives_what_it_has_when_there_is_no_memory_and_more_when_there_is) {
    LinkedPool<Record> pool(8);
    Chain chain;
    {
        const Refusal refusal(1, all_from_there);
        EXPECT_EQ(pool.make_room(8), 8U);
        EXPECT_EQ(pool.make_room(9), 8U);
        EXPECT_FALSE(pool.grow(1));
        for (int i = 0; i < 8; ++i) pool.push(chain, pool.take());
        EXPECT_EQ(pool.make_room(1), 0U);
        pool.give(pool.pop(chain));
        EXPECT_EQ(pool.make_room(1), 1U);
    }
    EXPECT_GE(pool.make_room(5), 5U);
}

// namespace acp::mailbox
}  // namespace
}  // namespace acp::mailbox
