// SPDX-License-Identifier: BSD-3-Clause
// Records of datagrams in flight: found, taken once, bounded, and returned to the pool. One thread.
#include "datagram/sent_datagrams.hpp"

#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "base/random.hpp"

namespace acp::datagram {
namespace {

AckFrame ack_of(PacketNumber first, PacketNumber last) {
    AckFrame ack;
    ack.largest = last;
    ack.run = static_cast<std::uint32_t>(last - first);
    return ack;
}

SentDatagram record_of(PacketNumber number) {
    return SentDatagram{.sent = number * 10,
                        .dsn = static_cast<Dsn>(number),
                        .bytes = 1000 + static_cast<std::uint32_t>(number % 7),
                        .has_dsn = true};
}

TEST(SentDatagrams, gives_each_record_once) {
    SentPool pool(8);
    SentDatagrams sent(pool);
    for (PacketNumber number = 100; number < 300; ++number) sent.add(number, record_of(number));
    EXPECT_EQ(sent.count(), 200U);
    EXPECT_EQ(sent.oldest(), 100U);
    EXPECT_EQ(sent.next(), 300U);
    std::vector<PacketNumber> taken;
    const auto take = [&](PacketNumber number, const SentDatagram& record) {
        EXPECT_EQ(record.dsn, number);
        taken.push_back(number);
    };
    sent.take_acked(ack_of(150, 250), take);
    EXPECT_EQ(taken.size(), 101U);
    sent.take_acked(ack_of(150, 250), take);
    EXPECT_EQ(taken.size(), 101U);
    EXPECT_EQ(sent.oldest(), 100U);
    sent.take_acked(ack_of(0, 299), take);
    EXPECT_EQ(taken.size(), 200U);
    EXPECT_EQ(sent.count(), 0U);
    EXPECT_EQ(sent.bytes_in_flight(), 0U);
    EXPECT_EQ(pool.free(), 8U);
}

TEST(SentDatagrams, takes_lost_ones_from_the_oldest_up_to_the_first_that_is_not) {
    SentPool pool(8);
    SentDatagrams sent(pool);
    for (PacketNumber number = 0; number < 10; ++number) sent.add(number, record_of(number));
    std::vector<PacketNumber> lost;
    const SentDatagram* left = sent.take_lost([&](PacketNumber number, const SentDatagram&) {
        if (number >= 4) return false;
        lost.push_back(number);
        return true;
    });
    EXPECT_EQ(lost, (std::vector<PacketNumber>{0, 1, 2, 3}));
    ASSERT_NE(left, nullptr);
    EXPECT_EQ(left->dsn, 4U);
    EXPECT_EQ(sent.take_lost([](auto, const auto&) { return true; }), nullptr);
    EXPECT_EQ(sent.count(), 0U);
}

TEST(SentDatagrams, holds_packets_within_64_blocks_and_none_beyond) {
    SentPool pool(100);
    SentDatagrams sent(pool);
    sent.add(63, record_of(63));  // block 0
    const PacketNumber last = SentDatagrams::blocks_max * block_packets - 1;
    EXPECT_TRUE(sent.has_room(last));
    EXPECT_FALSE(sent.has_room(last + 1));
    sent.add(last, record_of(last));
    sent.take_acked(ack_of(63, 63), [](auto, const auto&) {});
    EXPECT_TRUE(sent.has_room(last + 1));
}

TEST(SentDatagrams, an_idle_peer_holds_no_block_of_the_pool_and_an_empty_pool_refuses) {
    SentPool pool(2);
    SentDatagrams one(pool);
    SentDatagrams other(pool);
    one.add(0, record_of(0));
    one.add(64, record_of(64));
    EXPECT_EQ(pool.free(), 0U);
    EXPECT_FALSE(other.has_room(0));
    EXPECT_TRUE(one.has_room(65));
    EXPECT_FALSE(one.has_room(128));
    one.take_acked(ack_of(64, 64), [](auto, const auto&) {});
    EXPECT_TRUE(other.has_room(0));
    {
        SentDatagrams third(pool);
        third.add(7, record_of(7));
        EXPECT_EQ(pool.free(), 0U);
    }
    EXPECT_EQ(pool.free(), 1U) << "a peer that goes gives back what it held";
}

TEST(SentDatagrams, behaves_as_a_map_for_any_order_of_events) {
    const std::uint64_t seed = 99;
    base::Random random(seed);
    SentPool pool(64);
    SentDatagrams sent(pool);
    std::map<PacketNumber, std::uint32_t> model;
    std::uint64_t bytes = 0;
    PacketNumber next = 0;
    for (int step = 0; step < 30'000; ++step) {
        const std::uint64_t what = random.below(10);
        if (what < 7) {
            next += random.below(20) == 0 ? random.below(200) : 0;  // holes
            if (sent.has_room(next)) {
                sent.add(next, record_of(next));
                model[next] = record_of(next).bytes;
                bytes += record_of(next).bytes;
                ++next;
            }
        } else if (what < 9 && next != 0) {
            const PacketNumber last = next - 1 - random.below(std::min<PacketNumber>(next, 300));
            const PacketNumber first = last - random.below(std::min<PacketNumber>(last + 1, 100));
            sent.take_acked(ack_of(first, last), [&](PacketNumber number, const auto& record) {
                ASSERT_EQ(model.erase(number), 1U) << "seed " << seed;
                bytes -= record.bytes;
            });
            const auto found = model.lower_bound(first);
            ASSERT_TRUE(found == model.end() || found->first > last) << "seed " << seed;
        } else {
            const PacketNumber limit = next - std::min<PacketNumber>(next, random.below(400));
            sent.take_lost([&](PacketNumber number, const auto& record) {
                EXPECT_EQ(number, model.begin()->first);
                if (number >= limit) return false;
                model.erase(number);
                bytes -= record.bytes;
                return true;
            });
        }
        ASSERT_EQ(sent.count(), model.size());
        ASSERT_EQ(sent.bytes_in_flight(), bytes);
        ASSERT_TRUE(model.empty() || sent.oldest() == model.begin()->first) << "seed " << seed;
    }
}

}  // namespace
}  // namespace acp::datagram
