// SPDX-License-Identifier: BSD-3-Clause
// Memory of any rank: blocks are allocated and freed at once where their heap is mapped here, and
// else by the gateway of the owner's node, in one round trip; several of one rank in one message.
// The owner need not help. One object per epoch. Any thread; blocks where other nodes are asked.
// Tests: tests/conformance/heap_test.cpp, tests/containers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"
#include "gma/gma.hpp"

#include "allocator/heap_operations.hpp"
#include "allocator/node_heap.hpp"

namespace acp::data {

using memory::GlobalAddress;

template <typename Operation>
class RemoteCall;

class Allocator {
public:
    //   gma  outlives this
    explicit Allocator(gma::Gma& gma);
    ~Allocator();
    Allocator(const Allocator&) = delete;
    Allocator& operator=(const Allocator&) = delete;

    // Allocates a block in the heap of a process of this node, if no slow path is needed; 0:
    // allocate() does it, or returns the reason.
    //   line     the calling thread's own
    //   process  < procs, in all calls here
    [[nodiscard]] GlobalAddress allocate_here(const memory::HazardLine& line,
                                              std::uint32_t process,
                                              std::uint64_t bytes) noexcept {
        const std::uint32_t slot = space_.slot_of(process);
        allocator::NodeHeap* const heap = known_heap(slot);
        if (heap == nullptr) [[unlikely]]
            return 0;
        const heap::Offset block =
            heap->allocate(hazards_.index_of(line), bytes, allocator::alignment_least);
        return block != heap::no_block ? heaps_[slot].start + block : 0;
    }

    // Does so in the heap of this process, with the fewest instructions. 0 also if another process
    // has the rank.
    [[nodiscard, gnu::always_inline]] GlobalAddress allocate_own(const memory::HazardLine& line,
                                                                 std::uint32_t rank,
                                                                 std::uint64_t bytes) noexcept {
        // acquire: partner is heap_of()
        allocator::NodeHeap* const heap = own_.heap.load(std::memory_order_acquire);
        if (heap == nullptr || rank != own_rank_) [[unlikely]]
            return 0;
        const heap::Offset block = heap->allocate_at_once(hazards_.index_of(line), bytes);
        return block != heap::no_block ? own_.start + block : 0;
    }

    // Frees a block of the heap of this process, with the fewest instructions. false: see
    // free_here(), or the address is of another heap.
    [[nodiscard, gnu::always_inline]] bool free_own(const memory::HazardLine& line,
                                                    GlobalAddress address) noexcept {
        // acquire: partner is heap_of()
        allocator::NodeHeap* const heap = own_.heap.load(std::memory_order_acquire);
        return heap != nullptr && heap->free_at_once(hazards_.index_of(line), address - own_.start);
    }

    // Frees a block of this node. false: nothing was done; free() does it, or returns the reason.
    [[nodiscard]] bool free_here(
        const memory::HazardLine& line,
        GlobalAddress address,
        allocator::BlockOwner whose = allocator::BlockOwner::program) noexcept {
        const std::uint64_t slot = space_.view().slot_of(address);
        allocator::NodeHeap* const heap = known_heap(slot);
        if (heap == nullptr) [[unlikely]]
            return false;
        const GlobalAddress block = address - heaps_[slot].start;
        return heap->free(hazards_.index_of(line), block, whose) == heap::Freed::done;
    }

    // The heap of a process, for layers that keep more than blocks in it; nullptr: it is on another
    // node, or not opened yet (heap_of()).
    [[nodiscard]] allocator::NodeHeap* heap_if_known(std::uint32_t process) const noexcept {
        return known_heap(space_.slot_of(process));
    }

    // Opens the heap of a process; nullptr: it is on another node. Errors: unsupported.
    base::Result<allocator::NodeHeap*> heap_of(std::uint32_t process);

    // The process of whose heap an address is. Errors: address (it names no process).
    base::Result<std::uint32_t> owner_of(GlobalAddress address) const;

    // "0x.. on rank 3": an address for messages; the number alone if it names no process.
    [[nodiscard]] std::string name_of(GlobalAddress address) const;

    // The address of the first block of the heap of a process.
    [[nodiscard]] GlobalAddress start_of(std::uint32_t process) const noexcept {
        return space_.claimed_address(process, node::heap_blocks);
    }

    // The failure when a heap has no room for `bytes` bytes; 0: for what a container keeps besides elements.
    base::Status no_room(std::uint32_t process, std::uint64_t bytes);

    // Errors, here and in all calls below: unsupported (the job has no heaps), peer (the owner's
    // node is lost). Only here: memory (no room in the owner's heap), argument (alignment).
    base::Result<GlobalAddress> allocate(
        std::uint32_t process,
        std::uint64_t bytes,
        std::uint64_t alignment,
        allocator::BlockOwner whose = allocator::BlockOwner::program);

    // Allocates all or none.   addresses  as many as sizes
    base::Status allocate_many(std::uint32_t process,
                               std::span<const std::uint64_t> sizes,
                               std::span<GlobalAddress> addresses,
                               allocator::BlockOwner whose = allocator::BlockOwner::program);

    // Allocates a block in any process's heap on loan to this process, for bytes in transit: if
    // this process dies, recovery frees it.
    base::Result<allocator::LentBlock> borrow(std::uint32_t process, std::uint64_t bytes);

    // Returns a block on loan, or frees one without a loan. Does nothing if its node is lost, or if
    // it was taken back already.
    void give_back(const allocator::LentBlock& lent) noexcept;

    // Replaces a block by one on loan in the same heap, and frees the old one: if this process
    // dies, one of the two stays. Errors, which change nothing: those of free(); stale (the loan
    // was ended, because this process was marked dead).
    base::Status replace(GlobalAddress old, const allocator::LentBlock& lent);

    // Calls borrow() for processes of other nodes and clears the memory in pieces, if it is too long
    // for a gateway to clear at once.
    //   blocks  receives the names of the blocks. A name without an address stays where the process is on
    //         this node, or its heap is full
    base::Status borrow_cleared(std::span<const std::uint32_t> processes,
                                std::uint64_t bytes,
                                std::span<allocator::LentBlock> blocks);

    // Makes the first bytes of a block zero.
    base::Status clear(GlobalAddress block, std::uint64_t bytes);

    // Errors: stale (freed before, or never allocated), address (no block begins there, or it is a
    // container's and `whose` says that it is the program's).
    base::Status free(GlobalAddress address,
                      allocator::BlockOwner whose = allocator::BlockOwner::program);

    // Frees all that can be freed, and skips null addresses. Returns the first error.
    base::Status free_many(std::span<const GlobalAddress> addresses,
                           allocator::BlockOwner whose = allocator::BlockOwner::program);

    // The usable bytes of a block. Errors: stale, address.
    base::Result<std::uint64_t> usable_bytes(GlobalAddress address);

    base::Result<heap::Usage> usage(std::uint32_t process);

    // Checks the consistency of a heap. Errors: system (its words contradict each other: the first
    // finding)
    base::Status check(std::uint32_t process);

private:
    // The heap of a process of this node.
    struct HeapHere {
        std::atomic<allocator::NodeHeap*> heap{nullptr};  // made when first asked for
        GlobalAddress start = 0;                          // start_of() its process
    };

    // nullptr: the slot is not of this node, or its heap is not opened yet.
    [[nodiscard]] allocator::NodeHeap* known_heap(std::uint64_t slot) const noexcept {
        // acquire: partner is heap_of()
        return slot < heap_count_ ? heaps_[slot].heap.load(std::memory_order_acquire) : nullptr;
    }

    [[nodiscard]] std::string owner_name(std::uint32_t process) const;
    [[nodiscard]] base::Status refusal(heap::Freed freed, GlobalAddress address) const;
    [[nodiscard]] base::Status no_heaps() const;
    template <typename Operation>
    base::Result<typename RemoteCall<Operation>::Returned> run(
        std::uint32_t process,
        const typename Operation::Input& input,
        local::Bytes tail = {},
        std::span<std::byte> room = {});
    base::Status allocate_groups(std::uint32_t process,
                                 std::span<const std::uint64_t> sizes,
                                 std::span<GlobalAddress> addresses,
                                 allocator::BlockOwner whose);
    base::Status free_group(std::uint32_t process,
                            std::span<const GlobalAddress> addresses,
                            allocator::BlockOwner whose);

    gma::Gma& gma_;
    const local::Space& space_;
    const local::Hazards& hazards_;
    std::uint32_t heap_count_;           // number of heaps of this node; 0: the job has no heaps
    std::unique_ptr<HeapHere[]> heaps_;  // indexed by slot
    HeapHere own_;                       // a copy of this process's entry in heaps_
    std::uint32_t own_rank_;
};

}  // namespace acp::data
