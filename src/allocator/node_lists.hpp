// SPDX-License-Identifier: BSD-3-Clause
// The lists in the heap of one process, for one call of a thread of its node or of the gateway, and
// the separate payloads of elements in heaps of other processes. Each thread cache of the heap is a
// participant of its lists, by the same number. Any thread, one object each.
// Tests: tests/unit/allocator/node_lists_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/node_heap.hpp"
#include "allocator/node_tables.hpp"
#include "list/lists.hpp"

namespace acp::allocator {

// The address by which a list names a block of a heap of the job: the process, and the block. 0:
// none.
[[nodiscard]] constexpr std::uint64_t apart_address(std::uint32_t process,
                                                    table::BlockNumber block) noexcept {
    return std::uint64_t{process} << table::number_bits | block;
}

[[nodiscard]] constexpr std::uint32_t process_of_apart(std::uint64_t address) noexcept {
    return static_cast<std::uint32_t>(address >> table::number_bits);
}

[[nodiscard]] constexpr table::BlockNumber block_of_apart(std::uint64_t address) noexcept {
    return address & table::number_mask;
}

// Blocks of the heap for its lists, by a cache that the caller has borrowed, and of other heaps of
// the node.
class ListBlocks final : public list::ListMemory<std::atomic> {
public:
    ListBlocks(NodeHeap& heap, heap::ThreadCache& cache) noexcept;

    table::BlockNumber allocate(std::atomic<std::uint64_t>& place,
                                std::uint64_t bytes,
                                std::uint64_t alignment) override {
        return blocks_.allocate(place, bytes, alignment);
    }

    void free(table::BlockNumber block) override { blocks_.free(block); }

    void note_signed(table::BlockNumber block) override { blocks_.note_signed(block); }

    [[nodiscard]] bool lend(table::BlockNumber container, std::uint64_t maker) override {
        return blocks_.lend(container, maker);
    }

    [[nodiscard]] bool end_by_use(table::BlockNumber container, std::uint32_t maker) override {
        return blocks_.end_by_use(container, maker);
    }

    [[nodiscard]] bool is_kept(table::BlockNumber block) override { return blocks_.is_kept(block); }

    [[nodiscard]] std::uint64_t usable_bytes(table::BlockNumber block) override {
        return blocks_.usable_bytes(block);
    }

    void clear(table::BlockNumber block, std::uint64_t bytes) override {
        blocks_.clear(block, bytes);
    }

    // These work on blocks in heaps of this node.
    bool free_apart(std::uint64_t address) override;
    [[nodiscard]] std::atomic<std::uint64_t>* apart_word(std::uint64_t address) override;
    [[nodiscard]] bool is_apart_kept(std::uint64_t address) override;

    // Allocates a block in the heap of a process of this node, and stores its address in `place`:
    // if this process is killed before it has linked an element with that address, recovery frees
    // the block. nullptr: there is no room, or the process is of another node.
    [[nodiscard]] char* allocate_apart(std::atomic<std::uint64_t>& place,
                                       std::uint32_t process,
                                       std::uint64_t bytes);

    // Allocates a block of this heap, which becomes a node of a list later, and lends it to a
    // process. 0: there is no room.
    //   process  see NodeHeap::lend()
    [[nodiscard]] table::BlockNumber lend_node(std::uint64_t bytes, std::uint64_t& process);

    // Lends a separate block of this node to a process, which frees it later. Returns the
    // borrower: NodeHeap::nobody if the heap has no room for the loan.
    [[nodiscard]] std::uint64_t lend_apart(std::uint64_t address, std::uint64_t process);

    // Ends the loan of a block in another heap of this node, and stores its address in `place`, as
    // allocate_apart() does. Does nothing for any other block. false: the loan had ended.
    [[nodiscard]] bool own_apart(std::atomic<std::uint64_t>& place,
                                 std::uint64_t address,
                                 std::uint64_t lent_to);

    // The address of a block of this heap.
    [[nodiscard]] std::uint64_t address_of(table::BlockNumber block) const noexcept {
        return apart_address(heap_.process(), block);
    }

    // Whether a block may become the separate payload of an element; a request from another node
    // names its address.
    [[nodiscard]] bool may_hold(std::uint64_t address, std::uint64_t bytes);

    // The memory of an element's separate payload; nullptr: it is not on this node.
    [[nodiscard]] const char* find_apart(std::uint64_t address, std::uint64_t bytes);

private:
    NodeHeap& heap_;
    heap::ThreadCache& cache_;
    HeapBlocks blocks_;
};

class NodeLists {
public:
    //   heap    outlives this
    //   thread  the caller's number among the threads of its process (local::Hazards::index_of)
    NodeLists(NodeHeap& heap, std::uint32_t thread) noexcept
        : heap_(heap),
          lease_(heap, thread),
          blocks_(heap, lease_.cache()),
          lists_(blocks_, heap.list_participants(), lease_.cache().number()) {}

    ~NodeLists() = default;
    NodeLists(const NodeLists&) = delete;
    NodeLists& operator=(const NodeLists&) = delete;

    [[nodiscard]] list::SharedLists<>* operator->() noexcept { return &lists_; }

    [[nodiscard]] ListBlocks& blocks() noexcept { return blocks_; }

    // Called after ListEffect::no_room.
    void find_room() { heap_.find_room(lease_.cache()); }

    // Runs a call; if it found no room, once more after find_room().
    template <typename Call>
    list::ListEffect with_room(const Call& call) {
        const list::ListEffect effect = call();
        if (effect != list::ListEffect::no_room) return effect;
        find_room();
        return call();
    }

private:
    NodeHeap& heap_;
    NodeHeap::Lease lease_;
    ListBlocks blocks_;
    list::SharedLists<> lists_;
};

}  // namespace acp::allocator
