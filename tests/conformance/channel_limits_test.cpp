// SPDX-License-Identifier: BSD-3-Clause
// Messages whose lengths are the limits between the ways of a message, and one byte more and less:
// a line, an argument of an operation, a record, a message that the receiver fetches. They arrive
// whole and in order, one at a time and with as many in flight as the ring does not hold.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

using Buffer = std::vector<unsigned char>;

constexpr std::size_t lengths_around[] = {1,         56,        1000,     6 << 10,  16 << 10,
                                          24 << 10,  32 << 10,  48 << 10, 64 << 10, 96 << 10,
                                          128 << 10, 256 << 10, 300'000};

std::vector<std::size_t> lengths() {
    std::vector<std::size_t> all;
    for (const std::size_t length : lengths_around)
        all.insert(all.end(), {length - 1, length, length + 1});
    return all;
}

Buffer content_of(std::size_t message, std::size_t bytes) {
    Buffer content(bytes);
    std::uint64_t word = message * 0x9e3779b97f4a7c15ULL + bytes;
    for (unsigned char& byte : content) {
        word = word * 6364136223846793005ULL + 1442695040888963407ULL;
        byte = static_cast<unsigned char>(word >> 56);
    }
    return content;
}

class ChannelLimitsTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(240);
        if (rank_ > 1 || procs_ < 2) return;
        out_ = acp_create_ch(rank_, 1 - rank_);
        in_ = acp_create_ch(1 - rank_, rank_);
        ASSERT_NE(out_, ACP_CH_NULL) << acp_error_message();
        ASSERT_NE(in_, ACP_CH_NULL) << acp_error_message();
    }

    void TearDown() override {
        if (out_ != ACP_CH_NULL) {
            acp_request_t frees[2] = {acp_nbfree_ch(out_), acp_nbfree_ch(in_)};
            EXPECT_EQ(acp_waitall_ch(frees, 2, nullptr), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    // A byte more than the longest message.
    static Buffer room() { return Buffer(lengths().back() + 1, 0xee); }

    static void expect_content(const Buffer& room, std::size_t message, std::size_t bytes) {
        const Buffer expected = content_of(message, bytes);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), room.begin()))
            << "message " << message << " of " << bytes;
        ASSERT_EQ(room[bytes], 0xee) << "written beyond message " << message << " of " << bytes;
    }

    acp_ch_t out_ = ACP_CH_NULL;
    acp_ch_t in_ = ACP_CH_NULL;
};

TEST_F(ChannelLimitsTest, messages_arrive_whole_one_at_a_time) {
    if (out_ == ACP_CH_NULL) return;
    const std::vector<std::size_t> all = lengths();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Buffer message = content_of(i, all[i]);
        Buffer into = room();
        if (rank_ == 0) {
            ASSERT_EQ(acp_send_ch(out_, message.data(), all[i]), 0) << acp_error_message();
        }
        ASSERT_EQ(acp_recv_ch(in_, into.data(), into.size()), all[i]) << acp_error_message();
        expect_content(into, i, all[i]);
        if (rank_ == 1) {
            ASSERT_EQ(acp_send_ch(out_, message.data(), all[i]), 0) << acp_error_message();
        }
    }
}

TEST_F(ChannelLimitsTest, messages_arrive_whole_and_in_order_while_all_are_in_flight) {
    if (out_ == ACP_CH_NULL) return;
    const std::vector<std::size_t> all = lengths();
    std::vector<Buffer> messages;
    std::vector<acp_request_t> sends;
    for (std::size_t i = 0; i < all.size(); ++i) {
        messages.push_back(content_of(i, all[i]));
        sends.push_back(acp_nbsend_ch(out_, messages[i].data(), all[i]));
        ASSERT_NE(sends.back(), ACP_REQUEST_NULL) << acp_error_message();
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        Buffer into = room();
        ASSERT_EQ(acp_recv_ch(in_, into.data(), into.size()), all[i]) << acp_error_message();
        expect_content(into, i, all[i]);
    }
    const int count = static_cast<int>(sends.size());
    EXPECT_EQ(acp_waitall_ch(sends.data(), count, nullptr), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
