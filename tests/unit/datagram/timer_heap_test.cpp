// SPDX-License-Identifier: BSD-3-Clause
// Alarms ring in order and not late, also when they are moved or removed.
#include "datagram/timer_heap.hpp"

#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "support/random.hpp"

namespace acp::datagram {
namespace {

struct Member : Timed {
    int name = 0;
};

TEST(TimerHeap, rings_the_earliest_first_and_none_before_its_time) {
    std::vector<Member> members(3);
    TimerHeap<Member> heap;
    EXPECT_EQ(heap.next(), never);
    heap.set(members[0], 30);
    heap.set(members[1], 10);
    heap.set(members[2], 20);
    EXPECT_EQ(heap.next(), 10U);
    EXPECT_EQ(heap.ring(9), nullptr);
    EXPECT_EQ(heap.ring(25), &members[1]);
    EXPECT_EQ(heap.ring(25), &members[2]);
    EXPECT_EQ(heap.ring(25), nullptr);
    EXPECT_EQ(heap.ring(30), &members[0]);
    EXPECT_EQ(heap.next(), never);
    EXPECT_EQ(heap.ring(never), nullptr);
}

TEST(TimerHeap, brings_an_alarm_forward_at_once_and_leaves_one_that_is_put_off) {
    Member member;
    TimerHeap<Member> heap;
    heap.set(member, 10);
    heap.set(member, 5);
    EXPECT_EQ(heap.next(), 5U);
    heap.set(member, 50);
    EXPECT_EQ(heap.next(), 5U);
    heap.set(member, never);
    EXPECT_EQ(heap.next(), 5U);
    heap.remove(member);
    EXPECT_EQ(heap.next(), never);
    heap.remove(member);
    heap.set(member, 50);
    EXPECT_EQ(heap.next(), 50U);
}

TEST(TimerHeap, agrees_with_a_sorted_list) {
    const std::uint64_t seed = test::fresh_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Random random(seed);
    std::vector<Member> members(100);
    std::map<Member*, Time> set;
    TimerHeap<Member> heap;
    Time now = 0;
    for (int i = 0; i < 20'000; ++i) {
        Member& member = members[random.below(members.size())];
        if (random.chance(20)) {
            heap.remove(member);
            set.erase(&member);
        } else if (random.chance(70)) {
            const Time at = now + random.below(100);
            heap.set(member, at);
            const auto [entry, is_new] = set.try_emplace(&member, at);
            entry->second = std::min(entry->second, at);
        }
        now += random.below(2);
        while (Member* rung = heap.ring(now)) {
            ASSERT_TRUE(set.contains(rung));
            for (const auto& [other, at] : set) ASSERT_LE(set[rung], at);
            ASSERT_LE(set[rung], now);
            set.erase(rung);
        }
        for (const auto& [other, at] : set) ASSERT_GT(at, now);
    }
}

}  // namespace
}  // namespace acp::datagram
