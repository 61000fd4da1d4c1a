// SPDX-License-Identifier: BSD-3-Clause
// Sizes are the distances between the parts of SegmentLayout, so that no size is stated twice. The
// pages touched at start follow from the writes that a joining rank makes.
#include "node/footprint.hpp"

#include <algorithm>

#include "memory/address_table.hpp"
#include "memory/ga_layout.hpp"
#include "node/mailbox_layout.hpp"
#include "node/node_table.hpp"
#include "node/segment.hpp"

namespace acp::node {

namespace {

constexpr std::uint64_t page_bytes = 4096;
static_assert(hazards_stride == page_bytes);

constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

// A rank's row begins on a page; at start it holds the entries of the starter memory and of the
// claimed ranges.
std::uint64_t table_start_bytes(const Shape& shape) {
    const memory::GaLayout addresses(shape.procs);
    const std::uint64_t granules = addresses.granules_for(shape.starter_bytes) +
                                   addresses.granules_for(shape.claims.addressed_end());
    return whole_pages(granules * sizeof(memory::TableEntry));
}

// Pages of one process's rings that its polling reads: of each ring the control lines and the first
// cell.
std::uint64_t polled_pages(const Shape& shape, std::uint64_t ring_stride) {
    std::uint64_t pages = 0;
    std::uint64_t next_page = 0;  // the first page not counted yet
    for (std::uint64_t ring = 0; ring < slots_of(shape); ++ring) {
        const std::uint64_t first = ring * ring_stride / page_bytes;
        const std::uint64_t last = (ring * ring_stride + ring_control_bytes) / page_bytes;
        pages += last + 1 - std::max(first, next_page);
        next_page = last + 1;
    }
    return pages;
}

// A pool is first touched by a message; rings are touched by polling.
std::uint64_t mailbox_start_bytes(const Shape& shape) {
    const auto path = static_cast<base::IntraNode>(shape.intranode);
    if (path == base::IntraNode::udp) return 0;  // messages are datagrams
    switch (static_cast<base::MailboxKind>(shape.mailbox_kind)) {
        case base::MailboxKind::mpsc:
            return 0;
        case base::MailboxKind::pairs:
            if (path != base::IntraNode::mailbox) return 0;
            return polled_pages(shape, MailboxLayout::of(shape).ring_stride) * page_bytes;
        case base::MailboxKind::bitmap:
            return 0;
    }
    return 0;
}

}  // namespace

std::vector<FootprintPart> footprint_of(const Shape& wanted, ClaimedRanges ranges) {
    Shape shape = wanted;
    shape.claims = Claims::of(shape, ranges);
    const SegmentLayout layout = SegmentLayout::of(shape);
    const std::uint64_t n = shape.local_procs;
    const std::uint64_t slots = layout.ranks - layout.slots;
    const std::uint64_t ranks = layout.nodes - layout.ranks;
    const std::uint64_t nodes = layout.losses - layout.nodes;
    const std::uint64_t losses = layout.rings - layout.losses;
    const std::uint64_t rings = layout.hazards - layout.rings;
    const std::uint64_t hazards = layout.tables - layout.hazards;
    const std::uint64_t tables = layout.mailboxes - layout.tables;
    const std::uint64_t mailboxes = layout.claims - layout.mailboxes;
    const std::uint64_t claims = layout.failures - layout.claims;
    const std::uint64_t failures = layout.starters - layout.failures;
    const std::uint64_t starters = layout.total - layout.starters;
    // If every process is its own gateway, acp_init gathers their ports in the last of the three
    // tables.
    const std::uint64_t table = shape.procs * sizeof(SharedU32);
    const std::uint64_t gathered =
        shape.has_own_gateways != 0 ? whole_pages(3 * table) - 2 * table / page_bytes * page_bytes
                                    : 0;
    std::vector<FootprintPart> parts = {
        {"control block", "", layout.slots, layout.slots, layout.slots},
        {"slots", "", slots, slots, slots},
        {"ranks of processes", gathered < ranks ? "acp_reset" : "", ranks, gathered, gathered}};
    if (shape.nodes > 1) {
        const std::uint64_t one_address_each = whole_pages(NodeTable::used_bytes(shape.nodes, 1));
        parts.push_back({"node table", nodes > one_address_each ? "addresses of a node" : "", nodes,
                         one_address_each, one_address_each});
        parts.push_back({"losses", "deaths on other nodes", losses, 0, 0});
        // Both ends read their counters when they are constructed, and reading a page takes memory.
        const std::uint64_t cells = n * invoke_cells * invoke_cell_bytes;
        parts.push_back({"rings to the gateway", "commands to other nodes", rings - cells,
                         n * page_bytes, rings - cells});
        parts.push_back({"cells for operations", "operations on other nodes", cells, 0, 0});
    }
    // The first thread of a process touches all lines of its slot: a page in size, but not aligned
    // to one.
    parts.push_back({"hazard lines", "", hazards, hazards, hazards});
    const std::uint64_t tables_start = n * table_start_bytes(shape);
    parts.push_back({"address tables", "registrations", tables, tables_start, tables_start});
    const std::uint64_t polled = slots_of(shape) * mailbox_start_bytes(shape);
    parts.push_back({"mailboxes", "private memory used by others", mailboxes, polled, polled});
    // The heaps' share of the claimed ranges: blocks, and the words and caches beside them.
    Shape without_heaps = shape;
    without_heaps.heap_bytes = 0;
    without_heaps.claims = Claims::of(without_heaps, ranges);
    const SegmentLayout without = SegmentLayout::of(without_heaps);
    const std::uint64_t others = without.failures - without.claims;
    parts.push_back({"ranges of layers", "acp_fetch_...", others, 0, 0});
    if (claims > others) parts.push_back({"heaps", "acp_malloc", claims - others, 0, 0});
    parts.push_back({"messages of failures", "failed commands", failures, 0, 0});
    parts.push_back({"starter memory", "", starters, starters, starters});
    return parts;
}

}  // namespace acp::node
