// SPDX-License-Identifier: BSD-3-Clause
// Several ranks of a node in one process, on one mapping of the node, each with its global memory
// access and a range of registered private memory. The test's thread issues for any rank; the
// ranks' service threads do the rest.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <utility>
#include <vector>

#include "gma/gma.hpp"
#include "local/hazards.hpp"
#include "node/member.hpp"
#include "node/segment.hpp"

#include "claims/library_claims.hpp"

namespace acp::gma::test {

constexpr std::uint64_t private_bytes = 1 << 20;

inline Command copy(GlobalAddress target, GlobalAddress source, std::uint64_t bytes) {
    return {.target = target, .source = source, .bytes = bytes};
}

// One rank; its parts in the order in which they must be made.
struct Rank {
    Rank(const node::Segment& node, std::uint32_t slot, const base::Config& config)
        : member(node.share(), slot), hazards(member.segment(), slot) {
        EXPECT_TRUE(member.take_slot().is_ok());
        auto opened = Gma::open(member, hazards, fast, config, {});
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        gma = std::move(opened).value();
        starter = gma->space().starter_address(slot);
        const auto key = gma->register_memory(memory.data(), memory.size(), 0);
        EXPECT_TRUE(key.is_ok());
        own = key.value();
    }

    node::Member member;
    local::Hazards hazards;
    FastPath fast;
    std::vector<char> memory = std::vector<char>(private_bytes);
    std::unique_ptr<Gma> gma;
    GlobalAddress starter = 0;
    GlobalAddress own = 0;
};

class Ranks {
public:
    Ranks(base::IntraNode intranode, std::uint32_t procs, std::uint32_t present) {
        config_.intranode = intranode;
        config_.starter_bytes = private_bytes;
        auto made =
            node::Segment::create(node::shape_for(config_, procs), claims::library_claims());
        EXPECT_TRUE(made.is_ok());
        node_ = std::move(made).value();
        for (std::uint32_t slot = 0; slot < present; ++slot) {
            ranks_.push_back(std::make_unique<Rank>(node_, slot, config_));
        }
    }

    Rank& operator[](std::size_t rank) { return *ranks_[rank]; }

    [[nodiscard]] const node::Segment& node() const { return node_; }

    [[nodiscard]] char* starter(std::uint32_t rank) const { return node_.starter(rank); }

private:
    base::Config config_;
    node::Segment node_;
    std::vector<std::unique_ptr<Rank>> ranks_;
};

inline base::Status finish(Rank& rank, Handle handle) {
    return rank.gma->wait(handle, node::for_ever, false);
}

}  // namespace acp::gma::test
