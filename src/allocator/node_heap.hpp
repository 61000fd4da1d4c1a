// SPDX-License-Identifier: BSD-3-Clause
// The heap of one process, as another process of its node or the gateway uses it: the heap's words and blocks in the node segment,
// the caller's thread caches, and what processes that are gone left undone, in its containers too (allocator/node_tables.hpp,
// node_lists.hpp, node_sequences.hpp). Any thread; nobody waits for another process.
// Tests: tests/unit/allocator/node_heap_test.cpp, node_tables_test.cpp, tests/containers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heap/cache_places.hpp"
#include "heap/heap.hpp"
#include "heap/loans.hpp"
#include "heap/owned_blocks.hpp"
#include "heap/walk.hpp"
#include "local/hazards.hpp"
#include "node/segment.hpp"

#include "list/layout.hpp"
#include "sequence/layout.hpp"
#include "table/layout.hpp"

namespace acp::allocator {

inline constexpr std::uint64_t alignment_least = heap::granule_bytes;
inline constexpr std::uint64_t alignment_most = 4096;  // the blocks of a heap begin on a page

// Whose a block is: who frees it by its address must be the same.
enum class BlockOwner : std::uint32_t { program, container };

class NodeHeap {
public:
    //   segment  outlives this; of a job whose shape has heap_bytes
    //   owner    slot of the process whose heap it is
    //   hazards  of the process that uses it here, or of the gateway
    NodeHeap(const node::Segment& segment,
             std::uint32_t owner,
             const local::Hazards& hazards) noexcept;

    ~NodeHeap() = default;

    NodeHeap(const NodeHeap&) = delete;
    NodeHeap& operator=(const NodeHeap&) = delete;

    // Makes the heap of a process empty: all zero, as at the start of a job. Nobody may use it meanwhile.
    static void clear(const node::Segment& segment, std::uint32_t owner) noexcept;

    // Takes a block. Returns its offset; heap::no_block: there is no room, also not where processes that are gone left blocks.
    //   thread     the caller's number among the threads of its process (local::Hazards::index_of)
    //   alignment  power of two, <= alignment_most
    [[nodiscard]] heap::Offset allocate(std::uint32_t thread,
                                        std::uint64_t bytes,
                                        std::uint64_t alignment,
                                        BlockOwner owner = BlockOwner::program) {
        heap::ThreadCache& cache = borrow(thread);
        heap::Offset block = heap_.allocate(cache, bytes, alignment);
        if (block == heap::no_block) [[unlikely]]
            block = allocate_from_what_waits(cache, bytes, alignment);
        if (block != heap::no_block) [[likely]]
            prepare(block, owner);
        heap_.keep(cache);
        caches_.give_back(cache);
        return block;
    }

    // Frees a block, whoever allocated it.
    heap::Freed free(std::uint32_t thread,
                     heap::Offset block,
                     BlockOwner owner = BlockOwner::program) {
        if (owner == BlockOwner::program && is_owned(block)) [[unlikely]]
            return heap::Freed::of_container;
        heap::ThreadCache& cache = borrow(thread);
        const heap::Freed freed = heap_.free(cache, block);
        caches_.give_back(cache);
        return freed;
    }

    // Lends a process a block for bytes on their way: heap/loans.hpp. Returns its offset, as allocate().
    //   process  index in the job; nobody: where there is no room for the loan, and then the block is not freed should the process die
    static constexpr std::uint64_t nobody = ~std::uint64_t{0};
    [[nodiscard]] heap::Offset lend(std::uint32_t thread,
                                    std::uint64_t bytes,
                                    std::uint64_t& process);

    // Lends a block that the caller has. false: there is no room for the loan.
    [[nodiscard]] bool lend_block(heap::Offset block, std::uint64_t process) noexcept {
        return process < segment_.shape().procs &&
               loans_.lend(block, static_cast<std::uint32_t>(process));
    }

    // Lends a container to its maker, and ends that: as table::Blocks says.
    [[nodiscard]] bool lend_container(heap::Offset container, std::uint64_t maker) noexcept {
        return maker < segment_.shape().procs &&
               loans_.lend(container, static_cast<std::uint32_t>(maker), heap::Lent::container);
    }

    [[nodiscard]] bool end_by_use(heap::Offset container, std::uint32_t maker) noexcept {
        return loans_.end_by_use(container, maker);
    }

    // Ends a loan, so that the block is the caller's. false: it is not lent to the process, or not any more.
    [[nodiscard]] bool end_loan(heap::Offset block, std::uint64_t process) noexcept {
        if (process == nobody) return true;
        return process < segment_.shape().procs &&
               loans_.end(block, static_cast<std::uint32_t>(process));
    }

    // Frees a lent block. false: as end_loan().
    [[nodiscard]] bool free_lent(std::uint32_t thread, heap::Offset block, std::uint64_t process);

    // A lent block while an operation uses it: nobody frees it meanwhile.
    class Borrowed {
    public:
        Borrowed(NodeHeap& heap, heap::Offset block, std::uint64_t process) noexcept
            : heap_(heap), block_(block), process_(static_cast<std::uint32_t>(process)) {
            is_lent_ = process != nobody;
            is_there_ = !is_lent_ || (process < heap.segment_.shape().procs &&
                                      heap.loans_.hold(block, process_));
        }

        ~Borrowed() {
            if (is_there_ && is_lent_) heap_.loans_.let_go(block_, process_);
        }

        Borrowed(const Borrowed&) = delete;
        Borrowed& operator=(const Borrowed&) = delete;

        // false: the block is not lent to the process, or not any more.
        [[nodiscard]] bool is_there() const noexcept { return is_there_; }

        // The block is about to become a container's: before others can find it there.
        void own() noexcept {
            if (block_ != heap::no_block) heap_.owned_.add(block_);
        }

        // It is the container's, and not lent any more.
        void give_away() noexcept {
            if (is_there_ && is_lent_) heap_.loans_.end_held(block_, process_);
            is_lent_ = false;
        }

    private:
        NodeHeap& heap_;
        heap::Offset block_;
        std::uint32_t process_;
        bool is_lent_ = false;
        bool is_there_ = false;
    };

    // One of the caches, for one call of the calling thread.
    class Lease {
    public:
        Lease(NodeHeap& heap, std::uint32_t thread) noexcept
            : heap_(heap), cache_(heap.borrow(thread)) {}

        ~Lease() { heap_.caches_.give_back(cache_); }

        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        [[nodiscard]] heap::ThreadCache& cache() const noexcept { return cache_; }

    private:
        NodeHeap& heap_;
        heap::ThreadCache& cache_;
    };

    // A block that the caller has is about to become a container's: before others can find it there.
    void own(heap::Offset block) const noexcept { owned_.add(block); }

    // What a block of the program has room for, in bytes; 0: none begins there.
    [[nodiscard]] std::uint64_t usable_bytes(heap::Offset block) const noexcept {
        return is_owned(block) ? 0 : heap_.usable_bytes(block);
    }

    // Makes memory of the heap zero.   offset, bytes  inside the heap
    void clear_blocks(heap::Offset offset, std::uint64_t bytes) const noexcept;

    // Both do first as find_room().
    [[nodiscard]] heap::Usage usage(std::uint32_t thread);
    [[nodiscard]] std::vector<std::string> findings(std::uint32_t thread);

    [[nodiscard]] std::uint64_t limit_bytes() const noexcept { return heap_.limit_bytes(); }

    // Who uses the tables of this heap, one for each cache, by its number.
    [[nodiscard]] table::Participants<std::atomic> participants() const noexcept { return users_; }

    // Who uses its lists, likewise.
    [[nodiscard]] list::ListParticipants<std::atomic> list_participants() const noexcept {
        return list_users_;
    }

    // And its vectors and deques.
    [[nodiscard]] sequence::SequenceUsers<std::atomic> sequence_participants() const noexcept {
        return sequence_users_;
    }

    // A container is about to sign a block. Comes before the block is freed, and so before it is given out again.
    void note_signed(heap::Offset block) const noexcept { owned_.note_unit(block); }

    // Whether the process of a participant has left or died.
    [[nodiscard]] bool is_participant_gone(std::uint32_t number) const noexcept {
        return is_of_gone(number);
    }

    // The participant that has made a block and not told of it yet.
    [[nodiscard]] std::optional<std::uint32_t> participant_making(
        table::BlockNumber block) const noexcept;

    // Finishes what processes that are gone left undone, in the heap and its containers.
    bool recover(heap::ThreadCache& cache);

    // Where there is no room: frees what calls have taken out of containers and nobody reads any more, of all threads of all processes
    // that are in no call now, and does as recover().
    void find_room(heap::ThreadCache& cache);

    // The index in the job of the process whose heap it is.
    [[nodiscard]] std::uint32_t process() const noexcept {
        return segment_.shape().first_process + owner_;
    }

    // The heap of another process of the node, or this one again. false: the process is of another node.
    template <typename Use>
    bool with_heap_of(std::uint32_t process, const Use& use) {
        const std::uint32_t slot = process - segment_.shape().first_process;
        if (slot >= segment_.shape().local_procs) return false;
        NodeHeap heap(segment_, slot, hazards_);
        use(heap);
        return true;
    }

private:
    friend class HeapBlocks;
    friend class NodeFinder;
    friend class ListBlocks;

    // Before a new block is kept. What a container wrote into it when it freed it is there no more (table/freeing.hpp). Every block has
    // two words. Blocks where none did so are not touched: their pages may have no memory yet.
    void prepare(heap::Offset block, BlockOwner owner) const noexcept {
        if (owned_.is_unit_noted(block)) [[unlikely]] {
            wipe(block);
            if (owner == BlockOwner::program) owned_.remove(block);
        }
        if (owner == BlockOwner::container) owned_.add(block);
    }

    // Whether an allocated block is a container's.
    [[nodiscard]] bool is_owned(heap::Offset block) const noexcept {
        return block < limit_bytes() && owned_.contains(block) && heap_.usable_bytes(block) != 0;
    }

    void wipe(heap::Offset block) const noexcept {
        auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(blocks_ + block);
        words[0].store(0, std::memory_order_relaxed);
        words[1].store(0, std::memory_order_relaxed);
    }

    [[nodiscard]] heap::ThreadCache& borrow(std::uint32_t thread) const noexcept {
        heap::ThreadCache* cache = caches_.borrow(user_, thread);
        return cache != nullptr ? *cache : wait_for_cache(thread);
    }

    [[nodiscard, gnu::cold]] heap::ThreadCache& wait_for_cache(std::uint32_t thread) const noexcept;
    [[nodiscard, gnu::cold]] heap::Offset allocate_from_what_waits(heap::ThreadCache& cache,
                                                                   std::uint64_t bytes,
                                                                   std::uint64_t alignment);
    template <typename Unlink>
    void free_shown(heap::ThreadCache& cache, heap::Offset block, const Unlink& unlink);
    bool recover_loans(heap::ThreadCache& cache);
    bool recover_process(heap::ThreadCache& cache, std::uint32_t slot);
    bool recover_caches(heap::ThreadCache& cache, heap::CacheNumbers dead);
    bool recover_participants(heap::ThreadCache& cache, heap::CacheNumbers dead);
    bool recover_left(heap::ThreadCache& cache, std::uint32_t slot);
    bool recover_taken_over(heap::ThreadCache& cache, std::uint32_t slot);
    bool recover_blocks(heap::ThreadCache& cache, heap::CacheNumbers dead);
    void tidy(std::uint32_t thread);
    void reclaim(heap::ThreadCache& cache);
    void reclaim_of_idle(heap::ThreadCache& cache);
    bool recover_tables(heap::ThreadCache& cache, heap::CacheNumbers dead);
    bool recover_lists(heap::ThreadCache& cache, heap::CacheNumbers dead);
    bool recover_sequences(heap::ThreadCache& cache, heap::CacheNumbers dead);

    [[nodiscard]] bool is_of_gone(heap::CacheNumber number) const noexcept {
        return is_gone(number / heap::caches_per_process);
    }

    [[nodiscard]] bool is_stored(heap::Offset block) const noexcept;
    [[nodiscard]] bool is_gone(std::uint32_t slot) const noexcept;
    [[nodiscard]] bool is_process_gone(std::uint32_t process) const noexcept;

    const node::Segment& segment_;
    const local::Hazards& hazards_;
    std::uint32_t owner_;
    std::uint32_t user_;
    char* blocks_;
    std::atomic<std::uint64_t>* gone_;  // a bit for each slot: its caches were recovered
    heap::CachePlaces caches_;
    heap::Loans<> loans_;
    heap::OwnedBlocks owned_;
    table::Participants<std::atomic> users_;
    list::ListParticipants<std::atomic> list_users_;
    sequence::SequenceUsers<std::atomic> sequence_users_;
    heap::Heap<> heap_;
};

}  // namespace acp::allocator
