// SPDX-License-Identifier: BSD-3-Clause
// Records for a receiver on another node: each arrives whole, also if an allocation fails. A thread
// plays gateways and network.
#include "message/far_sender_path.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <vector>

#include "message/ring.hpp"

#include "operations/library_operations.hpp"
#include "support/refuse_memory.hpp"
#include "support/scoped_watchdog.hpp"
#include "unit/gma/test_network.hpp"

namespace acp::message::test {
namespace {

constexpr RingShape shape{4096};
constexpr std::uint32_t receiver = 2;  // a process on the other node

class FarSenderPathTest : public testing::Test {
protected:
    // The whole ring lies in the receiver's starter memory, and the sender's part of it here.
    [[nodiscard]] FarSenderPath make() {
        return {*rank_.gma, {credits_.data(), shape, receiver, rank_.starter(receiver)}};
    }

    gma::test::Network network_{base::IntraNode::automatic, base::MailboxKind::mpsc,
                                operations::library_operations()};
    gma::test::RemoteRank rank_{network_.segment(0), 0,
                                [] {
                                    base::Config config;
                                    config.starter_bytes = gma::test::starter_bytes;
                                    return config;
                                }(),
                                std::make_unique<remote::RingLink>(network_.segment(0), 0),
                                operations::library_operations()};
    alignas(line_bytes) std::array<char, 4 * line_bytes> credits_{};
    acp::test::ScopedWatchdog watchdog_{"a record was lost"};
};

TEST_F(FarSenderPathTest, no_record_is_lost_where_memory_is_refused) {
    FarSenderPath path = make();
    network_.start();
    constexpr std::uint64_t lines = shape.record_bytes() / line_bytes;
    for (std::uint64_t round = 1; round <= 5; ++round) {
        {
            const acp::test::Refusal refusal(1, acp::test::all_from_there);
            for (std::uint64_t line = 0; line < lines; ++line) {
                const std::uint64_t payload = round * lines + line;
                path.place(line * line_bytes + sizeof payload, &payload, sizeof payload);
                EXPECT_FALSE(path.publish(line * line_bytes, round));
            }
            path.settle();
        }
        EXPECT_TRUE(path.is_idle());
        EXPECT_FALSE(path.is_cut_off());
        for (std::uint64_t line = 0; line < lines; ++line) {
            std::array<std::uint64_t, 2> come{};
            std::memcpy(come.data(), network_.starter(receiver) + line * line_bytes, sizeof come);
            ASSERT_EQ(come[0], round) << "the header of line " << line;
            ASSERT_EQ(come[1], round * lines + line) << "the payload of line " << line;
        }
    }
}

TEST_F(FarSenderPathTest, has_no_mirror_where_a_copy_and_its_header_would_take_two_flights) {
    PipeBlock block;
    FarSenderPath path(*rank_.gma,
                       {credits_.data(), shape, receiver, rank_.starter(receiver), &block});
    EXPECT_FALSE(rank_.gma->prepare_followed());
    EXPECT_EQ(path.payload_bytes_max(shape.payload_bytes_max()), FarSenderPath::argument_bytes_max);
}

TEST_F(FarSenderPathTest, is_not_made_where_memory_for_what_it_sends_is_refused) {
    const acp::test::Refusal refusal(1, acp::test::all_from_there);
    EXPECT_THROW((void)make(), std::bad_alloc);
}

}  // namespace
}  // namespace acp::message::test
