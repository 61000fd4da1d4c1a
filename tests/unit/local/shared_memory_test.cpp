// SPDX-License-Identifier: BSD-3-Clause
// Which buffers lie in memory that a node shares, to the byte, and that their places and addresses
// name the same bytes.
#include "local/shared_memory.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "claims/library_claims.hpp"

namespace acp::local::test {
namespace {

constexpr std::uint64_t huge = ~std::uint64_t{0};

class SharedMemoryTest : public testing::Test {
protected:
    SharedMemoryTest() {
        base::Config config;
        config.starter_bytes = 1 << 16;
        config.heap_bytes = 8 << 20;
        auto made = node::Segment::create(node::shape_for(config, 2), claims::library_claims());
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        segment_ = std::move(made).value();
        EXPECT_TRUE(space_.open(segment_, own, {}, nullptr).is_ok());
        space_.publish_shared();
    }

    static constexpr std::uint32_t own = 1;
    node::Segment segment_;
    Space space_;
};

TEST_F(SharedMemoryTest, a_range_has_what_lies_in_it_to_the_byte) {
    std::vector<char> memory(300);
    const SharedRange range{memory.data() + 100, 100};
    EXPECT_TRUE(range.has(memory.data() + 100, 100));
    EXPECT_TRUE(range.has(memory.data() + 199, 1));
    EXPECT_TRUE(range.has(memory.data() + 200, 0));
    EXPECT_FALSE(range.has(memory.data() + 100, 101));
    EXPECT_FALSE(range.has(memory.data() + 199, 2));
    EXPECT_FALSE(range.has(memory.data() + 99, 1));
    EXPECT_FALSE(range.has(memory.data() + 99, huge));
    EXPECT_FALSE(range.has(memory.data() + 101, huge)) << "which ends before it begins";
    EXPECT_FALSE(range.has_place(huge, 2));
    EXPECT_FALSE(range.has_place(huge - 50, 100));
    EXPECT_EQ(range.at(range.place_of(memory.data() + 150)), memory.data() + 150);
    EXPECT_FALSE(SharedRange{}.has(memory.data(), 1));
}

TEST_F(SharedMemoryTest, addresses_of_own_memory_lead_back_to_it) {
    const SharedRange starter = starter_memory(segment_, own);
    const SharedRange heap = heap_memory(segment_, own);
    for (const SharedRange& range : {starter, heap}) {
        EXPECT_TRUE(node_memory(segment_).has(range.start, range.bytes));
        for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{77}, range.bytes - 8}) {
            const GlobalAddress address = shared_address(space_, range.at(place), 8);
            ASSERT_NE(address, 0U);
            EXPECT_EQ(shared_pointer(space_, space_.process(), address), range.at(place));
            Place found;
            ASSERT_EQ(space_.find(address, 8, found), base::Code::ok);
            EXPECT_EQ(found.direct, range.at(place));
        }
        EXPECT_EQ(shared_address(space_, range.at(range.bytes - 7), 8), 0U);
        EXPECT_EQ(shared_address(space_, range.start + 1, huge), 0U);
    }
    EXPECT_EQ(shared_address(space_, starter_memory(segment_, 0).start, 8), 0U) << "another one's";
    EXPECT_EQ(shared_address(space_, segment_.base(), 8), 0U);
    const char other = 0;
    EXPECT_EQ(shared_address(space_, &other, 1), 0U);
    EXPECT_FALSE(node_memory(segment_).has(&other, 1));
}

TEST_F(SharedMemoryTest, addresses_of_another_process_lead_to_its_memory) {
    const std::uint32_t other = 1 - own;
    const GlobalAddress starter = space_.starter_address(other) + 9;
    EXPECT_EQ(shared_pointer(space_, other, starter), segment_.starter(other) + 9);
    const GlobalAddress heap = space_.claimed_address(other, node::heap_blocks) + 9;
    EXPECT_EQ(shared_pointer(space_, other, heap), heap_memory(segment_, other).at(9));
}

// namespace acp::local::test
}  // namespace
}  // namespace acp::local::test
