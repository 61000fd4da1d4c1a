// SPDX-License-Identifier: BSD-3-Clause
// The heap of one process, used by any process of its node or the node's gateway: allocates and
// frees blocks through the caller's thread caches, and recovers the unfinished work of processes
// that are gone (dead, or after acp_finalize), also in the containers of the heap
// (allocator/node_tables.hpp, node_lists.hpp, node_sequences.hpp). All its state is in the node
// segment. Any thread; no thread waits for another process.
// Tests: tests/unit/allocator/node_heap_test.cpp, node_tables_test.cpp, tests/containers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "heap/cache_places.hpp"
#include "heap/heap.hpp"
#include "heap/loans.hpp"
#include "heap/owned_blocks.hpp"
#include "heap/walk.hpp"
#include "local/hazards.hpp"
#include "node/segment.hpp"

#include "allocator/heap_claims.hpp"

namespace acp::allocator {

inline constexpr std::uint64_t alignment_least = heap::granule_bytes;
inline constexpr std::uint64_t alignment_most = 4096;  // the blocks of a heap begin on a page

// The owner of a block: the program; a container, as a part that it alone allocates and frees; or a
// container or a team, as a separate block, which their calls allocate and free by its address. A
// program that frees one of the last two by its address is refused, and so is a request to free a
// part.
enum class BlockOwner : std::uint32_t { program, container, separate };

class NodeHeap {
public:
    //   segment  outlives this; of a job whose shape has heap_bytes
    //   owner    slot of the process whose heap it is
    //   hazards  of the calling process, or of the gateway
    NodeHeap(const node::Segment& segment,
             std::uint32_t owner,
             const local::Hazards& hazards) noexcept;

    ~NodeHeap() = default;

    NodeHeap(const NodeHeap&) = delete;
    NodeHeap& operator=(const NodeHeap&) = delete;

    // Makes the heap of a process empty: all zero, as at the start of a job. No thread may use the
    // heap during this call.
    static void clear(const node::Segment& segment, std::uint32_t owner) noexcept;

    // Allocates a block. Returns its offset; heap::no_block: there is no room, even after
    // find_room().
    //   thread     the caller's number among the threads of its process (local::Hazards::index_of)
    //   alignment  power of two, <= alignment_most
    [[nodiscard]] heap::Offset allocate(std::uint32_t thread,
                                        std::uint64_t bytes,
                                        std::uint64_t alignment,
                                        BlockOwner owner = BlockOwner::program) {
        const std::uint64_t least =
            owner == BlockOwner::separate ? heap::OwnedBlocks::separate_least : 0;
        return allocate_and(thread, std::max(bytes, least), alignment, owner, [](heap::Offset) {});
    }

    // Does so for a small block of the program, if the span that the thread's own cache holds has
    // one; calls no function. Only if no fence is needed (local::Hazards::has_membarrier).
    // no_block: allocate() does it, or finds that there is no room.
    [[nodiscard, gnu::always_inline]] heap::Offset allocate_at_once(std::uint32_t thread,
                                                                    std::uint64_t bytes) {
        const std::uint32_t user = user_;
        const heap::CachePlaces::OwnPlace place = caches_.own_place(user, thread);
        if (thread >= heap::threads_with_cache || !place.begin()) [[unlikely]]
            return heap::no_block;
        const heap::CacheNumber number = heap::caches_of(user).first + thread;
        heap::CacheRecord<std::atomic>& record = heap_.control().cache(number);
        const heap::Offset block = heap_.allocate_at_once(place.cache(number), record, bytes);
        if (block != heap::no_block) [[likely]] {
            prepare(block, bytes, BlockOwner::program);
            heap::Control<>::keep(record);
        }
        place.end();
        return block;
    }

    // Frees a block of the program, if its unit has never held one of a container and the thread's
    // own cache is free. Only if no fence is needed. false: free() does it, or returns the reason.
    [[nodiscard, gnu::always_inline]] bool free_at_once(std::uint32_t thread, heap::Offset block) {
        if (block >= limit_bytes() || owned_.is_unit_noted(block)) return false;
        const std::uint32_t user = user_;
        const heap::CachePlaces::OwnPlace place = caches_.own_place(user, thread);
        if (thread >= heap::threads_with_cache || !place.begin()) [[unlikely]]
            return false;
        heap::ThreadCache& cache = place.cache(heap::caches_of(user).first + thread);
        const heap::Freed freed = heap_.free(cache, block);
        place.end();
        return freed == heap::Freed::done;
    }

    // Frees a block that any process has allocated.   owner  program or separate: refused if the
    // block belongs to another kind of owner
    heap::Freed free(std::uint32_t thread,
                     heap::Offset block,
                     BlockOwner owner = BlockOwner::program) {
        const bool is_anothers = owner == BlockOwner::program
                                     ? is_owned(block)
                                     : heap_.usable_bytes(block) != 0 && !is_separate(block);
        if (is_anothers) [[unlikely]]
            return heap::Freed::of_container;
        heap::ThreadCache& cache = borrow(thread);
        const heap::Freed freed = heap_.free(cache, block);
        caches_.give_back(cache);
        return freed;
    }

    // From now on calls through this object leave the memory of freed blocks to give_back_one(). The
    // blocks are free at once.
    void give_back_later() noexcept { heap_.give_back_later(); }

    // Whether give_back_one() has something to do.
    [[nodiscard]] bool has_to_give_back() const noexcept { return heap_.has_to_give_back(); }

    // Gives at most 1 MiB of that memory back to the system.
    void give_back_one(std::uint32_t thread) const;

    // Whether a separate block begins there.
    [[nodiscard]] bool is_separate(heap::Offset block) const noexcept {
        return is_owned(block) && heap_.usable_bytes(block) >= heap::OwnedBlocks::separate_least &&
               owned_.is_separate(block);
    }

    // Whether the bytes of an element may lie in a block: a separate one, or in the list's own heap
    // one of the program, which the insertion makes a separate one.
    [[nodiscard]] bool may_hold(heap::Offset block,
                                std::uint64_t bytes,
                                bool is_own_heap) const noexcept {
        return heap_.usable_bytes(block) >= std::max(bytes, heap::OwnedBlocks::separate_least) &&
               (is_separate(block) || (is_own_heap && !is_owned(block)));
    }

    // Allocates a block for bytes that a process sends or fetches, and loans it to the process: if
    // that dies, recovery frees the block (heap/loans.hpp). Returns its offset, like allocate().
    //   process  index in the job. Set to nobody if there is no room for the loan: then the block
    //            leaks if the process dies
    static constexpr std::uint64_t nobody = ~std::uint64_t{0};
    [[nodiscard]] heap::Offset lend(std::uint32_t thread,
                                    std::uint64_t bytes,
                                    std::uint64_t& process);

    // Replaces a block of the program by a block on loan to a process: the loan ends, the new block
    // belongs to the program, and the old one is freed. If the process dies in between, either all
    // of this has happened or nothing. Changes nothing if the old block cannot be freed, or (no
    // value) if the loan has ended.
    //   process  nobody: see lend()
    [[nodiscard]] std::optional<heap::Freed> replace(std::uint32_t thread,
                                                     heap::Offset old,
                                                     heap::Offset lent,
                                                     std::uint64_t process);

    // Records the loan of a block that the caller has allocated. false: there is no room for the
    // loan.
    [[nodiscard]] bool lend_block(heap::Offset block, std::uint64_t process) noexcept {
        return process < segment_.shape().procs &&
               loans_.lend(block, static_cast<std::uint32_t>(process));
    }

    // Records the loan of a container to its maker, until end_by_use(): see table::Blocks.
    [[nodiscard]] bool lend_container(heap::Offset container, std::uint64_t maker) noexcept {
        return maker < segment_.shape().procs &&
               loans_.lend(container, static_cast<std::uint32_t>(maker), heap::Lent::container);
    }

    // Whether a block or a container is on loan.
    [[nodiscard]] bool is_lent(heap::Offset block) const noexcept { return loans_.has(block); }

    [[nodiscard]] bool end_by_use(heap::Offset container, std::uint32_t maker) noexcept {
        return loans_.end_by_use(container, maker);
    }

    // Ends a loan; the block then belongs to the caller. false: it is not on loan to the process.
    [[nodiscard]] bool end_loan(heap::Offset block, std::uint64_t process) noexcept {
        if (process == nobody) return !loans_.has(block);
        return process < segment_.shape().procs &&
               loans_.end(block, static_cast<std::uint32_t>(process));
    }

    // Frees a block on loan. false: see end_loan().
    [[nodiscard]] bool free_lent(std::uint32_t thread, heap::Offset block, std::uint64_t process);

    // Holds a block on loan during an operation, so that no recovery frees it before the operation
    // ends.
    class Borrowed {
    public:
        Borrowed(NodeHeap& heap,
                 heap::Offset block,
                 std::uint64_t process,
                 heap::Lent what = heap::Lent::bytes) noexcept
            : heap_(heap),
              block_(block),
              process_(static_cast<std::uint32_t>(process)),
              what_(what) {
            is_lent_ = process != nobody;
            if (is_lent_) {
                is_there_ = process < heap.segment_.shape().procs &&
                            heap.loans_.hold(block, process_, what);
            } else {
                is_there_ = block == heap::no_block || !heap.loans_.has(block);
            }
        }

        ~Borrowed() {
            if (is_there_ && is_lent_) heap_.loans_.let_go(block_, process_, what_);
        }

        Borrowed(const Borrowed&) = delete;
        Borrowed& operator=(const Borrowed&) = delete;

        // false: the block is not on loan to the process.
        [[nodiscard]] bool is_there() const noexcept { return is_there_; }

        // The block is about to become a container's, as a separate one. Called before other
        // threads can find it there.
        void own() noexcept {
            if (block_ != heap::no_block) heap_.owned_.add_separate(block_);
        }

        // The block is about to become a container's. Called as own().
        //   bytes  its size, as far as the container uses it
        void own_whole(std::uint64_t bytes) noexcept { heap_.owned_.add(block_, bytes); }

        // The container owns the block now: ends the loan.
        void give_away() noexcept {
            if (is_there_ && is_lent_) heap_.loans_.end_held(block_, process_);
            is_lent_ = false;
        }

    private:
        NodeHeap& heap_;
        heap::Offset block_;
        std::uint32_t process_;
        heap::Lent what_;
        bool is_lent_ = false;
        bool is_there_ = false;
    };

    // A thread cache, borrowed for one call of the calling thread.
    class Lease {
    public:
        Lease(const NodeHeap& heap, std::uint32_t thread) noexcept
            : heap_(heap), cache_(heap.borrow(thread)) {}

        ~Lease() { heap_.caches_.give_back(cache_); }

        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        [[nodiscard]] heap::ThreadCache& cache() const noexcept { return cache_; }

    private:
        const NodeHeap& heap_;
        heap::ThreadCache& cache_;
    };

    // A block of the caller is about to become a part of a container. Called before other threads
    // can find it there.
    void own(heap::Offset block) const noexcept { owned_.add(block, heap_.usable_bytes(block)); }

    // A part of a container is the program's again.
    void disown(heap::Offset block) const noexcept { owned_.remove(block); }

    // The usable bytes of a block of the program; 0: none begins there.
    [[nodiscard]] std::uint64_t usable_bytes(heap::Offset block) const noexcept {
        return is_owned(block) ? 0 : heap_.usable_bytes(block);
    }

    // The usable bytes of a block of a container; 0: none begins there.
    [[nodiscard]] std::uint64_t owned_bytes(heap::Offset block) const noexcept {
        return is_owned(block) ? heap_.usable_bytes(block) : 0;
    }

    // Makes memory of the heap zero.   offset, bytes  inside the heap
    void clear_blocks(heap::Offset offset, std::uint64_t bytes) const noexcept;

    // The bytes in use, approximately. Fast: also called by failing allocations.
    [[nodiscard]] std::uint64_t bytes_in_use() const noexcept {
        return heap::bytes_in_use(heap_.control());
    }

    // The usage of the whole heap.
    [[nodiscard]] heap::Usage usage(std::uint32_t thread);

    // The usage of the next units, and the first finding in them: see heap/walk.hpp. The piece at the
    // begin of the heap recovers and frees first what find_room() does.
    [[nodiscard]] heap::Usage usage_of_piece(std::uint32_t thread, heap::HeapPlace& place);
    [[nodiscard]] heap::UnitFinding finding_in_piece(std::uint32_t thread, heap::HeapPlace& place);

    // Whether a walk has reached the end of the heap.
    [[nodiscard]] bool is_end(const heap::HeapPlace& place) const noexcept {
        return place.unit >= heap_.control().shape().units();
    }

    [[nodiscard]] std::uint64_t limit_bytes() const noexcept { return heap_.limit_bytes(); }

    // The participants in the tables of this heap: one for each thread cache, with the cache's
    // number.
    [[nodiscard]] table::Participants<std::atomic> participants() const noexcept { return users_; }

    // The participants in its lists.
    [[nodiscard]] list::ListParticipants<std::atomic> list_participants() const noexcept {
        return list_users_;
    }

    // The participants in its vectors and deques.
    [[nodiscard]] sequence::SequenceUsers<std::atomic> sequence_participants() const noexcept {
        return sequence_users_;
    }

    // A container is about to sign a block (table/freeing.hpp). Called before the block is freed,
    // so that its next allocation wipes the signature.
    void note_signed(heap::Offset block) const noexcept { owned_.note_unit(block); }

    // Whether the process of a participant has left or died.
    [[nodiscard]] bool is_participant_gone(std::uint32_t number) const noexcept {
        return is_of_gone(number);
    }

    // The participant that has made a block and not linked it yet.
    [[nodiscard]] std::optional<std::uint32_t> participant_making(
        table::BlockNumber block) const noexcept;

    // Completes the unfinished work of processes that are gone, in the heap and its containers.
    // True if there was any.
    bool recover(heap::ThreadCache& cache);

    // Calls recover() if a process is gone that was not recovered yet.
    void recover_if_any(heap::ThreadCache& cache);

    // Called when an allocation finds no room. Waits for the end of give_back_one() in the node's
    // gateway, which takes about 1 ms, and holds off the next ones for the caller's next try. Calls
    // recover(), then frees the blocks that were retired from containers and that no hazard word
    // names: those of the caller's cache, and those of all caches that no call uses now. False:
    // there was nothing to recover or to free.
    bool find_room(heap::ThreadCache& cache);

    // The index in the job of the process whose heap it is.
    [[nodiscard]] std::uint32_t process() const noexcept {
        return segment_.shape().first_process + owner_;
    }

    // The heap of another process of the node, or this one again. false: the process is of another
    // node.
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

    // Allocates like allocate().   note(block)  stores the block's number for recovery, before the
    // block is kept
    template <typename Note>
    [[nodiscard, gnu::always_inline]] heap::Offset allocate_and(std::uint32_t thread,
                                                                std::uint64_t bytes,
                                                                std::uint64_t alignment,
                                                                BlockOwner owner,
                                                                const Note& note) {
        heap::ThreadCache& cache = borrow(thread);
        heap::Offset block = heap_.allocate(cache, bytes, alignment);
        if (block == heap::no_block) [[unlikely]]
            block = allocate_from_what_waits(cache, bytes, alignment);
        if (block != heap::no_block) [[likely]] {
            prepare(block, bytes, owner);
            note(block);
        }
        heap_.keep(cache);
        caches_.give_back(cache);
        return block;
    }

    // Prepares a block that was just allocated, before any word leads to it. Wipes the signature
    // that a container may have left in its first two words (table/freeing.hpp); every block has
    // these. Blocks of a unit that no container has used are not written, since that would take
    // memory for their pages.
    void prepare(heap::Offset block, std::uint64_t bytes, BlockOwner owner) const noexcept {
        if (owned_.is_unit_noted(block)) [[unlikely]] {
            wipe(block);
            if (owner == BlockOwner::program) owned_.remove(block);
        }
        if (owner == BlockOwner::container) owned_.add(block, bytes);
        if (owner == BlockOwner::separate) owned_.add_separate(block);
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

    // Not gnu::cold: see CachePlaces::borrow_any.
    [[nodiscard, gnu::noinline]] heap::ThreadCache& wait_for_cache(
        std::uint32_t thread) const noexcept;
    [[nodiscard, gnu::cold]] heap::Offset allocate_from_what_waits(heap::ThreadCache& cache,
                                                                   std::uint64_t bytes,
                                                                   std::uint64_t alignment);
    template <typename Unlink>
    void free_shown(heap::ThreadCache& cache, heap::Offset block, const Unlink& unlink);
    bool hold_areas() const noexcept;
    bool free_what_waits(heap::ThreadCache& cache);
    bool recover_loans(heap::ThreadCache& cache);
    bool recover_process(heap::ThreadCache& cache, std::uint32_t slot);
    bool recover_caches(heap::ThreadCache& cache, heap::CacheNumbers dead);
    bool recover_participants(heap::ThreadCache& cache, heap::CacheNumbers dead);
    bool recover_left(heap::ThreadCache& cache, std::uint32_t slot);
    bool recover_taken_over(heap::ThreadCache& cache, std::uint32_t slot);
    bool recover_blocks(heap::ThreadCache& cache, heap::CacheNumbers dead);
    void recover_elsewhere(std::uint32_t thread);
    void tidy(std::uint32_t thread);
    [[nodiscard]] bool has_retired(heap::CacheNumber number) const noexcept;
    bool reclaim(heap::ThreadCache& cache);
    bool reclaim_of_idle(heap::ThreadCache& cache);
    bool recover_tables(heap::ThreadCache& cache, heap::CacheNumbers dead);
    bool recover_lists(heap::ThreadCache& cache, heap::CacheNumbers dead);
    bool recover_sequences(heap::ThreadCache& cache, heap::CacheNumbers dead);

    [[nodiscard]] bool is_of_gone(heap::CacheNumber number) const noexcept {
        return is_gone(number / heap::caches_per_process);
    }

    [[nodiscard]] bool is_stored(heap::Offset block) const noexcept;
    [[nodiscard]] bool is_to_recover(std::uint32_t slot) const noexcept;
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
