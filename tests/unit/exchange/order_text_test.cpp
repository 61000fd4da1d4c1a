// SPDX-License-Identifier: BSD-3-Clause
// Saved plans are read back as they were, by who saved them alone; all other texts are refused.
#include "exchange/order_text.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace acp::exchange {
namespace {

const std::vector<SentMessage> sent{{1, 1000}, {2, 0}, {1, 30}};

SendOrder made() {
    SendOrder order;
    order.pieces = {{0, 600, 400, 2}, {2, 0, 30}, {0, 0, 600}};
    order.engines = 4;
    order.predicted_us = 106.8123456789;
    order.bound_us = 103.77;
    return order;
}

TEST(OrderTextTest, an_order_is_read_back) {
    const OrderOwner owner{2, 8, sent};
    const auto read = order_from_text(text_of(made(), owner), owner);
    ASSERT_TRUE(read.is_ok()) << read.failure().message();
    EXPECT_EQ(read.value(), made());
}

TEST(OrderTextTest, a_plan_that_was_saved_without_engines_has_those_of_its_pieces) {
    const OrderOwner owner{2, 8, sent};
    SendOrder order = made();
    order.engines = 0;
    EXPECT_EQ(order_from_text(text_of(order, owner), owner).value().engines, 3U);
    order.predicted_us = 0;  // nothing was known of the network
    EXPECT_EQ(order_from_text(text_of(order, owner), owner).value().engines, 0U);
    for (const char* const wrong : {"engines 0", "engines -1", "engines 99999999999", "engines"}) {
        std::string text = text_of(made(), owner);
        text.replace(text.find("engines 4"), 9, wrong);
        EXPECT_FALSE(order_from_text(text, owner).is_ok()) << wrong;
    }
}

TEST(OrderTextTest, another_member_and_other_messages_are_told) {
    const std::string text = text_of(made(), {2, 8, sent});
    std::vector<SentMessage> others = sent;
    ++others[0].bytes;
    for (const OrderOwner& owner :
         {OrderOwner{3, 8, sent}, OrderOwner{2, 9, sent}, OrderOwner{2, 8, others}}) {
        const auto read = order_from_text(text, owner);
        ASSERT_FALSE(read.is_ok());
        EXPECT_EQ(read.failure().code(), base::Code::mismatch);
        EXPECT_NE(read.failure().message().find("saved by member 2 of 8"), std::string::npos)
            << read.failure().message();
    }
}

// Cut off, and with any byte changed: read as an order that is whole, or refused.
TEST(OrderTextTest, damaged_texts_do_no_harm) {
    const OrderOwner owner{2, 8, sent};
    const std::string text = text_of(made(), owner);
    for (std::size_t bytes = 0; bytes + 1 < text.size(); ++bytes)
        EXPECT_FALSE(order_from_text(text.substr(0, bytes), owner).is_ok()) << bytes;
    base::Random random(7);
    for (int trial = 0; trial < 20'000; ++trial) {
        std::string damaged = text;
        damaged[random() % text.size()] = static_cast<char>("0123456789 \n-xpe"[random() % 16]);
        const auto read = order_from_text(damaged, owner);
        if (!read.is_ok()) continue;
        std::uint64_t bytes = 0;
        for (const SentPiece& piece : read.value().pieces) bytes += piece.bytes;
        EXPECT_EQ(bytes, 1030U);
    }
}

TEST(OrderTextTest, pieces_that_overlap_or_lack_are_refused) {
    const OrderOwner owner{2, 8, sent};
    SendOrder order = made();
    order.pieces[0].offset_bytes = 599;
    EXPECT_FALSE(order_from_text(text_of(order, owner), owner).is_ok());
    order = made();
    order.pieces.pop_back();
    EXPECT_FALSE(order_from_text(text_of(order, owner), owner).is_ok());
}

}  // namespace
}  // namespace acp::exchange
