// SPDX-License-Identifier: BSD-3-Clause
// One end of a segmented buffer receives what its partner did before it died, also when the partner
// connects, sends and dies between two steps of one call. Ranks of one process, one thread.
#include "message/segbuf_end.hpp"

#include <array>
#include <cstring>
#include <memory>

#include "message/segbufs.hpp"

#include "support/first_touch.hpp"
#include "support/rank_node.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::message {
namespace {

using base::Code;
using base::Status;

constexpr std::uint64_t segment_bytes = 64;
constexpr std::uint64_t segments = 4;

class SegbufEndTest : public testing::Test {
protected:
    SegbufEndTest() {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            segbufs_[rank] = std::make_unique<Segbufs>(*node_[rank].gma, *node_[rank].hashed,
                                                       *node_[rank].allocator, 0);
        }
    }

    SlotHandle make(std::uint32_t rank, Side side) {
        char* const buffer = node_.segment().starter(rank);
        auto made = segbufs_[rank]->make(1 - rank, side, {buffer, segment_bytes, segments});
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.is_ok() ? made.value() : SlotHandle{};
    }

    // Makes the end of rank 1, and one segment if it is the source; then rank 1 dies.
    void connect_and_die(Side side) {
        const SlotHandle partner = make(1, side);
        if (side == Side::sender) {
            std::memset(node_.segment().starter(1), 'p', segment_bytes);
            const Status sent =
                segbufs_[1]->with(partner, [](SegbufEnd& end) { return end.send(); });
            EXPECT_TRUE(sent.is_ok()) << sent.message();
        }
        node_.die(1);
    }

    test::ScopedWatchdog watchdog_{"ends of segmented buffers"};
    test::RankNode node_{2};
    std::array<std::unique_ptr<Segbufs>, 2> segbufs_;
};

TEST_F(SegbufEndTest, is_connected_to_a_partner_that_dies_during_the_call) {
    const SlotHandle own = make(0, Side::sender);
    const auto is_connected = [](SegbufEnd& end) { return end.is_connected(); };
    auto before = segbufs_[0]->with(own, is_connected);
    ASSERT_TRUE(before.is_ok()) << before.failure().message();
    EXPECT_FALSE(before.value());
    const test::FirstTouch between(&node_.segment().control(),
                                   [this] { connect_and_die(Side::receiver); });
    auto after = segbufs_[0]->with(own, is_connected);
    ASSERT_TRUE(after.is_ok()) << after.failure().message();
    EXPECT_TRUE(after.value());
}

TEST_F(SegbufEndTest, gets_the_segment_of_a_partner_that_dies_during_the_call) {
    const SlotHandle own = make(0, Side::receiver);
    const test::FirstTouch between(&node_.segment().control(),
                                   [this] { connect_and_die(Side::sender); });
    const auto counts = segbufs_[0]->with(own, [](SegbufEnd& end) { return end.look(false); });
    ASSERT_TRUE(counts.is_ok()) << counts.failure().message();
    EXPECT_EQ(counts.value().sent, 1U);
    EXPECT_EQ(node_.segment().starter(0)[segment_bytes - 1], 'p');
}

// A partner that has made no end.
TEST_F(SegbufEndTest, reports_a_partner_that_dies_without_an_end) {
    const SlotHandle own = make(0, Side::sender);
    node_.die(1);
    const auto is_connected =
        segbufs_[0]->with(own, [](SegbufEnd& end) { return end.is_connected(); });
    ASSERT_FALSE(is_connected.is_ok());
    EXPECT_EQ(is_connected.failure().code(), Code::peer);
}

}  // namespace
}  // namespace acp::message
