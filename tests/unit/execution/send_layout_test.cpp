// SPDX-License-Identifier: BSD-3-Clause
// The layout of messages in flight: no two overlap, those of a parcel are contiguous, and each byte
// is in one parcel.
#include "execution/send_layout.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "sync/lines.hpp"

namespace acp::execution {
namespace {

constexpr std::uint64_t parcel_bytes_max = 1000;

LaidMessage message(std::uint32_t rank, std::uint64_t bytes, bool is_near, bool is_shared) {
    LaidMessage one;
    one.rank = rank;
    one.bytes = bytes;
    one.is_near = is_near;
    one.is_shared = is_shared;
    return one;
}

SendLayout laid(const std::vector<LaidMessage>& messages) {
    std::vector<exchange::SentMessage> sizes;
    for (const LaidMessage& one : messages) sizes.push_back({one.rank, one.bytes});
    return lay_out(messages, exchange::longest_first(sizes), parcel_bytes_max);
}

// Ranges in one region of memory.
class Ranges {
public:
    void add(std::uint64_t offset, std::uint64_t bytes, std::uint64_t end) {
        if (bytes == 0) return;
        EXPECT_LE(offset + bytes, end);
        ranges_.emplace_back(offset, bytes);
    }

    void expect_apart() {
        std::sort(ranges_.begin(), ranges_.end());
        for (std::size_t i = 1; i < ranges_.size(); ++i)
            EXPECT_LE(ranges_[i - 1].first + ranges_[i - 1].second, ranges_[i].first);
    }

private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

// For each receiver, parcels cover its landing area where there are messages, and have the places
// of their bytes.
void expect_sound(const SendLayout& layout) {
    Ranges outbox;
    for (const LaidMessage& one : layout.messages) {
        if (!one.is_in_place) outbox.add(one.outbox_offset, one.bytes, layout.outbox_bytes);
    }
    outbox.expect_apart();
    for (std::uint32_t r = 0; r < layout.receivers.size(); ++r) {
        const LaidReceiver& receiver = layout.receivers[r];
        if (receiver.is_near) continue;
        Ranges landing, parcels;
        std::map<std::uint32_t, int> words;
        std::uint64_t bytes = 0;
        for (const std::uint32_t i : receiver.messages) {
            landing.add(layout.messages[i].landing_offset, layout.messages[i].bytes,
                        receiver.landing_bytes);
            bytes += layout.messages[i].bytes;
        }
        for (const LaidParcel& parcel : layout.parcels) {
            if (parcel.receiver != r) continue;
            const LaidMessage& first = layout.messages[parcel.message];
            parcels.add(first.landing_offset + parcel.offset, parcel.bytes, receiver.landing_bytes);
            EXPECT_EQ(++words[parcel.word], 1);
            EXPECT_LT(parcel.word, receiver.parcels);
            bytes -= parcel.bytes;
        }
        landing.expect_apart();
        parcels.expect_apart();
        EXPECT_EQ(bytes, 0U) << "of receiver " << receiver.rank;
        EXPECT_EQ(words.size(), receiver.parcels);
    }
}

TEST(SendLayoutTest, on_a_node_shared_messages_of_many_bytes_to_one_receiver_stay_where_they_are) {
    const SendLayout layout =
        laid({message(1, 100, true, true), message(1, 1948, true, true),
              message(1, 2048, true, false), message(1, 0, true, true), message(2, 100, true, true),
              message(2, 1947, true, true), message(3, 2048, true, false)});
    ASSERT_EQ(layout.receivers.size(), 3U);
    std::vector<bool> in_place;
    for (const LaidMessage& one : layout.messages) in_place.push_back(one.is_in_place);
    EXPECT_EQ(in_place, (std::vector<bool>{true, true, false, false, false, false, false}));
    EXPECT_TRUE(layout.parcels.empty());
    expect_sound(layout);
}

TEST(SendLayoutTest, short_messages_to_one_receiver_share_a_parcel) {
    std::vector<LaidMessage> messages(14, message(3, 60, false, false));
    messages.push_back(message(4, 60, false, false));
    messages.push_back(message(3, 5000, false, true));
    const SendLayout layout = laid(messages);
    expect_sound(layout);
    // The long one first; then all short ones to 3, and that to 4.
    ASSERT_EQ(layout.parcels.size(), 3U);
    EXPECT_EQ(layout.parcels[0].bytes, 5000U);
    EXPECT_EQ(layout.parcels[1].bytes, 14 * 60U);
    EXPECT_EQ(layout.parcels[2].bytes, 60U);
    // Contiguous in the outbox and in the landing area.
    for (std::size_t i = 1; i < 14; ++i) {
        EXPECT_EQ(layout.messages[i].outbox_offset - layout.messages[0].outbox_offset,
                  layout.messages[i].landing_offset - layout.messages[0].landing_offset);
    }
    EXPECT_TRUE(layout.messages[15].is_in_place);
}

TEST(SendLayoutTest, a_message_in_pieces_goes_in_as_many_parcels) {
    const std::vector<LaidMessage> messages{message(1, 3000, false, false),
                                            message(1, 900, false, false)};
    exchange::SendOrder order;
    order.pieces = {{0, 2000, 1000}, {1, 400, 500}, {1, 0, 400}, {0, 0, 2000}};
    const SendLayout layout = lay_out(messages, order, parcel_bytes_max);
    expect_sound(layout);
    ASSERT_EQ(layout.parcels.size(), 3U);  // a short message goes whole
    EXPECT_EQ(layout.parcels[0].offset, 2000U);
    EXPECT_EQ(layout.parcels[1].bytes, 900U);
    EXPECT_EQ(layout.parcels[2].bytes, 2000U);
}

TEST(SendLayoutTest, a_message_as_long_as_a_parcel_goes_whole) {
    exchange::SendOrder order;
    order.pieces = {{0, 400, 600}, {0, 0, 400}};
    const SendLayout layout =
        lay_out({message(1, parcel_bytes_max, false, false)}, order, parcel_bytes_max);
    expect_sound(layout);
    ASSERT_EQ(layout.parcels.size(), 1U);
    EXPECT_EQ(layout.parcels[0].bytes, parcel_bytes_max);
}

TEST(SendLayoutTest, messages_to_two_receivers_of_the_node_share_no_cache_line) {
    const SendLayout layout = laid({message(1, 8, true, false), message(2, 8, true, false)});
    expect_sound(layout);
    EXPECT_NE(layout.messages[0].outbox_offset / sync::line_bytes,
              layout.messages[1].outbox_offset / sync::line_bytes);
}

TEST(SendLayoutTest, whatever_is_sent_lies_apart) {
    const unsigned seed = std::random_device()();
    std::printf("TEST_SEED=%u\n", seed);
    std::minstd_rand generator(seed);
    const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<LaidMessage> messages;
        for (unsigned i = random() % 40; i > 0; --i) {
            const std::uint32_t rank = random() % 5;
            const std::uint64_t bytes = random() % (random() % 3 == 0 ? 9000 : 300);
            messages.push_back(message(rank, bytes, rank < 2, random() % 2 == 0));
        }
        expect_sound(laid(messages));
    }
}

}  // namespace
}  // namespace acp::execution
