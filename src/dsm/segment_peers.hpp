// SPDX-License-Identifier: BSD-3-Clause
// The other ranks of the node, as the node segment knows them. A thread sleeps on the bell of its
// process, and makes progress like every waiting thread. Any thread, also in the handler of its own
// fault.
// Tests: tests/conformance/dsm_test.cpp.
#pragma once

#include <cstdint>

#include "dsm/node_peers.hpp"
#include "gma/gma.hpp"
#include "gma/word_waits.hpp"
#include "node/segment.hpp"

namespace acp::dsm {

class SegmentPeers final : public NodePeers {
public:
    //   gma  outlives this. Throws std::bad_alloc.
    explicit SegmentPeers(gma::Gma& gma) : segment_(gma.space().segment()), waits_(gma) {}

    [[nodiscard]] bool is_dead(pages::SlotNumber slot) noexcept override;
    void wait_while(const Word& word, std::uint64_t seen) noexcept override;
    [[nodiscard]] std::uint64_t own_thread() noexcept override;
    void wake(const Word& word) noexcept override;

private:
    const node::Segment& segment_;
    gma::WordWaits waits_;
};

}  // namespace acp::dsm
