// SPDX-License-Identifier: BSD-3-Clause
// Destroys containers of a heap, of every kind, that were never used and whose maker is gone.
// Called one at a time by the recovery of loans. Tests:
// tests/unit/allocator/unused_containers_test.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "allocator/node_heap.hpp"
#include "allocator/node_lists.hpp"
#include "allocator/node_sequences.hpp"
#include "allocator/node_tables.hpp"

namespace acp::allocator {

class UnusedContainers {
public:
    //   cache  borrowed by the caller
    UnusedContainers(NodeHeap& heap, heap::ThreadCache& cache) noexcept
        : heap_(heap), cache_(cache) {}

    // Destroys a container on loan to its maker, which is gone.
    //   take_off()  takes the loan off, before the container's blocks are freed. Not called while
    //               the gateway is still making the container, without knowing that the maker is
    //               gone; a later call destroys it
    template <typename TakeOff>
    void destroy(heap::Offset container, std::uint32_t maker, const TakeOff& take_off) {
        const table::BlockNumber block = table::number_of(container);
        const std::optional<std::uint32_t> maker_now = heap_.participant_making(block);
        // A container that the maker had not finished is freed by the recovery of the maker
        // (NodeHeap::recover_process).
        if (maker_now) {
            if (heap_.is_participant_gone(*maker_now)) take_off();
            return;
        }
        // With another mark it was used by a process that was killed before it ended the loan, or
        // was destroyed.
        HeapBlocks blocks(heap_, cache_);
        if (!blocks.is_kept(block) || !destroy_any(blocks, block, maker, take_off)) take_off();
    }

private:
    template <typename TakeOff>
    bool destroy_any(HeapBlocks& blocks,
                     table::BlockNumber block,
                     std::uint32_t maker,
                     const TakeOff& take_off) {
        const std::uint32_t own = cache_.number();
        table::HashTable<> tables(blocks, heap_.participants(), own);
        if (tables.destroy_unused(block, maker, take_off)) return true;
        ListBlocks list_blocks(heap_, cache_);
        list::SharedLists<> lists(list_blocks, heap_.list_participants(), own);
        if (lists.destroy_unused(block, maker, take_off)) return true;
        NodeOthers others(heap_);
        sequence::Sequence<> sequences(blocks, others, heap_.sequence_participants(), own);
        return sequences.destroy_unused(block, maker, take_off);
    }

    NodeHeap& heap_;
    heap::ThreadCache& cache_;
};

}  // namespace acp::allocator
