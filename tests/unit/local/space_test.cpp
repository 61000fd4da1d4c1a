// SPDX-License-Identifier: BSD-3-Clause
// A process's view of its node's memory: addresses found and refused, memory reached by loads and
// stores, and the table after the end of an epoch.
#include "local/space.hpp"

#include <array>
#include <limits>

#include "unit/local/test_owner.hpp"

namespace acp::local::test {
namespace {

using base::Code;
using memory::GlobalAddress;

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

// Processes 5 and 6 of a job of 7, which are alone on their node.
class SpaceTest : public testing::Test {
protected:
    [[nodiscard]] GlobalAddress starter(std::uint32_t rank) const {
        return owner_.space.starter_address(rank);
    }

    node::Segment node_ = make_node(7, 2);
    Owner owner_{node_, 0};
    Owner other_{node_, 1};
    std::array<char, 256> memory_{};
};

TEST_F(SpaceTest, knows_its_processes_and_their_ranks) {
    EXPECT_EQ(owner_.space.process(), 5U);
    EXPECT_EQ(other_.space.process(), 6U);
    EXPECT_EQ(owner_.space.rank(), 5U);
    EXPECT_EQ(other_.space.rank(), 6U);
    EXPECT_TRUE(owner_.space.is_on_node(6));
    EXPECT_FALSE(owner_.space.is_on_node(4));
    EXPECT_FALSE(owner_.space.is_on_node(7));
    EXPECT_EQ(owner_.space.slot_of(6), 1U);
}

TEST_F(SpaceTest, refuses_null_and_wild_addresses) {
    const auto& layout = owner_.space.layout();
    for (const GlobalAddress wild :
         {GlobalAddress{0}, GlobalAddress{1}, ~GlobalAddress{0}, starter(4), starter(7),
          layout.segment_start(5, 0, 0), layout.segment_start(5, 9, 1),
          layout.segment_start(6, 8191, 3)}) {
        for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, huge}) {
            EXPECT_EQ(owner_.find(wild, bytes), Code::address)
                << std::hex << wild << ", bytes " << bytes;
            char* place = nullptr;
            EXPECT_FALSE(owner_.space.view().find_direct(wild, bytes, place) && bytes != 0);
        }
    }
}

TEST_F(SpaceTest, refuses_what_leaves_its_segment) {
    const GlobalAddress key = owner_.add(memory_.data(), memory_.size());
    for (const GlobalAddress start : {key, starter(5), starter(6)}) {
        const std::uint64_t size = start == key ? memory_.size() : test_starter_bytes;
        EXPECT_EQ(owner_.find(start, size), Code::ok);
        EXPECT_EQ(owner_.find(start + size, 0), Code::ok);
        EXPECT_EQ(owner_.find(start + size, 1), Code::address);
        EXPECT_EQ(owner_.find(start, size + 1), Code::address);
        EXPECT_EQ(owner_.find(start + 1, size), Code::address);
        EXPECT_EQ(owner_.find(start + 1, huge), Code::address) << "offset + bytes wraps to 0";
        EXPECT_EQ(owner_.find(start + size - 1, huge), Code::address);
        EXPECT_EQ(owner_.find(start - 1, 1), Code::address);
        char* place = nullptr;
        EXPECT_FALSE(owner_.space.view().find_direct(start + 1, huge, place));
        EXPECT_FALSE(owner_.space.view().find_direct(start + 1, size, place));
    }
}

TEST_F(SpaceTest, finds_starter_memory_of_all_ranks_of_the_node) {
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
        Place place;
        ASSERT_EQ(owner_.space.find(starter(5 + slot) + 77, 8, place), Code::ok);
        EXPECT_EQ(place.direct, owner_.segment.starter(slot) + 77);
        EXPECT_EQ(place.slot, slot);
        EXPECT_EQ(place.is_own, slot == 0);
        EXPECT_TRUE(place.is_shared());
        EXPECT_EQ(owner_.direct(starter(5 + slot) + 77), owner_.segment.starter(slot) + 77);
    }
}

TEST_F(SpaceTest, finds_what_layers_claim_of_all_ranks_of_the_node) {
    const std::uint64_t size = owner_.segment.shape().claims.addressed_end();
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
        const GlobalAddress address = owner_.space.claimed_start(5 + slot);
        EXPECT_TRUE(owner_.space.is_shared(address));
        Place place;
        ASSERT_EQ(owner_.space.find(address + size - 8, 8, place), Code::ok);
        EXPECT_EQ(place.direct, owner_.segment.claimed(slot) + size - 8);
        EXPECT_TRUE(place.is_shared());
        EXPECT_EQ(other_.direct(address), other_.segment.claimed(slot));
        EXPECT_EQ(owner_.space.find(address + size - 8, 9, place), Code::address);
    }
}

TEST_F(SpaceTest, knows_the_ends_of_the_shared_segments_of_other_nodes) {
    const Space& space = owner_.space;
    const GlobalAddress claimed = space.claimed_start(4);
    const std::uint64_t addressed_bytes = owner_.segment.shape().claims.addressed_end();
    EXPECT_TRUE(space.is_elsewhere(claimed, addressed_bytes));
    EXPECT_FALSE(space.is_elsewhere(claimed, addressed_bytes + 1));
    EXPECT_FALSE(space.is_elsewhere(claimed - 1, 1)) << "between the two segments";
    EXPECT_TRUE(space.is_elsewhere(starter(4), test_starter_bytes));
    EXPECT_FALSE(space.is_elsewhere(starter(4), test_starter_bytes + 1));
    const GlobalAddress registered = space.layout().segment_start(4, space.shared_granules(), 1);
    EXPECT_FALSE(space.is_shared(registered));
    EXPECT_TRUE(space.is_elsewhere(registered, 8)) << "only its node knows";
}

TEST_F(SpaceTest, private_memory_is_direct_for_its_owner_only) {
    const GlobalAddress key = owner_.add(memory_.data(), memory_.size());
    EXPECT_EQ(owner_.direct(key + 9), memory_.data() + 9);
    EXPECT_EQ(other_.direct(key + 9), nullptr);
    Place place;
    ASSERT_EQ(owner_.space.find(key + 9, 1, place), Code::ok);
    EXPECT_EQ(place.direct, memory_.data() + 9);
    ASSERT_EQ(other_.space.find(key + 9, 1, place), Code::ok);
    EXPECT_EQ(place.direct, nullptr);
    EXPECT_EQ(place.owner_address, reinterpret_cast<std::uint64_t>(memory_.data() + 9));
    EXPECT_EQ(place.slot, 0U);
    EXPECT_FALSE(place.is_own);
    EXPECT_FALSE(place.is_shared());
    EXPECT_EQ(owner_.remove(key), Code::ok);
    EXPECT_EQ(owner_.direct(key + 9), nullptr);
    EXPECT_EQ(owner_.find(key), Code::stale);
    EXPECT_EQ(other_.find(key), Code::stale);
}

TEST_F(SpaceTest, gives_the_reason_why_an_address_is_bad) {
    const GlobalAddress key = owner_.add(memory_.data(), memory_.size());
    const auto& space = owner_.space;
    const auto expect = [&](GlobalAddress address, const std::string& part) {
        EXPECT_NE(space.explain(address, 8).find(part), std::string::npos)
            << space.explain(address, 8);
    };
    expect(0, "null");
    expect(starter(7), "process, 7, is not in this job of 7");
    expect(starter(4), "8 bytes at global address ");
    expect(starter(4), "an address of rank 4 on node 0");
    expect(starter(4) + node_.shape().starter_bytes - 4,
           ": offset " + std::to_string(node_.shape().starter_bytes - 4) + " of a segment of " +
               std::to_string(node_.shape().starter_bytes) + " bytes on rank 4 on node 0");
    expect(space.layout().segment_start(4, 0, 0),
           "no memory is registered there on rank 4 on node");
    EXPECT_NE(space.explain(starter(4), 1).find("1 byte at"), std::string::npos);
    expect(space.layout().segment_start(6, 99, 1), "no memory is registered there on rank 6");
    expect(key + 250, "offset 250 of a segment of 256 bytes on rank 5");
    EXPECT_EQ(owner_.remove(key), Code::ok);
    expect(key, "memory of rank 5 was unregistered");
}

// The message about memory that was never registered does not call it unregistered, and agrees with
// the code.
TEST_F(SpaceTest, reports_a_wild_address_as_not_registered) {
    const auto& layout = owner_.space.layout();
    for (const GlobalAddress wild :
         {layout.segment_start(5, 0, 0) + 5, starter(5) ^ layout.segment_start(0, 0, 3),
          layout.segment_start(6, 99, 0)}) {
        EXPECT_EQ(owner_.find(wild), Code::address);
        const std::string text = owner_.space.explain(wild, 8);
        EXPECT_NE(text.find("no memory is registered there on rank "), std::string::npos) << text;
    }
}

TEST_F(SpaceTest, closing_takes_only_its_own_row_away) {
    const GlobalAddress key = owner_.add(memory_.data(), memory_.size());
    owner_.space.close();
    EXPECT_EQ(other_.find(starter(5)), Code::address);
    EXPECT_EQ(other_.direct(starter(5)), nullptr);
    EXPECT_EQ(other_.find(key), Code::stale);
    EXPECT_EQ(other_.find(starter(6)), Code::ok);
}

TEST_F(SpaceTest, closing_takes_no_memory) {
    const GlobalAddress key = owner_.add(memory_.data(), memory_.size());
    EXPECT_EQ(owner_.remove(key), Code::ok);
    const std::uint64_t before = resident_bytes(node_);
    owner_.space.close();
    EXPECT_EQ(resident_bytes(node_), before);
}

TEST_F(SpaceTest, closing_ends_the_last_of_many_registrations) {
    GlobalAddress last = 0;
    for (int i = 0; i < 1000; ++i) last = owner_.add(memory_.data(), memory_.size());
    owner_.space.close();
    EXPECT_EQ(other_.find(last), Code::stale);
    ASSERT_TRUE(owner_.space.open(owner_.segment, 0, {}, owner_.own_row.get()).is_ok());
    owner_.space.publish_shared();
    EXPECT_EQ(owner_.find(last), Code::stale);
}

TEST_F(SpaceTest, opening_again_gives_the_same_starter_address) {
    owner_.space.close();
    ASSERT_TRUE(owner_.space.open(owner_.segment, 0, {}, owner_.own_row.get()).is_ok());
    EXPECT_EQ(owner_.find(starter(5)), Code::address) << "not before it is published";
    owner_.space.publish_shared();
    EXPECT_EQ(owner_.direct(starter(5)), owner_.segment.starter(0));
    EXPECT_EQ(other_.direct(starter(5)), other_.segment.starter(0));
}

TEST(SpaceReachTest, nothing_is_direct_where_the_configuration_forbids_it) {
    const node::Segment node = make_node(2, 2);
    const Reach nothing{.is_shared_direct = false, .is_own_direct = false};
    Owner owner(node, 0, true, nothing);
    const Owner other(node, 1, true, nothing);
    std::array<char, 64> memory{};
    const GlobalAddress key = owner.add(memory.data(), memory.size());
    for (const GlobalAddress address :
         {key, owner.space.starter_address(0), owner.space.starter_address(1)}) {
        EXPECT_EQ(owner.direct(address), nullptr);
        EXPECT_EQ(other.direct(address), nullptr);
        EXPECT_EQ(owner.find(address), Code::ok);
    }
}

TEST(SpaceReachTest, own_memory_stays_direct_where_only_shared_memory_is_forbidden) {
    const node::Segment node = make_node(2, 2);
    Owner owner(node, 0, true, {.is_shared_direct = false, .is_own_direct = true});
    std::array<char, 64> memory{};
    EXPECT_EQ(owner.direct(owner.add(memory.data(), memory.size())), memory.data());
    EXPECT_EQ(owner.direct(owner.space.starter_address(0)), owner.segment.starter(0));
    EXPECT_EQ(owner.direct(owner.space.starter_address(1)), nullptr);
}

TEST(SpaceReachTest, without_a_window_others_see_the_same_row) {
    const node::Segment node = make_node(2, 2);
    Owner owner(node, 0, false);
    EXPECT_EQ(owner.space.window_row(), owner.space.shared_row());
    std::array<char, 64> memory{};
    const GlobalAddress key = owner.add(memory.data(), memory.size());
    EXPECT_EQ(owner.direct(key), nullptr);
    EXPECT_EQ(owner.find(key, 64), Code::ok);
    EXPECT_EQ(owner.remove(key), Code::ok);
    EXPECT_EQ(owner.find(key, 64), Code::stale);
}

// namespace acp::local::test
}  // namespace
}  // namespace acp::local::test
