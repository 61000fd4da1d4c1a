// SPDX-License-Identifier: BSD-3-Clause
// A node whose ranks are objects of the test's process: each has its global memory access, the heap
// of its process, and containers, on one mapping of the node segment. The test calls the layers
// above for any of them, by one thread or by one for each rank. No rank is a process: a test ends a
// rank by die(), and calls it no more.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "data/allocator.hpp"
#include "data/hashed.hpp"
#include "gma/gma.hpp"
#include "local/hazards.hpp"
#include "node/death.hpp"
#include "node/member.hpp"
#include "node/segment.hpp"

#include "claims/library_claims.hpp"
#include "operations/library_operations.hpp"

namespace acp::test {

// The layers of one rank, in the order in which they are opened.
struct NodeRank {
    NodeRank(const node::Segment& node, std::uint32_t slot, const base::Config& config)
        : member(node.share(), slot), hazards(member.segment(), slot) {
        EXPECT_TRUE(member.take_slot().is_ok());
        auto opened = gma::Gma::open(member, hazards, fast, config,
                                     {nullptr, nullptr, &operations::library_operations()});
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        gma = std::move(opened).value();
        allocator = std::make_unique<data::Allocator>(*gma);
        hashed = std::make_unique<data::Hashed>(*gma, *allocator);
    }

    node::Member member;
    local::Hazards hazards;
    gma::FastPath fast;
    std::unique_ptr<gma::Gma> gma;
    std::unique_ptr<data::Allocator> allocator;
    std::unique_ptr<data::Hashed> hashed;
};

class RankNode {
public:
    explicit RankNode(std::uint32_t procs, std::uint64_t heap_bytes = 8 << 20) {
        config_.starter_bytes = 1 << 16;
        config_.heap_bytes = heap_bytes;
        auto made =
            node::Segment::create(node::shape_for(config_, procs), claims::library_claims());
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        segment_ = std::move(made).value();
        for (std::uint32_t slot = 0; slot < procs; ++slot)
            ranks_.push_back(std::make_unique<NodeRank>(segment_, slot, config_));
    }

    [[nodiscard]] NodeRank& operator[](std::uint32_t rank) { return *ranks_[rank]; }

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }

    [[nodiscard]] const node::Segment& segment() const { return segment_; }

    // The bytes in use in the heap of each rank.
    [[nodiscard]] std::vector<std::uint64_t> used() {
        std::vector<std::uint64_t> all;
        for (std::uint32_t rank = 0; rank < size(); ++rank)
            all.push_back(ranks_[rank]->allocator->usage(rank).value().block_bytes);
        return all;
    }

    // Expects that no heap has a finding.
    void check_heaps() {
        for (std::uint32_t rank = 0; rank < size(); ++rank) {
            const base::Status status = ranks_[rank]->allocator->check(rank);
            EXPECT_TRUE(status.is_ok()) << status.message();
        }
    }

    // The process of the rank was killed by signal 9, for all others to see.
    void die(std::uint32_t rank) { node::mark_dead(segment_, rank, 9); }

private:
    base::Config config_;  // outlives the ranks, which refer to it
    node::Segment segment_;
    std::vector<std::unique_ptr<NodeRank>> ranks_;
};

// Runs body(rank) for each rank in a thread of its own, and waits for all.
inline void in_threads(std::uint32_t ranks, const std::function<void(std::uint32_t)>& body) {
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
    for (std::thread& thread : threads) thread.join();
}

}  // namespace acp::test
