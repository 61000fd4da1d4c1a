// SPDX-License-Identifier: BSD-3-Clause
// The rare parts: clearing, and recovery of processes that are gone.
#include "allocator/node_heap.hpp"

#include <atomic>
#include <cstring>

#include "base/fence.hpp"
#include "local/numbered_operation.hpp"
#include "node/death.hpp"
#include "node/loss.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/mapping.hpp"
#include "os/membarrier.hpp"

#include "allocator/node_lists.hpp"
#include "allocator/node_sequences.hpp"
#include "allocator/node_tables.hpp"
#include "allocator/unused_containers.hpp"

namespace acp::allocator {

namespace {

constexpr std::uint64_t page = 4096;

static_assert(heap::thread_for_others == local::OperationContext::gateway_thread);

void give_back(void* blocks, std::uint64_t offset, std::uint64_t bytes) noexcept {
    // If the kernel refuses, the memory and its content stay. No block is promised to be zero.
    (void)os::give_back_shared(static_cast<char*>(blocks) + offset, bytes);
}

char* words_of(const node::Segment& segment, std::uint32_t owner) noexcept {
    return segment.claimed(owner, heap_words);
}

char* users_of(const node::Segment& segment, std::uint32_t owner) noexcept {
    return segment.claimed(owner, table_users);
}

char* list_users_of(const node::Segment& segment, std::uint32_t owner) noexcept {
    return segment.claimed(owner, list_users);
}

char* sequence_users_of(const node::Segment& segment, std::uint32_t owner) noexcept {
    return segment.claimed(owner, sequence_users);
}

char* blocks_of(const node::Segment& segment, std::uint32_t owner) noexcept {
    return segment.claimed(owner, node::heap_blocks);
}

// Whether a participant has nothing to recover, and no recovery of it has begun.
template <typename Participant>
bool is_idle(const Participant& participant) noexcept {
    return participant.is_unused() && participant.recoverer.load(std::memory_order_acquire) == 0;
}

}  // namespace

NodeHeap::NodeHeap(const node::Segment& segment,
                   std::uint32_t owner,
                   const local::Hazards& hazards) noexcept
    : segment_(segment),
      hazards_(hazards),
      owner_(owner),
      user_(hazards.slot()),
      blocks_(blocks_of(segment, owner)),
      gone_(reinterpret_cast<std::atomic<std::uint64_t>*>(
          words_of(segment, owner) + heap_words_of(segment.shape()).gone_at())),
      caches_(words_of(segment, owner) + heap_words_of(segment.shape()).caches_at(),
              hazards.has_membarrier() ? os::expedite : nullptr),
      loans_(words_of(segment, owner) + heap_words_of(segment.shape()).loans_at(),
             heap_words_of(segment.shape()).loans()),
      owned_(words_of(segment, owner) + heap_words_of(segment.shape()).owned_at(),
             heap_words_of(segment.shape()).shape().areas),
      users_{users_of(segment, owner), heap_users_of(segment.shape())},
      list_users_{list_users_of(segment, owner), heap_users_of(segment.shape())},
      sequence_users_{sequence_users_of(segment, owner), heap_users_of(segment.shape())},
      heap_(words_of(segment, owner),
            heap_words_of(segment.shape()).shape(),
            {give_back, blocks_of(segment, owner)},
            hazards.has_membarrier() ? os::expedite : nullptr) {}

void NodeHeap::clear(const node::Segment& segment, std::uint32_t owner) noexcept {
    if (segment.shape().heap_bytes == 0) return;
    // The ranges begin on a page, and each is the last one on its pages.
    const auto clear_range = [&](const node::ClaimedRange& range) {
        char* const start = segment.claimed(owner, range);
        const std::uint64_t bytes = segment.shape().claims.bytes(range);
        if (!os::give_back_shared(start, (bytes + page - 1) / page * page)) {
            std::memset(start, 0, bytes);
        }
    };
    clear_range(heap_words);
    clear_range(table_users);
    clear_range(list_users);
    clear_range(sequence_users);
    give_back(blocks_of(segment, owner), 0, segment.shape().heap_bytes);
}

void NodeHeap::clear_blocks(heap::Offset offset, std::uint64_t bytes) const noexcept {
    os::make_zero_shared(blocks_ + offset, bytes);
}

// Waits until another thread returns a shared cache, which takes a moment.
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

// Whether a process of the job is gone; on another node, as the node's gateway has published it.
bool NodeHeap::is_process_gone(std::uint32_t process) const noexcept {
    const std::uint32_t slot = process - segment_.shape().first_process;
    return slot < segment_.shape().local_procs ? is_gone(slot) : node::is_lost(segment_, process);
}

heap::Offset NodeHeap::lend(std::uint32_t thread, std::uint64_t bytes, std::uint64_t& process) {
    bool is_lent = false;
    const heap::Offset block =
        allocate_and(thread, bytes, alignment_least, BlockOwner::program,
                     [&](heap::Offset made) { is_lent = lend_block(made, process); });
    if (!is_lent) process = nobody;
    return block;
}

std::optional<heap::Freed> NodeHeap::replace(std::uint32_t thread,
                                             heap::Offset old,
                                             heap::Offset lent,
                                             std::uint64_t process) {
    if (process == nobody) return free(thread, old);
    if (is_owned(old)) return heap::Freed::of_container;
    if (heap_.usable_bytes(old) == 0 || loans_.has(old)) return heap::Freed::not_allocated;
    if (process >= segment_.shape().procs ||
        !loans_.hand_over(lent, old, static_cast<std::uint32_t>(process)))
        return std::nullopt;
    (void)free_lent(thread, old, process);
    return heap::Freed::done;
}

// Unlinks and frees a block (table/freeing.hpp) through the table participant that has the cache's
// number.
template <typename Unlink>
void NodeHeap::free_shown(heap::ThreadCache& cache, heap::Offset block, const Unlink& unlink) {
    HeapBlocks blocks(*this, cache);
    table::unlink_and_free<std::atomic>(blocks, users_[cache.number()].freeing, cache.number(),
                                        table::number_of(block), table::Spare::second_word, unlink);
}

// Called for its own process it must survive a kill; called by the gateway on behalf of others it
// need not, because the gateway is not killed alone.
bool NodeHeap::free_lent(std::uint32_t thread, heap::Offset block, std::uint64_t process) {
    if (process != segment_.shape().first_process + user_) {
        return end_loan(block, process) &&
               free(thread, block, is_owned(block) ? BlockOwner::separate : BlockOwner::program) ==
                   heap::Freed::done;
    }
    const Lease lease(*this, thread);
    return loans_.end_own(block, static_cast<std::uint32_t>(process),
                          [&](heap::Offset lent, const auto& unlink, heap::Lent, std::uint32_t) {
                              free_shown(lease.cache(), lent, unlink);
                          });
}

// Frees the loans of processes that are gone. True if there were any.
bool NodeHeap::recover_loans(heap::ThreadCache& cache) {
    bool is_any = false;
    (void)loans_.end_all(
        cache.number(), [this](heap::CacheNumber number) { return is_of_gone(number); },
        [this](std::uint32_t process) { return is_process_gone(process); },
        [&](heap::Offset block, const auto& unlink, heap::Lent what, std::uint32_t process) {
            // Its lender was killed before the loan was kept: recover_blocks() runs first, and
            // finds the block stored.
            if (what == heap::Lent::bytes && heap_.control().is_pending(block)) return;
            is_any = true;
            if (what == heap::Lent::bytes) return free_shown(cache, block, unlink);
            UnusedContainers(*this, cache).destroy(block, process, unlink);
        });
    return is_any;
}

std::optional<std::uint32_t> NodeHeap::participant_making(table::BlockNumber block) const noexcept {
    for (std::uint32_t i = 0; i < users_.count; ++i) {
        if (users_[i].has_made(block) || list_users_[i].has_made(block) ||
            sequence_users_[i].has_made(block)) {
            return i;
        }
    }
    return std::nullopt;
}

// Whether a pending block's number is stored. acp_malloc stores it nowhere before the block is
// kept; containers store it in their participants, a list also for a block in another heap of the
// node, and a lender in the loan.
bool NodeHeap::is_stored(heap::Offset block) const noexcept {
    if (participant_making(table::number_of(block)) || loans_.has(block)) return true;
    const std::uint64_t apart = apart_address(process(), table::number_of(block));
    for (std::uint32_t slot = 0; slot < segment_.shape().local_procs; ++slot) {
        const list::ListParticipants<std::atomic> users{list_users_of(segment_, slot),
                                                        list_users_.count};
        for (std::uint32_t i = 0; i < users.count; ++i) {
            if (users[i].made_apart.load(std::memory_order_acquire) == apart) return true;
        }
    }
    return false;
}

// Whether these caches hold nothing from then on.
bool NodeHeap::recover_blocks(heap::ThreadCache& cache, heap::CacheNumbers dead) {
    return heap_.recover(
        cache, dead, [this](heap::CacheNumber number) { return is_of_gone(number); },
        [this](heap::Offset block) { return is_stored(block); });
}

// Recovers all processes that are gone. True if there were any. A process that was killed while it
// recovered another one must come after that one: hence two passes.
bool NodeHeap::recover(heap::ThreadCache& cache) {
    bool is_any = recover_loans(cache);
    bool is_recovered = false;
    for (bool is_left = true, is_second = false; is_left; is_second = true) {
        is_left = false;
        for (std::uint32_t slot = 0; slot < segment_.shape().local_procs; ++slot) {
            if (!is_to_recover(slot)) continue;
            // Also if a participant names one of the blocks that it had retired: the others are
            // free now.
            is_any = true;
            if (!recover_process(cache, slot)) {
                is_left = !is_second;
                continue;
            }
            gone_[slot / 64].fetch_or(std::uint64_t{1} << (slot % 64), std::memory_order_release);
            is_recovered = true;
        }
    }
    // A loan that a process was killed in making is complete only after its recovery.
    if (is_recovered) (void)recover_loans(cache);
    return is_any;
}

bool NodeHeap::is_to_recover(std::uint32_t slot) const noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    return (gone_[slot / 64].load(std::memory_order_acquire) & bit) == 0 && is_gone(slot);
}

void NodeHeap::recover_if_any(heap::ThreadCache& cache) {
    for (std::uint32_t slot = 0; slot < segment_.shape().local_procs; ++slot) {
        if (!is_to_recover(slot)) continue;
        (void)recover(cache);
        return;
    }
}

// Recovers a process that is gone; true if nothing of it is left. A living process that has taken
// over one of its caches must finish first.
bool NodeHeap::recover_process(heap::ThreadCache& cache, std::uint32_t slot) {
    const heap::CacheNumbers dead = heap::caches_of(slot);
    // partner: reclaim_of_idle(), which takes a cache over, then tests whether its process is gone
    base::fence(std::memory_order_seq_cst);
    for (std::uint32_t number = dead.first; number < dead.first + dead.count; ++number) {
        const std::uint32_t taker = caches_.taker_of(number).number;
        if (taker != 0 && !is_of_gone(taker - 1)) return false;
    }
    const bool is_recovered = recover_left(cache, slot);
    const bool is_let_go = recover_taken_over(cache, slot);
    return recover_caches(cache, dead) && is_recovered && is_let_go;
}

// Recovers once more the participants that a process which is gone was recovering when it ended.
// They may be noted as recovered already, because another process did it first; but only a repeated
// recovery decides whether the blocks that the process was about to free are free.
bool NodeHeap::recover_left(heap::ThreadCache& cache, std::uint32_t slot) {
    bool is_done = true;
    for (heap::CacheNumber number = 0; number < users_.count; ++number) {
        const auto is_by_slot = [slot](const std::atomic<std::uint64_t>& recoverer) {
            const std::uint64_t who = recoverer.load(std::memory_order_acquire);
            return who != 0 &&
                   heap::caches_of(slot).contain(static_cast<heap::CacheNumber>(who - 1));
        };
        const bool is_left = is_by_slot(users_[number].recoverer) ||
                             is_by_slot(list_users_[number].recoverer) ||
                             is_by_slot(sequence_users_[number].recoverer);
        if (is_left && is_of_gone(number))
            is_done = recover_participants(cache, {number, 1}) && is_done;
    }
    return is_done;
}

// Completes the work of a process that is gone on caches of living processes, which it had taken
// over. A cache that another process has taken over from it may still return to it.
bool NodeHeap::recover_taken_over(heap::ThreadCache& cache, std::uint32_t slot) {
    const auto is_of_slot = [slot](std::uint32_t taker) {
        return taker != 0 && heap::caches_of(slot).contain(taker - 1);
    };
    bool is_done = true;
    for (heap::CacheNumber number = 0; number < users_.count; ++number) {
        const heap::CacheTaker taker = caches_.taker_of(number);
        if ((!is_of_slot(taker.number) && !is_of_slot(taker.before)) || is_of_gone(number))
            continue;  // a cache of another process that is gone is recovered with that process
        if (!is_of_slot(taker.number) ||
            caches_.take_over(number, cache.number(), taker) == nullptr) {
            is_done = false;
            continue;
        }
        base::fence(std::memory_order_seq_cst);  // see reclaim_of_idle()
        const bool is_recovered = is_of_gone(number) || recover_caches(cache, {number, 1});
        caches_.let_go(number, is_recovered ? heap::CacheTaker{} : taker);
        is_done = is_done && is_recovered;
    }
    return is_done;
}

bool NodeHeap::recover_caches(heap::ThreadCache& cache, heap::CacheNumbers dead) {
    return recover_blocks(cache, dead) && recover_participants(cache, dead);
}

bool NodeHeap::recover_participants(heap::ThreadCache& cache, heap::CacheNumbers dead) {
    return recover_tables(cache, dead) && recover_lists(cache, dead) &&
           recover_sequences(cache, dead);
}

// Recovers these participants in the tables of this heap; true if nothing of them is left.
bool NodeHeap::recover_tables(heap::ThreadCache& cache, heap::CacheNumbers dead) {
    HeapBlocks blocks(*this, cache);
    table::HashTable<> tables(blocks, users_, cache.number());
    bool is_done = true;
    for (std::uint32_t number = dead.first; number < dead.first + dead.count; ++number) {
        if (is_idle(users_[number])) continue;
        is_done = tables.recover(number, [this](std::uint32_t other) {
            return is_of_gone(other);
        }) && is_done;
    }
    return is_done;
}

// Recovers them in its lists.
bool NodeHeap::recover_lists(heap::ThreadCache& cache, heap::CacheNumbers dead) {
    ListBlocks blocks(*this, cache);
    list::SharedLists<> lists(blocks, list_users_, cache.number());
    bool is_done = true;
    for (std::uint32_t number = dead.first; number < dead.first + dead.count; ++number) {
        if (is_idle(list_users_[number])) continue;
        // A block that it had made in another heap is freed once, by this list: that heap first
        // tests whether a list names the block.
        const std::uint64_t apart = list_users_[number].made_apart.load(std::memory_order_acquire);
        bool is_apart_settled = true;  // false: a living process is testing the block
        if (apart != 0 && process_of_apart(apart) != process()) {
            (void)with_heap_of(process_of_apart(apart), [&](NodeHeap& heap) {
                const Lease lease(heap, cache.number() % heap::caches_per_process);
                is_apart_settled = heap.recover_blocks(lease.cache(), dead);
            });
        }
        if (!is_apart_settled) {
            is_done = false;
            continue;
        }
        is_done = lists.recover(number, [this](std::uint32_t other) {
            return is_of_gone(other);
        }) && is_done;
    }
    return is_done;
}

// Recovers them in its sequences.
bool NodeHeap::recover_sequences(heap::ThreadCache& cache, heap::CacheNumbers dead) {
    HeapBlocks blocks(*this, cache);
    NodeOthers others(*this);
    sequence::Sequence<> sequences(blocks, others, sequence_users_, cache.number());
    bool is_done = true;
    for (std::uint32_t number = dead.first; number < dead.first + dead.count; ++number) {
        if (is_idle(sequence_users_[number])) continue;
        is_done = sequences.recover(number) && is_done;
    }
    return is_done;
}

// Frees the blocks that a cache's participants have retired and that no hazard word names. False:
// they have retired none.
bool NodeHeap::reclaim(heap::ThreadCache& cache) {
    if (!has_retired(cache.number())) return false;
    HeapBlocks blocks(*this, cache);
    table::HashTable<>(blocks, users_, cache.number()).reclaim();
    ListBlocks list_blocks(*this, cache);
    list::SharedLists<>(list_blocks, list_users_, cache.number()).reclaim();
    return true;
}

bool NodeHeap::has_retired(heap::CacheNumber number) const noexcept {
    return users_[number].retired.load(std::memory_order_relaxed) != 0 ||
           list_users_[number].retired.load(std::memory_order_relaxed) != 0;
}

// Does so for the caches of others that no call uses: their threads may sleep for long. It takes
// over one cache at a time, so that a thread that is stopped here keeps at most one cache from
// others. False: none of them has retired any.
bool NodeHeap::reclaim_of_idle(heap::ThreadCache& cache) {
    bool is_any = false;
    for (heap::CacheNumber number = 0; number < users_.count; ++number) {
        if (number == cache.number() || !has_retired(number)) continue;
        is_any = true;
        heap::ThreadCache* const taken = caches_.take_over(number, cache.number());
        if (taken == nullptr) continue;
        // partner: recover_process(), which finds that a process is gone, then loads the takers of
        // its caches
        base::fence(std::memory_order_seq_cst);
        if (!is_of_gone(number)) (void)reclaim(*taken);
        caches_.let_go(number);
    }
    return is_any;
}

void NodeHeap::give_back_one(std::uint32_t thread) const {
    const Lease lease(*this, thread);
    heap_.idle_memory().give_back_one(lease.cache(), os::now_ns());
}

// An area whose memory the gateway is giving back is free, but no allocation can have it. False:
// there is none.
bool NodeHeap::hold_areas() const noexcept {
    constexpr std::uint64_t hold_ns = 5'000'000;
    constexpr std::uint64_t patience_ns = 50'000'000;  // then the gateway is considered stopped
    if (!heap_.has_to_give_back() && !heap_.idle_memory().is_giving_back()) return false;
    for (const std::uint64_t begin_ns = os::now_ns();;) {
        const std::uint64_t now_ns = os::now_ns();
        if (heap_.idle_memory().hold(now_ns + hold_ns) || now_ns - begin_ns > patience_ns)
            return true;
        os::yield_cpu();
    }
}

bool NodeHeap::find_room(heap::ThreadCache& cache) {
    const bool is_held = hold_areas();
    return free_what_waits(cache) || is_held;
}

// Recovers processes that are gone, and frees retired blocks. False: there were none.
bool NodeHeap::free_what_waits(heap::ThreadCache& cache) {
    const bool is_recovered = recover(cache);
    const bool is_reclaimed = reclaim(cache);
    return reclaim_of_idle(cache) || is_reclaimed || is_recovered;
}

heap::Offset NodeHeap::allocate_from_what_waits(heap::ThreadCache& cache,
                                                std::uint64_t bytes,
                                                std::uint64_t alignment) {
    return find_room(cache) ? heap_.allocate(cache, bytes, alignment) : heap::no_block;
}

// Recovers the other heaps of the node: a process that was killed in a call on a list there may
// have made the bytes of its element here. With no cache of this heap in hand: recovering takes
// one.
void NodeHeap::recover_elsewhere(std::uint32_t thread) {
    const std::uint32_t procs = segment_.shape().local_procs;
    bool is_any_gone = false;  // if not, no other heap's memory is touched
    for (std::uint32_t slot = 0; slot < procs && !is_any_gone; ++slot) is_any_gone = is_gone(slot);
    for (std::uint32_t slot = 0; slot < procs && is_any_gone; ++slot) {
        if (slot == owner_) continue;
        NodeHeap other(segment_, slot, hazards_);
        const Lease lease(other, thread);
        other.recover_if_any(lease.cache());
    }
}

void NodeHeap::tidy(std::uint32_t thread) {
    recover_elsewhere(thread);
    heap::ThreadCache& cache = borrow(thread);
    (void)free_what_waits(cache);
    caches_.give_back(cache);
}

heap::Usage NodeHeap::usage(std::uint32_t thread) {
    heap::Usage whole;
    for (heap::HeapPlace place; !is_end(place);) whole += usage_of_piece(thread, place);
    return whole;
}

heap::Usage NodeHeap::usage_of_piece(std::uint32_t thread, heap::HeapPlace& place) {
    if (place.unit == 0) tidy(thread);
    return heap::usage_of_piece(heap_.control(), place);
}

heap::UnitFinding NodeHeap::finding_in_piece(std::uint32_t thread, heap::HeapPlace& place) {
    if (place.unit == 0) tidy(thread);
    return heap::finding_in_piece(heap_.control(), place);
}

}  // namespace acp::allocator
