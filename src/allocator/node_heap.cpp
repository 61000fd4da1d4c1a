// SPDX-License-Identifier: BSD-3-Clause
// What is rare: clearing, and the work of processes that are gone.
#include "allocator/node_heap.hpp"

#include <atomic>
#include <cstring>

#include "node/death.hpp"
#include "os/cpu.hpp"
#include "os/mapping.hpp"
#include "os/membarrier.hpp"

#include "allocator/node_sequences.hpp"
#include "allocator/node_tables.hpp"

namespace acp::allocator {

namespace {

constexpr std::uint64_t page = 4096;

void give_back(void* blocks, std::uint64_t offset, std::uint64_t bytes) noexcept {
    // Refused: the memory stays where it is, and the blocks of the area begin with what was in it. No block promises zeros.
    (void)os::give_back_shared(static_cast<char*>(blocks) + offset, bytes);
}

char* words_of(const node::Segment& segment, std::uint32_t owner) noexcept {
    return segment.claimed(owner, node::Claim::heap_words);
}

char* users_of(const node::Segment& segment, std::uint32_t owner) noexcept {
    return segment.claimed(owner, node::Claim::heap_users);
}

char* sequence_users_of(const node::Segment& segment, std::uint32_t owner) noexcept {
    return segment.claimed(owner, node::Claim::sequence_users);
}

char* blocks_of(const node::Segment& segment, std::uint32_t owner) noexcept {
    return segment.claimed(owner, node::Claim::heap_blocks);
}

// Makes whole pages zero by giving them back, and the rest by writing.
void make_zero(char* memory, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t written_most = 32 * page;  // below it writing takes less time
    const auto start = reinterpret_cast<std::uintptr_t>(memory);
    const std::uint64_t before = (page - start % page) % page;
    if (bytes > written_most && before < bytes) {
        const std::uint64_t pages = (bytes - before) / page * page;
        if (os::give_back_shared(memory + before, pages)) {
            std::memset(memory, 0, before);
            std::memset(memory + before + pages, 0, bytes - before - pages);
            return;
        }
    }
    std::memset(memory, 0, bytes);
}

}  // namespace

NodeHeap::NodeHeap(const node::Segment& segment,
                   std::uint32_t owner,
                   const local::Hazards& hazards) noexcept
    : segment_(segment),
      user_(hazards.slot()),
      blocks_(blocks_of(segment, owner)),
      gone_(reinterpret_cast<std::atomic<std::uint64_t>*>(
          words_of(segment, owner) + node::heap_words(segment.shape()).gone_at())),
      caches_(words_of(segment, owner) + node::heap_words(segment.shape()).caches_at()),
      users_{users_of(segment, owner), node::heap_users(segment.shape())},
      sequence_users_{sequence_users_of(segment, owner), node::heap_users(segment.shape())},
      heap_(words_of(segment, owner),
            node::heap_words(segment.shape()).shape(),
            {give_back, blocks_of(segment, owner)},
            hazards.has_membarrier() ? os::expedite : nullptr) {}

void NodeHeap::clear(const node::Segment& segment, std::uint32_t owner) noexcept {
    if (segment.shape().heap_bytes == 0) return;
    // The ranges begin on a page, and each is the last one on its pages.
    const auto clear_range = [&](node::Claim claim) {
        char* const start = segment.claimed(owner, claim);
        const std::uint64_t bytes = node::claim_bytes(claim, segment.shape());
        if (!os::give_back_shared(start, (bytes + page - 1) / page * page)) {
            std::memset(start, 0, bytes);
        }
    };
    clear_range(node::Claim::heap_words);
    clear_range(node::Claim::heap_users);
    clear_range(node::Claim::sequence_users);
    give_back(blocks_of(segment, owner), 0, segment.shape().heap_bytes);
}

void NodeHeap::clear_blocks(heap::Offset offset, std::uint64_t bytes) const noexcept {
    make_zero(blocks_ + offset, bytes);
}

// The threads that have what can be borrowed are at work on the heap, which takes a moment. A gateway never comes here: its one
// thread has a cache of its own.
heap::ThreadCache& NodeHeap::wait_for_cache(std::uint32_t thread) const noexcept {
    while (true) {
        os::yield_cpu();
        if (heap::ThreadCache* cache = caches_.borrow(user_, thread); cache != nullptr) {
            return *cache;
        }
    }
}

bool NodeHeap::is_gone(std::uint32_t slot) const noexcept {
    if (slot >= segment_.shape().local_procs) return false;  // the gateway
    const auto state =
        static_cast<node::SlotState>(segment_.slot(slot).state.load(std::memory_order_acquire));
    return state == node::SlotState::left || node::is_dead(segment_, slot);
}

// Whether a process that is gone was found, and its caches recovered.
bool NodeHeap::recover(heap::ThreadCache& cache) {
    bool is_any = false;
    const auto is_dead = [this](heap::CacheNumber number) {
        return is_gone(number / heap::caches_per_process);
    };
    // acp_malloc stores nowhere where a block is before it is kept; tables and sequences do so in their participants.
    const auto is_stored = [this](heap::Offset block) {
        const table::BlockNumber number = table::number_of(block);
        for (std::uint32_t i = 0; i < users_.count; ++i) {
            if (users_[i].has_made(number) || sequence_users_[i].has_made(number)) return true;
        }
        return false;
    };
    for (std::uint32_t slot = 0; slot < segment_.shape().local_procs; ++slot) {
        const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
        if ((gone_[slot / 64].load(std::memory_order_acquire) & bit) != 0 || !is_gone(slot))
            continue;
        if (!heap_.recover(cache, heap::caches_of(slot), is_dead, is_stored)) continue;
        if (!recover_tables(cache, slot) || !recover_sequences(cache, slot)) continue;
        gone_[slot / 64].fetch_or(bit, std::memory_order_release);
        is_any = true;
    }
    return is_any;
}

// Whether nothing is left of a process that is gone in the tables of this heap.
bool NodeHeap::recover_tables(heap::ThreadCache& cache, std::uint32_t slot) {
    HeapBlocks blocks(*this, cache);
    table::HashTable<> tables(blocks, users_, cache.number());
    const heap::CacheNumbers numbers = heap::caches_of(slot);
    bool is_done = true;
    for (std::uint32_t number = numbers.first; number < numbers.first + numbers.count; ++number) {
        if (users_[number].is_unused()) continue;
        is_done = tables.recover(number, [this](std::uint32_t other) {
            return is_gone(other / heap::caches_per_process);
        }) && is_done;
    }
    return is_done;
}

// Likewise in its sequences.
bool NodeHeap::recover_sequences(heap::ThreadCache& cache, std::uint32_t slot) {
    HeapBlocks blocks(*this, cache);
    NodeOthers others(*this);
    sequence::Sequence<> sequences(blocks, others, sequence_users_, cache.number());
    const heap::CacheNumbers numbers = heap::caches_of(slot);
    bool is_done = true;
    for (std::uint32_t number = numbers.first; number < numbers.first + numbers.count; ++number) {
        if (sequence_users_[number].is_unused()) continue;
        is_done = sequences.recover(number) && is_done;
    }
    return is_done;
}

HeapBlocks::HeapBlocks(NodeHeap& heap, heap::ThreadCache& cache) noexcept
    : table::Blocks<std::atomic>(heap.blocks_, heap.heap_.order_all()),
      heap_(heap),
      cache_(cache) {}

table::BlockNumber HeapBlocks::allocate(std::atomic<std::uint64_t>& place,
                                        std::uint64_t bytes,
                                        std::uint64_t alignment) {
    const heap::Offset block = heap_.heap_.allocate(cache_, bytes, alignment);
    if (block == heap::no_block) [[unlikely]]
        return 0;
    place.store(table::made::of(table::number_of(block)), std::memory_order_release);
    heap_.heap_.keep(cache_);
    return table::number_of(block);
}

void HeapBlocks::free(table::BlockNumber block) {
    (void)heap_.heap_.free(cache_, table::offset_of(block));
}

void HeapBlocks::clear(table::BlockNumber block, std::uint64_t bytes) {
    heap_.clear_blocks(table::offset_of(block), bytes);
}

heap::Offset NodeHeap::allocate_from_the_gone(heap::ThreadCache& cache,
                                              std::uint64_t bytes,
                                              std::uint64_t alignment) {
    return recover(cache) ? heap_.allocate(cache, bytes, alignment) : heap::no_block;
}

heap::Usage NodeHeap::usage(std::uint32_t thread) {
    heap::ThreadCache& cache = borrow(thread);
    (void)recover(cache);
    caches_.give_back(cache);
    return heap::usage_of(heap_.control());
}

std::vector<std::string> NodeHeap::findings(std::uint32_t thread) {
    heap::ThreadCache& cache = borrow(thread);
    (void)recover(cache);
    caches_.give_back(cache);
    return heap::findings_of(heap_.control());
}

}  // namespace acp::allocator
