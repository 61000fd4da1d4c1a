// SPDX-License-Identifier: BSD-3-Clause
// The members of a team choose the rails of their parcels alike: as one planner that sees the
// parcels of all. Members are on several nodes and offer different numbers of parcels, or none.
#include "execution/rail_agreement.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "exchange/rail_choice.hpp"

#include "operations/put_signal.hpp"
#include "support/scoped_watchdog.hpp"
#include "unit/team/team_node.hpp"

namespace acp::execution {
namespace {

constexpr std::uint64_t short_bytes = operations::put_signal_bytes_max;
constexpr std::uint32_t rails = 4;

// The parcels of a member: to members of the next nodes, short ones among them.
SendLayout layout_of(std::uint32_t rank, std::uint32_t members, std::uint32_t parcels) {
    SendLayout layout;
    for (std::uint32_t to = 0; to < members; ++to) {
        LaidReceiver receiver;
        receiver.rank = to;
        layout.receivers.push_back(receiver);
    }
    for (std::uint32_t i = 0; i < parcels; ++i) {
        LaidParcel parcel;
        parcel.receiver = (rank + 1 + i) % members;
        parcel.bytes = i % 3 == 2 ? short_bytes : short_bytes + 1 + 40'000 * (i % 5);
        parcel.engine = i % 2;  // all of them want two of the rails
        layout.parcels.push_back(parcel);
    }
    return layout;
}

TEST(RailOffersTest, are_of_long_parcels_where_there_is_a_choice) {
    const SendLayout layout = layout_of(0, 3, 6);
    EXPECT_EQ(offers_of(layout, {4, 2}).parcels, (std::vector<std::uint32_t>{0, 1, 3, 4}));
    EXPECT_EQ(offers_of(layout, {4, 2}).rails, 2U);
    EXPECT_EQ(offers_of(layout, {2, 6}).rails, 2U);
    for (const RailUse none : {RailUse{4, 0}, RailUse{1, 2}}) {
        EXPECT_TRUE(offers_of(layout, none).parcels.empty());
        EXPECT_EQ(offers_of(layout, none).rails, 1U);
    }
}

class RailAgreementTest : public testing::Test {
protected:
    // The rails before the agreement.
    static std::vector<std::uint32_t> planned(const SendLayout& layout) {
        std::vector<std::uint32_t> all;
        for (const LaidParcel& parcel : layout.parcels) all.push_back(parcel.engine);
        return all;
    }

    const std::vector<std::uint32_t> nodes_{0, 1, 2, 0, 1};
    const std::vector<std::uint32_t> counts_{9, 0, 1, 7, 3};
    const std::uint32_t size_ = static_cast<std::uint32_t>(nodes_.size());
    acp::test::ScopedWatchdog watchdog_{"an agreement on rails"};
    team::test::TeamNode node_{nodes_};
};

TEST_F(RailAgreementTest, all_members_choose_as_one_planner_that_sees_all_parcels) {
    std::vector<SendLayout> layouts;
    std::vector<RailOffers> offers;
    std::vector<exchange::OfferedPiece> pieces;
    std::uint64_t most = 0;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        layouts.push_back(layout_of(rank, size_, counts_[rank]));
        offers.push_back(offers_of(layouts[rank], {rails, rails}));
        most = std::max<std::uint64_t>(most, offers[rank].parcels.size());
        for (const std::uint32_t i : offers[rank].parcels) {
            const LaidParcel& parcel = layouts[rank].parcels[i];
            pieces.push_back({nodes_[rank], nodes_[parcel.receiver], parcel.bytes, parcel.engine});
        }
    }
    const auto chosen = exchange::choose_rails(pieces, 3, rails);
    std::vector<std::vector<std::uint32_t>> rail_of(size_);
    for (std::uint32_t rank = 0; rank < size_; ++rank) rail_of[rank] = planned(layouts[rank]);
    node_.run_well(
        team::test::call({team::CollectiveCall::compile_pattern, 0}, [&](team::Team& team) {
            const std::uint32_t own = team.members().own();
            return agree_on_rails(team, layouts[own], offers[own], most, rails, rail_of[own]);
        }));
    std::size_t next = 0;
    bool has_changed = false;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        std::vector<std::uint32_t> expected = planned(layouts[rank]);
        for (const std::uint32_t i : offers[rank].parcels) expected[i] = chosen[next++];
        EXPECT_EQ(rail_of[rank], expected) << "of member " << rank;
        has_changed = has_changed || expected != planned(layouts[rank]);
    }
    EXPECT_TRUE(has_changed) << "the planned rails are good: the test shows nothing";
}

TEST_F(RailAgreementTest, without_parcels_or_a_choice_nothing_is_exchanged) {
    // Only one member calls: a gather would wait for the others.
    const SendLayout layout = layout_of(0, size_, 4);
    for (const auto& [most, count] :
         std::vector<std::pair<std::uint64_t, std::uint32_t>>{{0, 4}, {4, 1}}) {
        std::vector<std::uint32_t> rail_of = planned(layout);
        EXPECT_TRUE(agree_on_rails(node_.team(0), layout, {}, most, count, rail_of));
        EXPECT_EQ(rail_of, planned(layout));
    }
}

TEST_F(RailAgreementTest, a_broken_team_changes_no_rail) {
    node_.ranks().die(4);
    const SendLayout layout = layout_of(0, size_, 4);
    std::vector<std::uint32_t> rail_of = planned(layout);
    node_.start(0,
                team::test::call({team::CollectiveCall::compile_pattern, 0}, [&](team::Team& team) {
                    return agree_on_rails(team, layout, offers_of(layout, {rails, rails}), 4, rails,
                                          rail_of);
                }));
    node_.finish({0});
    EXPECT_EQ(node_.end(0).code(), base::Code::peer);
    EXPECT_EQ(rail_of, planned(layout));
}

}  // namespace
}  // namespace acp::execution
