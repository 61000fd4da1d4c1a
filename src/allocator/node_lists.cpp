// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a heap for its lists, and of the other heaps of the node for the bytes of elements.
#include "allocator/node_lists.hpp"

#include <algorithm>

namespace acp::allocator {

ListBlocks::ListBlocks(NodeHeap& heap, heap::ThreadCache& cache) noexcept
    : list::ListMemory<std::atomic>(heap.blocks_, heap.limit_bytes()),
      heap_(heap),
      cache_(cache),
      blocks_(heap, cache) {}

bool ListBlocks::free_apart(std::uint64_t address) {
    const table::BlockNumber block = block_of_apart(address);
    if (process_of_apart(address) == heap_.process()) {
        blocks_.free(block);
        return true;
    }
    return heap_.with_heap_of(process_of_apart(address), [&](NodeHeap& heap) {
        (void)heap.free(cache_.number() % heap::caches_per_process, table::offset_of(block),
                        BlockOwner::separate);
    });
}

std::atomic<std::uint64_t>* ListBlocks::apart_word(std::uint64_t address) {
    std::atomic<std::uint64_t>* word = nullptr;
    const heap::Offset offset = table::offset_of(block_of_apart(address));
    (void)heap_.with_heap_of(process_of_apart(address), [&](NodeHeap& heap) {
        if (!heap.is_separate(offset)) return;
        heap.note_signed(offset);
        word = reinterpret_cast<std::atomic<std::uint64_t>*>(heap.blocks_ + offset);
    });
    return word;
}

bool ListBlocks::may_hold(std::uint64_t address, std::uint64_t bytes) {
    if (block_of_apart(address) == 0) return false;
    bool may_hold =
        true;  // for another node: its heap refuses to free a block that is not a separate one
    (void)heap_.with_heap_of(process_of_apart(address), [&](NodeHeap& heap) {
        may_hold = heap.may_hold(table::offset_of(block_of_apart(address)), bytes,
                                 process_of_apart(address) == heap_.process());
    });
    return may_hold;
}

bool ListBlocks::is_apart_kept(std::uint64_t address) {
    bool is_kept = false;
    (void)heap_.with_heap_of(process_of_apart(address), [&](NodeHeap& heap) {
        is_kept = heap.heap_.is_kept(table::offset_of(block_of_apart(address)));
    });
    return is_kept;
}

char* ListBlocks::allocate_apart(std::atomic<std::uint64_t>& place,
                                 std::uint32_t process,
                                 std::uint64_t bytes) {
    char* memory = nullptr;
    const auto take = [&](NodeHeap& heap, heap::ThreadCache& cache) {
        const std::uint64_t room = std::max(bytes, heap::OwnedBlocks::separate_least);
        heap::Offset block = heap.heap_.allocate(cache, room, alignment_least);
        if (block == heap::no_block)
            block = heap.allocate_from_what_waits(cache, room, alignment_least);
        if (block == heap::no_block) return;
        heap.prepare(block, room, BlockOwner::separate);
        place.store(apart_address(process, table::number_of(block)), std::memory_order_release);
        heap.heap_.keep(cache);
        memory = heap.blocks_ + block;
    };
    if (process == heap_.process()) {
        take(heap_, cache_);
        return memory;
    }
    (void)heap_.with_heap_of(process, [&](NodeHeap& heap) {
        const NodeHeap::Lease lease(heap, cache_.number() % heap::caches_per_process);
        take(heap, lease.cache());
    });
    return memory;
}

table::BlockNumber ListBlocks::lend_node(std::uint64_t bytes, std::uint64_t& process) {
    heap::Offset block = heap_.heap_.allocate(cache_, bytes, alignment_least);
    if (block == heap::no_block)
        block = heap_.allocate_from_what_waits(cache_, bytes, alignment_least);
    if (block == heap::no_block) return 0;
    heap_.prepare(block, bytes, BlockOwner::program);
    if (!heap_.lend_block(block, process)) process = NodeHeap::nobody;
    heap_.heap_.keep(cache_);
    return table::number_of(block);
}

std::uint64_t ListBlocks::lend_apart(std::uint64_t address, std::uint64_t process) {
    bool is_lent = false;
    (void)heap_.with_heap_of(process_of_apart(address), [&](NodeHeap& heap) {
        is_lent = heap.lend_block(table::offset_of(block_of_apart(address)), process);
    });
    return is_lent ? process : NodeHeap::nobody;
}

bool ListBlocks::own_apart(std::atomic<std::uint64_t>& place,
                           std::uint64_t address,
                           std::uint64_t lent_to) {
    if (address == 0 || process_of_apart(address) == heap_.process()) return true;
    bool is_owned = true;
    (void)heap_.with_heap_of(process_of_apart(address), [&](NodeHeap& heap) {
        NodeHeap::Borrowed borrowed(heap, table::offset_of(block_of_apart(address)), lent_to);
        is_owned = borrowed.is_there();
        if (!is_owned) return;
        borrowed.own();
        borrowed.give_away();
        place.store(address, std::memory_order_release);
    });
    return is_owned;
}

const char* ListBlocks::find_apart(std::uint64_t address, std::uint64_t bytes) {
    const char* memory = nullptr;
    const heap::Offset offset = table::offset_of(block_of_apart(address));
    if (address == 0 || offset >= heap_.limit_bytes() || bytes > heap_.limit_bytes() - offset)
        return nullptr;
    (void)heap_.with_heap_of(process_of_apart(address),
                             [&](NodeHeap& heap) { memory = heap.blocks_ + offset; });
    return memory;
}

}  // namespace acp::allocator
