// SPDX-License-Identifier: BSD-3-Clause
// The figures of acpinfo --memory are compared with segments that are really made. One thread.
#include "node/footprint.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/stat.h>
#include <vector>

#include "node/mailbox_layout.hpp"
#include "node/node_table.hpp"
#include "node/segment.hpp"

#include "unit/node/test_ranges.hpp"

namespace acp::node {
namespace {

Shape shape_of(std::uint32_t local_procs, std::uint64_t starter_bytes, base::MailboxKind kind) {
    Shape shape;
    shape.procs = local_procs;
    shape.local_procs = local_procs;
    shape.machine_procs = local_procs;
    shape.starter_bytes = starter_bytes;
    shape.mailbox_kind = static_cast<std::uint32_t>(kind);
    shape.intranode = static_cast<std::uint32_t>(base::IntraNode::mailbox);
    shape.datagram_bytes = 1408;
    return shape;
}

std::vector<Shape> shapes() {
    std::vector<Shape> all;
    for (const auto kind :
         {base::MailboxKind::mpsc, base::MailboxKind::pairs, base::MailboxKind::bitmap}) {
        for (const std::uint32_t n : {1U, 3U, 16U}) {
            for (const std::uint64_t starter_bytes : {0U, 1U, 65536U, 100'000U}) {
                all.push_back(shape_of(n, starter_bytes, kind));
            }
        }
    }
    for (const std::uint32_t nodes : {2U, 300U}) {
        Shape shape = shape_of(3, 65536, base::MailboxKind::mpsc);
        shape.nodes = nodes;
        shape.procs = 3 * nodes;
        all.push_back(shape);
    }
    return all;
}

std::uint64_t reserved(const Shape& shape) {
    const auto parts = footprint_of(shape, test::test_ranges);
    return std::accumulate(
        parts.begin(), parts.end(), std::uint64_t{0},
        [](std::uint64_t sum, const FootprintPart& part) { return sum + part.reserved_bytes; });
}

std::uint64_t at_start(const Shape& shape) {
    const auto parts = footprint_of(shape, test::test_ranges);
    return std::accumulate(
        parts.begin(), parts.end(), std::uint64_t{0},
        [](std::uint64_t sum, const FootprintPart& part) { return sum + part.start_bytes; });
}

// The bytes that the kernel has given to a segment's file.
std::uint64_t resident(const Segment& segment) {
    struct stat status {};

    EXPECT_EQ(fstat(segment.file(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

// Reads one process's mailboxes as a poll does. Returns a sum, so that the compiler keeps the
// reads.
unsigned look_into_mailboxes(const Segment& segment, const Shape& shape, std::uint32_t slot) {
    unsigned seen = 0;
    const char* const mailbox = segment.mailbox(slot);
    switch (static_cast<base::MailboxKind>(shape.mailbox_kind)) {
        case base::MailboxKind::pairs:
            for (std::uint32_t i = 0; i < shape.local_procs; ++i) {
                const char* const ring = mailbox + i * MailboxLayout::of(shape).ring_stride;
                seen += static_cast<unsigned char>(ring[0]);
                seen += static_cast<unsigned char>(ring[ring_control_bytes]);
            }
            break;
        case base::MailboxKind::mpsc:
        case base::MailboxKind::bitmap:
            break;
    }
    return seen;
}

// Accesses what a rank accesses while it joins: its slot, its hazard lines, the entries of its
// shared segments, and its mailboxes; and the words into which the gateway writes the gathered
// values.
void join_all(const Segment& segment, const Shape& shape) {
    const memory::GaLayout addresses(shape.procs);
    for (std::uint32_t i = 0; i < shape.local_procs; ++i) {
        segment.slot(i).state.store(1, std::memory_order_relaxed);
        for (auto& line : segment.hazards(i)) line.claims.store(1, std::memory_order_relaxed);
        memory::TableEntry* const row =
            segment.tables() + std::uint64_t{i} * memory::granules_per_process;
        const std::uint64_t granules =
            addresses.granules_for(shape.starter_bytes) +
            addresses.granules_for(segment.shape().claims.addressed_end());
        for (std::uint64_t g = 0; g < granules; ++g) {
            row[g].bytes.store(1, std::memory_order_relaxed);
        }
        EXPECT_EQ(look_into_mailboxes(segment, shape, i), 0U);
    }
    if (segment.has_gateway()) {
        NodeAddress address;
        address.family = 4;
        for (std::uint32_t node = 0; node < shape.nodes; ++node) {
            EXPECT_TRUE(NodeTable(segment).set(node, 3 * node, {&address, 1}).is_ok());
        }
        for (std::uint32_t i = 0; i < shape.local_procs; ++i) EXPECT_EQ(*segment.rings(i), 0);
        for (std::uint32_t process = 0; process < shape.procs && shape.has_own_gateways != 0;
             ++process) {
            segment.wanted_table()[process].store(1, std::memory_order_relaxed);
        }
        segment.slot(segment.gateway_slot()).state.store(1, std::memory_order_relaxed);
        for (auto& line : segment.hazards(segment.gateway_slot()))
            line.claims.store(1, std::memory_order_relaxed);
    }
}

TEST(Footprint, the_parts_add_up_to_the_segment) {
    for (const Shape& shape : shapes())
        EXPECT_EQ(reserved(shape), SegmentLayout::of(test::with_claims(shape)).total);
}

TEST(Footprint, a_node_that_has_just_joined_takes_what_is_stated) {
    for (const Shape& shape : shapes()) {
        auto segment = Segment::create(shape, test::test_ranges);
        ASSERT_TRUE(segment.is_ok()) << segment.failure().message();
        join_all(segment.value(), shape);
        EXPECT_EQ(resident(segment.value()), at_start(shape))
            << shape.local_procs << " ranks, starter " << shape.starter_bytes;
    }
}

TEST(Footprint, a_segment_used_to_its_last_byte_takes_what_is_reserved) {
    const Shape shape = shape_of(3, 65536, base::MailboxKind::pairs);
    auto segment = Segment::create(shape, test::test_ranges);
    ASSERT_TRUE(segment.is_ok()) << segment.failure().message();
    std::memset(segment.value().base(), 1, segment.value().layout().total);
    EXPECT_EQ(resident(segment.value()), reserved(shape));
}

TEST(Footprint, no_part_starts_larger_than_it_can_become) {
    for (const Shape& shape : shapes()) {
        for (const FootprintPart& part : footprint_of(shape, test::test_ranges)) {
            EXPECT_LE(part.start_bytes, part.used_bytes) << part.name;
            EXPECT_LE(part.used_bytes, part.reserved_bytes) << part.name;
            EXPECT_EQ(part.growth.empty(), part.start_bytes == part.reserved_bytes) << part.name;
        }
    }
}

TEST(Footprint, grows_with_the_ranks_and_pairs_more_than_a_shared_pool) {
    for (const auto kind : {base::MailboxKind::mpsc, base::MailboxKind::pairs}) {
        std::uint64_t before = 0;
        for (std::uint32_t n = 1; n <= local_procs_max; n *= 2) {
            const std::uint64_t now = reserved(shape_of(n, 65536, kind));
            EXPECT_GT(now, before);
            before = now;
        }
    }
    EXPECT_GT(reserved(shape_of(64, 0, base::MailboxKind::pairs)),
              reserved(shape_of(64, 0, base::MailboxKind::mpsc)));
}

}  // namespace
}  // namespace acp::node
