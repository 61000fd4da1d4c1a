// SPDX-License-Identifier: BSD-3-Clause
// The window: the range of addresses that means the same on every rank of the job, and where the
// bytes of its pages lie on this node. Knows no protocol and no fault.
//
// A node's pages are one block of the heaps of its ranks (data::Allocator), aligned to pages. Each
// rank has them mapped twice: in the heap's own mapping, which never faults (the plain mapping), and
// at the window's address, whose faults the tracker handles (dsm/tracker.hpp). So a page has an
// ordinary global address, copies and operations of other nodes reach it, and it outlives its rank.
// Beside the pages lie, in memory of the node that is never tracked: the twins, the page words, the
// marks of the sharers, and the NodeState of the barrier.
//
// Below the API layer only the inline copy of the calling thread touches the window, before it holds
// a lock, a role or a hazard line of others; every other layer is given plain().
//
// Threads: open() and the destructor are collective, by one thread of each rank; the rest any
// thread, and signal handlers.
// Tests: tests/unit/dsm/window_test.cpp: an address range taken on one rank, ASan's and TSan's
// shadows among the refused places, RLIMIT_AS, a heap too small on one node, uid 65534.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "memory/ga_layout.hpp"

#include "pages/page.hpp"

namespace acp::team {
class Team;
}

namespace acp::dsm {

// Successive pages.
struct PageRange {
    pages::PageNumber first = 0;
    std::uint64_t count = 0;
};

// What the window needs of the layers below; all of it outlives the window.
struct WindowPlan {
    std::uint64_t bytes;        // of the window; the same on all ranks
    std::uint64_t cache_bytes;  // of other nodes' pages that this node keeps; 0: all
};

class Window {
public:
    // Reserves the address range and the memory of the node. All ranks of `team` call it.
    // Each rank tries the places of a fixed list with MAP_FIXED_NOREPLACE and reports a bit for each
    // one that it got; an all-reduce (and) gives the places that every rank got, of which the lowest
    // is taken: one exchange, whatever the number of refusals. A node whose heaps lack
    // the memory reports no place and its need. So success and failure are the same on all ranks.
    // Errors, on all ranks: argument (different plans: the message has both sizes and their ranks),
    // memory (node, need, --heap-size), limit (no common place: the ranks and what each refused),
    // unsupported (a page of the system is not pages::page_bytes).
    static base::Result<std::unique_ptr<Window>> open(team::Team& team, const WindowPlan& plan);

    // The tracker has ended. Unmaps the window; the first rank of a node frees the block.
    ~Window();

    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    // One comparison; false for every address without a window.
    [[nodiscard]] bool has(const void* address) const noexcept {
        return reinterpret_cast<std::uintptr_t>(address) - begin_ < bytes_;
    }

    // Whether a byte of [address, address + bytes) lies in it.
    [[nodiscard]] bool overlaps(const void* address, std::uint64_t bytes) const noexcept;

    [[nodiscard]] pages::PageNumber page_of(const void* address) const noexcept {
        return (reinterpret_cast<std::uintptr_t>(address) - begin_) / pages::page_bytes;
    }

    // The pages of a range that overlaps() accepted, those at its ends included.
    [[nodiscard]] PageRange pages_of(const void* address, std::uint64_t bytes) const noexcept;

    // At the window's address: what the program uses, and the tracker maps.
    [[nodiscard]] char* tracked(pages::PageNumber page) const noexcept;

    // In the plain mapping. Valid while the page word says so (pages/page_word.hpp).
    [[nodiscard]] pages::PageSpan plain(pages::PageNumber page) const noexcept;

    // The bytes that the page had when this node fetched it: the receive buffer of the fetch.
    [[nodiscard]] pages::PageSpan twin(pages::PageNumber page) const noexcept;

    // The global address of a page, of its twin, or of its sharer word in the memory of a node.
    [[nodiscard]] memory::GlobalAddress address_of(pages::PageNumber page,
                                                   pages::NodeNumber node) const noexcept;
    [[nodiscard]] memory::GlobalAddress twin_address_of(pages::PageNumber page) const noexcept;

    [[nodiscard]] std::uint64_t page_count() const noexcept { return bytes_ / pages::page_bytes; }

private:
    Window() noexcept = default;

    std::uintptr_t begin_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace acp::dsm
