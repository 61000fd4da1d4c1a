// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of channel lifetimes: channels between ranks 0 and 1.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {

class ChannelLifeTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(240);
    }

    // Makes this rank's end of a channel between ranks 0 and 1.
    static acp_ch_t make(int sender = 0) {
        const acp_ch_t made = acp_create_ch(sender, 1 - sender);
        EXPECT_NE(made, ACP_CH_NULL) << acp_error_message();
        return made;
    }

    // Sends a word through a channel; the receiver checks it.
    void pass(acp_ch_t channel, std::uint64_t word, int sender = 0) const {
        if (rank_ == sender) {
            ASSERT_EQ(acp_send_ch(channel, &word, sizeof word), 0) << acp_error_message();
            return;
        }
        std::uint64_t received = 0;
        ASSERT_EQ(acp_recv_ch(channel, &received, sizeof received), sizeof received)
            << acp_error_message();
        ASSERT_EQ(received, word) << "the message of another channel";
    }

    // Whether this rank is 0 or 1, and so has ends.
    [[nodiscard]] bool is_of_two() const { return procs_ > 1 && rank_ < 2; }
};

}  // namespace acp::test
