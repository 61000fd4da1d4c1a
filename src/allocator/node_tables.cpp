// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a heap for its containers.
#include "allocator/node_tables.hpp"

namespace acp::allocator {

table::BlockNumber HeapBlocks::allocate(std::atomic<std::uint64_t>& place,
                                        std::uint64_t bytes,
                                        std::uint64_t alignment) {
    const heap::Offset block = heap_.heap_.allocate(cache_, bytes, alignment);
    if (block == heap::no_block) [[unlikely]]
        return 0;
    heap_.prepare(block, bytes, BlockOwner::container);
    place.store(table::made::of(table::number_of(block)), std::memory_order_release);
    heap_.heap_.keep(cache_);
    return table::number_of(block);
}

void HeapBlocks::free(table::BlockNumber block) {
    (void)heap_.heap_.free(cache_, table::offset_of(block));
}

void HeapBlocks::note_signed(table::BlockNumber block) {
    heap_.note_signed(table::offset_of(block));
}

bool HeapBlocks::lend(table::BlockNumber container, std::uint64_t maker) {
    return heap_.lend_container(table::offset_of(container), maker);
}

bool HeapBlocks::end_by_use(table::BlockNumber container, std::uint32_t maker) {
    return heap_.end_by_use(table::offset_of(container), maker);
}

bool HeapBlocks::is_lent(table::BlockNumber block) {
    return heap_.loans_.has(table::offset_of(block));
}

bool HeapBlocks::is_kept(table::BlockNumber block) {
    return heap_.heap_.is_kept(table::offset_of(block));
}

std::uint64_t HeapBlocks::usable_bytes(table::BlockNumber block) {
    const heap::Offset offset = table::offset_of(block);
    return heap_.owned_bytes(offset);
}

void HeapBlocks::clear(table::BlockNumber block, std::uint64_t bytes) {
    heap_.clear_blocks(table::offset_of(block), bytes);
}

}  // namespace acp::allocator
