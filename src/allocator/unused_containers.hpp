// SPDX-License-Identifier: BSD-3-Clause
// Containers of a heap that nobody has used and whose maker is gone: destroys them, of whatever kind they are. For who ends the loans of
// processes that are gone, one at a time. Tests: tests/unit/allocator/unused_containers_test.cpp.
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
    //   cache  that the caller has borrowed
    UnusedContainers(NodeHeap& heap, heap::ThreadCache& cache) noexcept
        : heap_(heap), cache_(cache) {}

    // Destroys a container that is lent to its maker, who is gone.
    //   take_off()  takes the loan off, before the container's blocks are freed. Not called where its making is under way: the gateway
    //               makes it, who does not know that the maker is gone; later it can be destroyed
    template <typename TakeOff>
    void destroy(heap::Offset container, std::uint32_t maker, const TakeOff& take_off) {
        const table::BlockNumber block = table::number_of(container);
        const std::optional<std::uint32_t> maker_now = heap_.participant_making(block);
        // What the maker had not ended to make is freed with the rest of what it did (NodeHeap::recover_process).
        if (maker_now) {
            if (heap_.is_participant_gone(*maker_now)) take_off();
            return;
        }
        // What has another mark was used, by somebody who was killed before the loan was ended, or was destroyed.
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
