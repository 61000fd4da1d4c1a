// SPDX-License-Identifier: BSD-3-Clause
// The node segment, for its maker and for processes that map it: its parts do not overlap, each
// process sees what the others write, and an invalid segment is refused with a reason.
#include "node/segment.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/ga_layout.hpp"

#include "unit/node/test_ranges.hpp"

namespace acp::node {
namespace {

Shape shape_of(std::uint32_t procs) {
    Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = procs;
    shape.starter_bytes = 10'000;
    shape.datagram_bytes = 1408;
    return shape;
}

Segment made(const Shape& shape) {
    auto segment = Segment::create(shape, test::test_ranges);
    EXPECT_TRUE(segment.is_ok()) << segment.failure().message();
    return std::move(segment).value();
}

TEST(SegmentTest, every_part_begins_on_a_page_and_after_the_one_before) {
    for (const std::uint32_t procs : {1U, 3U, 64U, local_procs_max}) {
        const SegmentLayout layout = SegmentLayout::of(test::with_claims(shape_of(procs)));
        const std::uint64_t parts[] = {0,
                                       layout.slots,
                                       layout.ranks,
                                       layout.hazards,
                                       layout.tables,
                                       layout.mailboxes,
                                       layout.claims,
                                       layout.failures,
                                       layout.starters,
                                       layout.total};
        for (std::size_t i = 1; i < std::size(parts); ++i) {
            EXPECT_GT(parts[i], parts[i - 1]) << "part " << i << " of " << procs << " ranks";
            EXPECT_EQ(parts[i] % 4096, 0U);
        }
        EXPECT_GE(layout.ranks - layout.slots, procs * sizeof(Slot));
        EXPECT_GE(layout.failures - layout.claims,
                  procs * test::with_claims(shape_of(procs)).claims.end());
        EXPECT_GE(layout.starters - layout.failures, procs * sizeof(UnreportedEntry));
        EXPECT_GE(layout.total - layout.starters, procs * std::uint64_t{10'000});
    }
}

TEST(SegmentTest, is_mapped_twice_and_shows_the_same_memory_in_both_places) {
    const Segment segment = made(shape_of(2));
    const auto again = segment.map_again();
    ASSERT_TRUE(again.is_ok()) << again.failure().message();
    const os::Mapping& second = again.value();
    ASSERT_NE(second.data(), segment.base());
    ASSERT_EQ(second.bytes(), segment.layout().total);
    char* const here = segment.starter(1);
    char* const there = second.data() + (here - segment.base());
    here[7] = 'a';
    EXPECT_EQ(there[7], 'a');
    there[8] = 'b';
    EXPECT_EQ(here[8], 'b');
    // Access rights of one mapping do not change those of the other.
    const std::uint64_t first_page = segment.layout().starters + segment.layout().starter_stride;
    ASSERT_EQ(mprotect(segment.base() + first_page, 4096, PROT_READ), 0);
    there[9] = 'c';
    EXPECT_EQ(here[9], 'c');
    EXPECT_EQ(segment.share().map_again().failure().code(), base::Code::state);
}

TEST(SegmentTest, begins_with_each_rank_on_its_slot_and_no_process_joined) {
    Shape shape = shape_of(3);
    shape.procs = 8;
    shape.first_process = 5;
    const Segment segment = made(shape);
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(segment.slot(i).rank.load(std::memory_order_relaxed), 5 + i);
        EXPECT_EQ(segment.slot(i).state.load(std::memory_order_relaxed),
                  static_cast<std::uint32_t>(SlotState::empty));
        EXPECT_EQ(segment.starter(i)[9'999], 0);
    }
    for (std::uint32_t process = 0; process < 8; ++process) {
        EXPECT_EQ(segment.rank_of(process), process);
        EXPECT_EQ(segment.process_of(process), process);
    }
    EXPECT_EQ(segment.control().deaths.load(std::memory_order_relaxed), 0U);
}

TEST(SegmentTest, a_gateway_has_a_slot_and_a_mailbox_behind_those_of_the_ranks) {
    Shape shape = shape_of(3);
    EXPECT_FALSE(made(shape).has_gateway());
    shape.procs = 8;
    shape.nodes = 3;
    shape.node = 1;
    shape.first_process = 3;
    const Segment segment = made(shape);
    EXPECT_TRUE(segment.has_gateway());
    EXPECT_EQ(segment.gateway_slot(), 3U);
    const char* base = segment.base();
    const SegmentLayout& layout = segment.layout();
    EXPECT_LE(reinterpret_cast<const char*>(&segment.slot(3)) + sizeof(Slot), base + layout.ranks);
    EXPECT_LE(segment.mailbox(3) + layout.mailbox_stride, base + layout.claims);
    EXPECT_LE(reinterpret_cast<const char*>(segment.hazards(3).data() + 64), base + layout.tables);
    EXPECT_LE(segment.rings(2) + RingLayout::bytes, base + layout.hazards);
    EXPECT_LE(reinterpret_cast<const char*>(segment.lost_nodes() + 1), base + layout.rings);
    EXPECT_GT(layout.losses, layout.nodes);
}

TEST(SegmentTest, what_one_mapping_writes_another_one_reads) {
    const Segment maker = made(shape_of(2));
    auto opened = Segment::open(os::FileDescriptor(::dup(maker.file())));
    ASSERT_TRUE(opened.is_ok()) << opened.failure().message();
    const Segment& other = opened.value();
    EXPECT_NE(other.base(), maker.base());
    EXPECT_EQ(other.shape().starter_bytes, 10'000U);
    maker.starter(1)[17] = 'x';
    EXPECT_EQ(other.starter(1)[17], 'x');
    other.tables()[memory::granules_per_process].start.store(99, std::memory_order_relaxed);
    EXPECT_EQ(maker.tables()[memory::granules_per_process].start.load(std::memory_order_relaxed),
              99U);
    EXPECT_EQ(maker.share().starter(1), maker.starter(1));
}

TEST(SegmentTest, one_of_another_build_is_refused) {
    const Segment maker = made(shape_of(1));
    maker.control().shape.layout_hash ^= 1;
    const auto opened = Segment::open(os::FileDescriptor(::dup(maker.file())));
    ASSERT_FALSE(opened.is_ok());
    EXPECT_EQ(opened.failure().code(), base::Code::mismatch);
}

TEST(SegmentTest, shapes_out_of_range_are_refused_and_those_at_the_limit_are_not) {
    EXPECT_TRUE(Segment::create(shape_of(1)).is_ok());
    for (const std::uint32_t procs : {0U, local_procs_max + 1}) {
        const auto refused = Segment::create(shape_of(procs));
        ASSERT_FALSE(refused.is_ok()) << procs;
        EXPECT_EQ(refused.failure().code(), base::Code::argument);
    }
    Shape shape = shape_of(2);
    shape.procs = 1;  // fewer in the job than on the node
    EXPECT_EQ(Segment::create(shape).failure().code(), base::Code::argument);
    shape = shape_of(local_procs_max);
    shape.procs = 2 * local_procs_max;
    shape.nodes = 2;  // its gateway has no slot left
    EXPECT_EQ(Segment::create(shape).failure().code(), base::Code::argument);
    shape = shape_of(2);
    shape.procs = 4;
    shape.nodes = 2;
    EXPECT_TRUE(Segment::create(shape).is_ok());
    shape.node = 2;  // one past the last
    EXPECT_EQ(Segment::create(shape).failure().code(), base::Code::argument);
    shape.node = 1;
    shape.first_process = 3;  // and one past the job's last
    EXPECT_EQ(Segment::create(shape).failure().code(), base::Code::argument);
    shape = shape_of(1);
    shape.starter_bytes = starter_bytes_max + 1;
    EXPECT_EQ(Segment::create(shape).failure().code(), base::Code::argument);
}

}  // namespace
}  // namespace acp::node
