// SPDX-License-Identifier: BSD-3-Clause
// Completes the operation of a dead participant. Its words name the record, bucket or array that it
// had made or was retiring; a search finds whether that block is linked. Another survivor may
// repeat each step. Included by table/table.hpp.
// Tests: tests/unit/table/kill_test.cpp.
#pragma once

#include "table/table.hpp"

namespace acp::table {

template <template <class> class Atomic>
class Recovery {
public:
    //   ground  outlives this
    //   dead    number of the participant
    Recovery(const Ground<Atomic>& ground, std::uint32_t dead) noexcept
        : ground_(ground),
          reclaimer_(ground),
          growth_(ground),
          dead_(dead),
          shown_(ground.participants()[dead]) {}

    // false: there was no memory to migrate a bucket that must be searched, the participants that
    // the dead one was recovering come first, or a participant names a block that it had retired.
    bool run() {
        // used by the recovery of this thread if it is killed here
        ground_.shown().table.store(shown_.table.load(std::memory_order_relaxed),
                                    std::memory_order_relaxed);
        ground_.shown().table_id.store(shown_.table_id.load(std::memory_order_relaxed),
                                       std::memory_order_relaxed);
        make_count_unknown();
        const bool is_freed = reclaimer_.finish_freeing(dead_);
        if (!end_insertion() || !end_unlinking()) return false;
        free_unlinked_block();
        for (auto& hazard : shown_.hazard) hazard.store(0, std::memory_order_release);
        shown_.table.store(0, std::memory_order_relaxed);
        return reclaimer_.scan_whole(dead_) && is_freed;
    }

private:
    enum class Linked : std::uint8_t { no, yes, no_memory };

    bool end_insertion() {
        const std::uint64_t word = shown_.record_made.load(std::memory_order_acquire);
        const BlockNumber record = made::block_in(word);
        if (record == 0) return true;
        if ((word & made::filled) == 0) {  // not linked: no other thread has read it
            ground_.unlink_and_free(
                record, [&] { shown_.record_made.store(0, std::memory_order_release); });
            return true;
        }
        const Linked linked = is_linked(record, made::fragment_in(word));
        if (linked == Linked::no_memory) return false;
        if (linked == Linked::no) reclaimer_.finish_retiring(dead_, record);
        shown_.record_made.store(0, std::memory_order_release);
        return true;
    }

    bool end_unlinking() {
        Destruction<Atomic>(ground_).finish(dead_);
        const std::uint64_t word = shown_.unlinking.load(std::memory_order_acquire);
        const BlockNumber block = unlinking::block_in(word);
        if (block == 0) return true;
        const std::uint64_t first = ground_.record(block).claim.load(std::memory_order_acquire);
        const std::uint64_t fragment = unlinking::fragment_in(word);
        const Linked linked =
            (first & claim::is_array) != 0 ? is_array_used(block) : is_linked(block, fragment);
        if (linked == Linked::no_memory) return false;
        if (linked == Linked::no) reclaimer_.finish_retiring(dead_, block);
        const bool is_to_end =
            linked == Linked::yes && (word & unlinking::is_ended) != 0 && !is_destroyed();
        if (is_to_end) {
            const Effect ended = Counting<Atomic>(ground_).unlink_ended(
                head(), claim::hash_in(first, fragment), block);
            ground_.forget(Participant<Atomic>::record);
            growth_.forget_arrays();
            if (ended == Effect::no_room) return false;
        }
        shown_.unlinking.store(0, std::memory_order_release);
        return true;
    }

    // Marks the table's count unknown if the dead participant was changing the table: a writer
    // names its array until it has counted its change (EntryCount). Runs first; the dead
    // participant's hazard words stay until the end, so that a repeated recovery does it again.
    void make_count_unknown() noexcept {
        if (shown_.hazard[Participant<Atomic>::from_array].load(std::memory_order_acquire) == 0 ||
            is_destroyed()) {
            return;
        }
        auto& correction = head().correction;
        std::uint64_t word = correction.load(std::memory_order_relaxed);
        // release: partner is EntryCount::entries
        while (!correction.compare_exchange_weak(word, correction::made_unknown(word),
                                                 std::memory_order_release,
                                                 std::memory_order_relaxed)) {
        }
    }

    void free_unlinked_block() {
        const std::uint64_t word = shown_.block_made.load(std::memory_order_acquire);
        const BlockNumber block = made::block_in(word);
        if (block == 0) return;
        bool is_linked = false;
        if ((word & made::filled) != 0) {
            const auto& place = ground_.word_at(shown_.block_place.load(std::memory_order_relaxed));
            is_linked =
                is_destroyed() || link::next_in(place.load(std::memory_order_acquire)) == block;
        }
        const auto forget = [&] { shown_.block_made.store(0, std::memory_order_release); };
        if (is_linked) return forget();
        if ((word & made::is_array) == 0) return ground_.unlink_and_free(block, forget);
        // It may have been linked, and replaced: then the replacing thread retires it too.
        reclaimer_.finish_retiring(dead_, block);
        forget();
    }

    [[nodiscard]] Head<Atomic>& head() const noexcept {
        return ground_.head(shown_.table.load(std::memory_order_relaxed));
    }

    // Whether the table, or the directory, was destroyed before the death was noticed. Its blocks are
    // freed then, and another table may be in its place.
    [[nodiscard]] bool is_destroyed() const noexcept {
        const BlockNumber table = shown_.table.load(std::memory_order_relaxed);
        const std::uint64_t id = shown_.table_id.load(std::memory_order_relaxed);
        const std::uint64_t mark = head().mark.load(std::memory_order_acquire);
        using Start = DirectoryStart<Atomic>;
        if (id == Start::mark_of_directories)
            return mark != Start::mark_of_directories && mark != Start::mark_in_first_use;
        return !Head<Atomic>::is_mark_of(mark, table, id);
    }

    [[nodiscard]] Linked is_array_used(BlockNumber array) const noexcept {
        if (is_destroyed()) return Linked::yes;
        const Root root = Root::unpacked(head().root.load(std::memory_order_acquire));
        const auto is = [&](std::uint32_t level) { return head().array(level) == array; };
        return is(root.from) || is(root.to) || is(root.from + 1) ? Linked::yes : Linked::no;
    }

    // Whether a record is an entry. Cancels a tentative insertion of it. Also yes if the program
    // has overwritten the words that would say so.
    //   fragment  of the hash of its key
    [[nodiscard]] Linked is_linked(BlockNumber record, std::uint64_t fragment) {
        const std::uint64_t first = ground_.record(record).claim.load(std::memory_order_acquire);
        if (claim::claimer_in(first) != 0) return Linked::no;
        if (is_destroyed()) return Linked::yes;
        Linked linked = Linked::no;
        for (bool is_late = true; is_late;) {
            const Spot<Atomic> spot =
                growth_.spot_for_change(head(), claim::hash_in(first, fragment));
            if (spot.first == nullptr && !spot.is_damaged()) return Linked::no_memory;
            is_late = false;
            if (spot.is_damaged()) linked = Linked::yes;
            CircleFinder circle;
            for (Bucket<Atomic>* bucket = spot.first; bucket != nullptr && !is_late;) {
                for (auto& slot : bucket->slots) look_at(slot, record, linked, is_late);
                const BlockNumber next =
                    link::next_in(bucket->link.load(std::memory_order_acquire));
                bucket = next != 0 ? ground_.bucket_after(next, circle) : nullptr;
                if (next != 0 && bucket == nullptr) linked = Linked::yes;
            }
            // Nothing is frozen there while the root is the same.
            if (!is_late || !Growth<Atomic>::has_root(head(), spot)) continue;
            linked = Linked::yes;
            is_late = false;
        }
        growth_.forget_arrays();
        return linked;
    }

    // Whether a slot names the record: as an entry (linked), or in a bucket that is being moved
    // (is_late).
    void look_at(Atomic<std::uint64_t>& slot,
                 BlockNumber record,
                 Linked& linked,
                 bool& is_late) const noexcept {
        std::uint64_t word = slot.load(std::memory_order_seq_cst);
        if ((word & slot::occupied) == 0 || slot::record_in(word) != record) return;
        if ((word & slot::frozen) != 0) {
            is_late = true;
        } else if ((word & slot::tentative) == 0) {
            linked = Linked::yes;
        } else {
            (void)slot.compare_exchange_strong(word, slot::emptied, std::memory_order_seq_cst,
                                               std::memory_order_relaxed);
        }
    }

    const Ground<Atomic>& ground_;
    Reclaimer<Atomic> reclaimer_;
    Growth<Atomic> growth_;
    std::uint32_t dead_;
    Participant<Atomic>& shown_;
};

template <template <class> class Atomic>
template <typename IsDead>
bool HashTable<Atomic>::recover(std::uint32_t dead, const IsDead& is_dead) {
    auto& recoverer = ground_.participants()[dead].recoverer;
    if (!claim_recovery(recoverer, ground_.own(), is_dead)) return false;
    const bool is_done = Recovery<Atomic>(ground_, dead).run();
    recoverer.store(0, std::memory_order_release);
    return is_done;
}

}  // namespace acp::table
