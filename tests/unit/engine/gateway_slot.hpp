// SPDX-License-Identifier: BSD-3-Clause
// A node whose ranks are objects of this process, and what a gateway of that node opens for its own
// slot: its view of the node's memory, hazard lines, attach and port. A test polls the ranks'
// forwarders, so it decides when an owner takes its messages. One thread.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "local/attach.hpp"
#include "os/process.hpp"

#include "support/scoped_watchdog.hpp"
#include "unit/gateway/test_job.hpp"
#include "unit/mailbox/test_rank.hpp"

namespace acp::engine::test {

using mailbox::test::Memory;
using mailbox::test::Rank;
using memory::GlobalAddress;

class GatewaySlot {
public:
    //   counts  the ranks of each node of the job; `node` is the one that this object makes
    explicit GatewaySlot(const std::vector<std::uint32_t>& counts, std::uint32_t node = 0)
        : segment(gateway::test::make_segment(options_of(counts), node)),
          slot(counts[node]),
          hazards(segment, slot),
          attach(std::make_unique<local::Attach>(segment, slot, true)) {
        for (std::uint32_t rank = 0; rank < slot; ++rank) {
            ranks.push_back(std::make_unique<Rank>(segment, rank, false, false));
            tokens_.push_back(std::make_unique<local::Attach>(segment, rank, true));
            tokens_.back()->publish_token();
        }
        EXPECT_TRUE(space.open(segment, slot, {true, true}, nullptr).is_ok());
        auto opened = mailbox::Port::open(segment, slot);
        EXPECT_TRUE(opened.is_ok());
        port = std::move(opened).value();
    }

    // Memory that a rank has registered, which no other process has mapped.
    [[nodiscard]] const Memory& own(std::uint32_t rank) const { return ranks[rank]->own; }

    // Memory of a rank that all processes of the node have mapped.
    [[nodiscard]] const Memory& shared(std::uint32_t rank) const { return ranks[rank]->shared; }

    void poll_rank(std::uint32_t rank) { ranks[rank]->forwarder->poll(); }

    // The kernel refuses each copy from and to a rank from now on, although the rank lives.
    void refuse_attach(std::uint32_t rank) {
        segment.slot(rank).pid.store(static_cast<std::uint32_t>(os::own_pid()));
        EXPECT_TRUE(attach->can_reach(rank));
        segment.slot(rank).pid.store(0x7ffffff0);  // no process has it
    }

    static gateway::test::JobOptions options_of(const std::vector<std::uint32_t>& counts) {
        gateway::test::JobOptions options;
        options.counts = counts;
        return options;
    }

    acp::test::ScopedWatchdog watchdog{"a test of a gateway's slot"};
    node::Segment segment;
    std::uint32_t slot;
    local::Space space;
    local::Hazards hazards;
    std::unique_ptr<local::Attach> attach;
    std::unique_ptr<mailbox::Port> port;
    std::vector<std::unique_ptr<Rank>> ranks;

private:
    std::vector<std::unique_ptr<local::Attach>> tokens_;
};

// Bytes that follow from their index and from the seed.
inline std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t seed) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        made[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
    return made;
}

inline std::vector<std::byte> bytes_at(const char* from, std::size_t bytes) {
    const auto* const first = reinterpret_cast<const std::byte*>(from);
    return {first, first + bytes};
}

}  // namespace acp::engine::test
