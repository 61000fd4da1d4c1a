// SPDX-License-Identifier: BSD-3-Clause
// Freed ends of channels and segmented buffers: no late message of the other end writes to blocks
// that their rank allocates afterwards. Under loss (tests/conformance/CMakeLists.txt) many such
// messages are late.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <acp.h>

#include "conformance/channel_life_fixture.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr int rounds = 60;

// Blocks of this rank's heap that reuse freed blocks of about `bytes` bytes; the destructor checks
// that they are unchanged.
class Blocks {
public:
    explicit Blocks(std::size_t bytes) : bytes_(bytes) {
        for (acp_ga_t& block : blocks_) {
            block = acp_malloc(bytes_, acp_rank());
            EXPECT_NE(block, ACP_GA_NULL) << acp_error_message();
            std::memset(acp_query_address(block), mark, bytes_);
        }
    }

    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;

    ~Blocks() {
        for (const acp_ga_t block : blocks_) {
            const auto* const start = static_cast<const char*>(acp_query_address(block));
            EXPECT_TRUE(std::all_of(start, start + bytes_, [](char byte) { return byte == mark; }))
                << "a block of " << bytes_ << " bytes was written to";
            EXPECT_EQ(acp_free(block), 0) << acp_error_message();
        }
    }

private:
    static constexpr char mark = 0x55;
    std::size_t bytes_;
    std::vector<acp_ga_t> blocks_ = std::vector<acp_ga_t>(16);
};

using FreedEndsTest = ChannelLifeTest;

TEST_F(FreedEndsTest, of_segmented_buffers_have_given_their_memory_back) {
    unsigned char buffer[64] = {};
    for (int i = 0; i < rounds; ++i) {
        const bool is_first = rank_ == i % 2;
        if (is_of_two()) {
            const acp_segbuf_t segbuf = rank_ == 0 ? acp_create_src_segbuf(1, buffer, 64, 1)
                                                   : acp_create_dst_segbuf(0, buffer, 64, 1);
            ASSERT_EQ(acp_connect_segbuf(segbuf), 0) << acp_error_message();
            // The second rank frees once the first one has disconnected.
            while (!is_first && acp_isready_segbuf(segbuf) != -1) {
            }
            EXPECT_EQ(acp_disconnect_segbuf(segbuf), 0) << acp_error_message();
            EXPECT_EQ(acp_free_segbuf(segbuf), 0) << acp_error_message();
        }
        const Blocks small(64);
        const Blocks large(128);
        sync_ranks();
    }
}

TEST_F(FreedEndsTest, of_channels_have_given_their_memory_back) {
    for (int i = 0; i < rounds; ++i) {
        const int sender = i % 2;
        if (is_of_two()) {
            const acp_ch_t channel = make(sender);
            pass(channel, 1, sender);
            EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
        }
        const Blocks small(256);
        const Blocks large(384);
        sync_ranks();
    }
}

}  // namespace
}  // namespace acp::test
