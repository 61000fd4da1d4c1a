// SPDX-License-Identifier: BSD-3-Clause
// The memory of a window: the block of this node in the heaps of its ranks, and its mapping at the
// window's address. Knows neither faults nor the protocol.
//
// open() is one exchange of all ranks in the usual case: each rank contributes the places of a
// fixed list that are free in its address space, and a node's leader the block that it allocated;
// then all map the first place that is free everywhere. If another thread of a rank takes the place
// in between, they try the next one.
// Collective, by one thread of each rank. Tests: tests/conformance/dsm_test.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "base/config.hpp"
#include "base/status.hpp"
#include "data/allocator.hpp"
#include "dsm/window.hpp"
#include "node/segment.hpp"
#include "os/mapping.hpp"
#include "team/team.hpp"

namespace acp::dsm {

struct WindowPlan {
    // Allocations of `bytes` bytes in all find room in the window; whole pages, the same on all ranks.
    std::uint64_t bytes = 0;
    // WindowLayout::of: those of each node, and those for each rank of the node that has the most ranks,
    // so that all nodes need the same. A job of one node needs neither.
    std::uint64_t state_bytes = 0;
    std::uint64_t rank_bytes = 0;
    // All ranks give the same value, since `state_bytes` depend on it.
    base::PageCheck check = base::PageCheck::off;
};

class WindowMemory {
public:
    // In a call on the team of all ranks. Success and failure are the same on all ranks.
    //   segment, allocator  outlive the memory
    // Errors: argument (different sizes: the message has two of them and their ranks), config (different
    // values of ACP_DSM_CHECK: the message has two ranks), memory (a
    // node's heaps have no room: the message has the node, its need, and --heap-size), limit (no
    // place is free on all ranks: the message has what refused the places), unsupported (the system's
    // pages are not pages::page_bytes long), and those of the team.
    static base::Result<std::unique_ptr<WindowMemory>> open(team::Team& team,
                                                            data::Allocator& allocator,
                                                            const node::Segment& segment,
                                                            const WindowPlan& plan);

    // Unmaps the window. The block stays in the heap, which ends with the epoch.
    ~WindowMemory() = default;
    WindowMemory(const WindowMemory&) = delete;
    WindowMemory& operator=(const WindowMemory&) = delete;

    // Makes pages zero, in the memory of this node.
    void clear(PageRange pages) const noexcept;

    // The leader of the node frees its block. After a barrier behind which no rank uses the window.
    void free_block() noexcept;

    [[nodiscard]] const Window& window() const noexcept { return window_; }

private:
    WindowMemory(data::Allocator& allocator,
                 memory::GlobalAddress own_block,
                 os::Mapping tracked,
                 WindowPlaces where);

    data::Allocator& allocator_;
    memory::GlobalAddress own_block_;  // 0: another rank of the node is the leader
    os::Mapping tracked_;
    Window window_;
};

}  // namespace acp::dsm
