// SPDX-License-Identifier: BSD-3-Clause
// The window: the range of addresses that means the same on every rank of the job, and where the
// bytes of its pages lie on this node. Knows no protocol, no fault and no system call
// (dsm/window_memory.hpp makes the mappings).
//
// A node's pages are one block of the heaps of its ranks (data::Allocator), aligned to pages. Each
// rank has them mapped twice: in the heap's own mapping, which never faults (the plain mapping), and
// at the window's address, whose faults the tracker handles (dsm/tracker.hpp). So a page has an
// ordinary global address, copies and operations of other nodes reach it, and it outlives its rank.
// Behind the pages the same block has what the node's ranks share of them, which is never tracked:
// the twins, the page words, the homes, the marks of the sharers, the clock of the copies, the state
// of the barrier, and the journal of each rank. A job of one node has the pages alone.
//
// Below the API layer only the inline copy of the calling thread touches the window, before it holds
// a lock, a role or a hazard line of others; every other layer is given plain().
//
// Nodes are numbered as in the team of all ranks: in the order of their first ranks.
// Immutable; any thread, and signal handlers.
// Tests: tests/unit/dsm/window_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/ga_layout.hpp"

#include "pages/clock.hpp"
#include "pages/homes.hpp"
#include "pages/page.hpp"
#include "pages/page_word.hpp"
#include "pages/sharers.hpp"

namespace acp::dsm {

// Successive pages.
struct PageRange {
    pages::PageNumber first = 0;
    std::uint64_t count = 0;
};

// The offsets in a node's block, each on a page.
struct WindowLayout {
    std::uint64_t twins = 0;
    std::uint64_t page_words = 0;
    std::uint64_t homes = 0;
    std::uint64_t sharers = 0;
    std::uint64_t clock = 0;
    std::uint64_t state = 0;
    std::uint64_t bytes = 0;  // the size of the block

    //   nodes  of the job
    //   state  bytes of the barrier's state and the journals in a job of several nodes
    [[nodiscard]] static WindowLayout of(std::uint64_t pages,
                                         pages::NodeNumber nodes,
                                         std::uint64_t state) noexcept;
};

// Where a window lies.
struct WindowPlaces {
    char* tracked = nullptr;  // the mapping at the window's address
    char* block = nullptr;    // the plain mapping of this node's block
    std::uint64_t pages = 0;
    std::uint64_t state_bytes = 0;
    pages::NodeNumber node = 0;  // this one
    std::vector<memory::GlobalAddress>
        blocks;  // the address of each node's block, in the order of the nodes
};

class Window {
public:
    // The block's memory is zero at first, and outlives the window, as both mappings do.
    explicit Window(WindowPlaces places);

    [[nodiscard]] pages::NodeNumber node() const noexcept { return places_.node; }

    [[nodiscard]] pages::NodeNumber nodes() const noexcept {
        return static_cast<pages::NodeNumber>(places_.blocks.size());
    }

    [[nodiscard]] std::uint64_t page_count() const noexcept { return places_.pages; }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    // One comparison.
    [[nodiscard]] bool has(const void* address) const noexcept {
        return reinterpret_cast<std::uintptr_t>(address) - begin_ < bytes_;
    }

    // Whether a byte of [address, address + bytes) lies in it; false for 0 bytes.
    [[nodiscard]] bool overlaps(const void* address, std::uint64_t bytes) const noexcept {
        const auto first = reinterpret_cast<std::uintptr_t>(address);
        return bytes != 0 && (first - begin_ < bytes_ || begin_ - first < bytes);
    }

    [[nodiscard]] pages::PageNumber page_of(const void* address) const noexcept {
        return (reinterpret_cast<std::uintptr_t>(address) - begin_) / pages::page_bytes;
    }

    //   address  has() it
    [[nodiscard]] std::uint64_t offset_of(const void* address) const noexcept {
        return reinterpret_cast<std::uintptr_t>(address) - begin_;
    }

    // The pages of a range that overlaps() accepted, those at its ends included; of a range that
    // begins or ends outside, the pages inside.
    [[nodiscard]] PageRange pages_of(const void* address, std::uint64_t bytes) const noexcept;

    // At the window's address: what the program uses, and the tracker maps.
    [[nodiscard]] char* tracked(pages::PageNumber page) const noexcept {
        return places_.tracked + page * pages::page_bytes;
    }

    // In the plain mapping. Valid while the page word says so (pages/page_word.hpp).
    [[nodiscard]] pages::PageSpan plain(pages::PageNumber page) const noexcept {
        return page_at(page * pages::page_bytes);
    }

    // The rest is there in a job of several nodes alone.

    // The bytes that the page had when this node fetched it: the receive buffer of the fetch.
    [[nodiscard]] pages::PageSpan twin(pages::PageNumber page) const noexcept {
        return page_at(layout_.twins + page * pages::page_bytes);
    }

    [[nodiscard]] pages::PageWords<> page_words() const noexcept {
        return {words_at<pages::PageWords<>>(layout_.page_words), places_.pages};
    }

    [[nodiscard]] pages::HomeTable<> homes() const noexcept {
        return {words_at<pages::HomeTable<>>(layout_.homes), places_.pages, nodes()};
    }

    // The marks of pages homed here.
    [[nodiscard]] pages::Sharers<> sharers() const noexcept {
        return {words_at<pages::Sharers<>>(layout_.sharers), places_.pages, nodes()};
    }

    [[nodiscard]] pages::CacheClock<> clock() const noexcept {
        return {words_at<pages::CacheClock<>>(layout_.clock), places_.pages};
    }

    // Memory for what the ranks of a node share between nodes (RankPages::state_bytes); zero at first.
    [[nodiscard]] char* state() const noexcept { return places_.block + layout_.state; }

    // Its offset in the block of each node.
    [[nodiscard]] std::uint64_t state_offset() const noexcept { return layout_.state; }

    // The global address of a page of memory in this node's block.
    [[nodiscard]] memory::GlobalAddress own_address_of(pages::PageSpan page) const noexcept {
        return places_.blocks[places_.node] +
               static_cast<std::uint64_t>(reinterpret_cast<const char*>(page.data()) -
                                          places_.block);
    }

    // The global address of a page in the memory of a node, of its twin on this node, and of the
    // words of pages::Sharers of a node.
    [[nodiscard]] memory::GlobalAddress address_of(pages::PageNumber page,
                                                   pages::NodeNumber node) const noexcept {
        return places_.blocks[node] + page * pages::page_bytes;
    }

    // The global address of a byte.   address  has() it
    [[nodiscard]] memory::GlobalAddress address_of_byte(const void* address,
                                                        pages::NodeNumber node) const noexcept {
        return places_.blocks[node] + (reinterpret_cast<std::uintptr_t>(address) - begin_);
    }

    [[nodiscard]] memory::GlobalAddress twin_address_of(pages::PageNumber page) const noexcept {
        return places_.blocks[places_.node] + layout_.twins + page * pages::page_bytes;
    }

    [[nodiscard]] memory::GlobalAddress sharers_address_of(pages::NodeNumber node) const noexcept {
        return places_.blocks[node] + layout_.sharers;
    }

private:
    [[nodiscard]] pages::PageSpan page_at(std::uint64_t offset) const noexcept {
        return pages::PageSpan(reinterpret_cast<std::byte*>(places_.block + offset),
                               pages::page_bytes);
    }

    template <typename Structure>
    [[nodiscard]] typename Structure::Word* words_at(std::uint64_t offset) const noexcept {
        return reinterpret_cast<typename Structure::Word*>(places_.block + offset);
    }

    WindowPlaces places_;
    WindowLayout layout_;
    std::uintptr_t begin_;
    std::uint64_t bytes_;
};

}  // namespace acp::dsm
