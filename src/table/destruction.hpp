// SPDX-License-Identifier: BSD-3-Clause
// Destroys a table (entries, chained buckets, arrays, then the head), as a whole or in pieces, or a
// directory of tables. No other thread may use it from then on. If the participant is killed here,
// another one resumes from its words: the head's mark names the destroyer, which has the table in a
// list of those that it destroys, and each block is freed when the word that linked it has been
// changed (table/freeing.hpp). Blocks that the table no longer leads to, because its words were
// overwritten, stay allocated.
// Included by table/table.hpp.
// Tests: tests/unit/table/kill_destroy_test.cpp.
#pragma once

#include <cstdint>

#include "table/table.hpp"

namespace acp::table {

template <template <class> class Atomic>
class Destruction {
public:
    //   ground  outlives this
    explicit Destruction(const Ground<Atomic>& ground) noexcept : ground_(ground) {}

    // Destroys the table or directory that has this mark. false: it is not there, or another
    // participant destroys it.
    //   what     unlinking::of_table() or of_directory()
    //   begun()  is called once no other participant can destroy it
    template <typename Begun>
    bool run(std::uint64_t what, std::uint64_t mark, const Begun& begun) {
        const BlockNumber before = ground_.shown().destroying.load(std::memory_order_relaxed);
        if (!begin(what, mark, begun)) return false;
        while (ground_.shown().destroying.load(std::memory_order_relaxed) != before &&
               free_piece(ground_.own(), no_limit)) {
        }
        return true;
    }

    // Begins run(); free_piece() frees a table's blocks. A directory, which has few, is freed here.
    template <typename Begun>
    bool begin(std::uint64_t what, std::uint64_t mark, const Begun& begun) {
        const BlockNumber block = unlinking::block_in(what);
        auto& shown = ground_.shown();
        shown.unlinking.store(what, std::memory_order_release);
        // acq_rel: sees what other threads wrote in it; partner: the participant that recovers this
        // one
        if (!ground_.head(block).mark.compare_exchange_strong(
                mark, Head<Atomic>::mark_of_destroyed(block, ground_.own()),
                std::memory_order_acq_rel, std::memory_order_relaxed)) {
            shown.unlinking.store(0, std::memory_order_release);
            return false;
        }
        begun();
        note_begun(what, shown);
        return true;
    }

    // Frees a part of the table that a participant has begun to destroy last: of the calling thread,
    // or dead. Returns whether that participant has more to free.
    //   steps  the most buckets and entries that are freed
    bool free_piece(std::uint32_t destroyer, std::uint64_t steps) {
        auto& shown = ground_.participants()[destroyer];
        const BlockNumber block = shown.destroying.load(std::memory_order_acquire);
        if (block == 0) return false;
        const auto forget = [&] {
            shown.destroying.store(next_of(block, destroyer), std::memory_order_release);
        };
        if (!is_destroyed_by(block, destroyer)) {  // the program has overwritten the list
            shown.destroying.store(0, std::memory_order_release);
        } else if (free_arrays(ground_.head(block), steps)) {
            free_head(block, forget);
        }
        ground_.shown().chain.store(0, std::memory_order_relaxed);
        return shown.destroying.load(std::memory_order_relaxed) != 0;
    }

    // Completes all destructions that a dead participant had begun.
    void finish(std::uint32_t dead) {
        auto& shown = ground_.participants()[dead];
        const std::uint64_t what = shown.unlinking.load(std::memory_order_acquire);
        if ((what & unlinking::is_whole) != 0) {
            const BlockNumber block = unlinking::block_in(what);
            const bool is_begun = is_destroyed_by(block, dead) &&
                                  shown.destroying.load(std::memory_order_acquire) != block;
            if (is_begun) {
                note_begun(what, shown);
            } else {
                shown.unlinking.store(0, std::memory_order_release);
            }
        }
        while (free_piece(dead, no_limit)) {
        }
        shown.chain.store(0, std::memory_order_relaxed);
    }

    // Whether a table or directory is being destroyed by a participant. Also false for numbers of
    // no such block, which the program may have written.
    [[nodiscard]] bool is_destroyed_by(BlockNumber block, std::uint32_t destroyer) const {
        return ground_.has_allocated(block, signed_bytes) &&
               ground_.head(block).mark.load(std::memory_order_acquire) ==
                   Head<Atomic>::mark_of_destroyed(block, destroyer);
    }

private:
    static constexpr std::uint64_t no_limit = ~std::uint64_t{0};

    //   destroyer  the participant whose `unlinking` is `what`
    void note_begun(std::uint64_t what, Participant<Atomic>& destroyer) {
        const BlockNumber block = unlinking::block_in(what);
        const auto forget = [&] { destroyer.unlinking.store(0, std::memory_order_release); };
        if ((what & unlinking::is_directory) != 0) {
            free_links(ground_.directory(block));
            return free_head(block, forget);
        }
        ground_.head(block).next_destroyed.store(
            destroyer.destroying.load(std::memory_order_relaxed), std::memory_order_relaxed);
        // release: the word above; partner: finish() of another participant
        destroyer.destroying.store(block, std::memory_order_release);
        forget();
    }

    [[nodiscard]] BlockNumber next_of(BlockNumber block, std::uint32_t destroyer) const {
        const BlockNumber next = ground_.head(block).next_destroyed.load(std::memory_order_relaxed);
        return next != block && is_destroyed_by(next, destroyer) ? next : 0;
    }

    // Signs the first word, which is not needed after this; the second one is the mark, which names
    // the destroyer. If the program has made a word of the table lead to this block, it is free.
    template <typename Forget>
    void free_head(BlockNumber block, const Forget& forget) {
        if (!ground_.has_allocated(block, signed_bytes)) return forget();
        unlink_and_free(ground_.blocks(), ground_.shown().freeing, ground_.own(), block,
                        Spare::first_word, forget);
    }

    void free_links(DirectoryStart<Atomic>& directory) {
        end_lock(directory.lock);
        for (auto* more : {&directory.lock, &directory.more_too, &directory.more}) {
            const std::uint64_t word = more->load(std::memory_order_acquire);
            // If a participant was killed after it signed this block, no linked block is left; a
            // link has no bits set below.
            if ((word & link::bits) == 0 && word != 0) free_linked(*more, link::next_in(word), 0);
        }
        ground_.shown().chain.store(0, std::memory_order_relaxed);
    }

    // Ends the lock that a directory links, by its first word, the mark: a thread that waits for it
    // finds no lock there, also before the block is used again.
    void end_lock(const Atomic<std::uint64_t>& linked) {
        const std::uint64_t word = linked.load(std::memory_order_acquire);
        const BlockNumber lock = link::next_in(word);
        if ((word & link::bits) != 0 || lock == 0) return;
        if (ground_.has_allocated(lock, signed_bytes))
            ground_.word_at(offset_of(lock)).store(0, std::memory_order_relaxed);
    }

    // Frees the arrays; the first one stays, because it is in the head's block. Returns true when no
    // other is left.
    //   steps  as for free_piece(); reduced by the steps that were made
    bool free_arrays(Head<Atomic>& head, std::uint64_t& steps) {
        const Root root = Root::unpacked(head.root.load(std::memory_order_acquire));
        // The array that growth moves from is freed after the other: its buckets say which have
        // been migrated.
        for (std::uint32_t level = Head<Atomic>::levels_max; level-- > 0;) {
            auto& word = head.arrays[level];
            const BlockNumber array = link::next_in(word.load(std::memory_order_acquire));
            if (array == 0) continue;
            // freed when the next array was full
            const bool is_freed = level != 0 && level < root.from;
            if (!is_freed && !free_chains(head, root, level, steps)) return false;
            if (level != 0 && !is_freed) {
                free_linked(word, array, 0);
            } else {
                word.store(0, std::memory_order_release);
            }
        }
        return true;
    }

    // Frees the chained buckets of an array, and its entries. A bucket that is being migrated still
    // owns its entries, even if copies of the slots are in the next array. false: there are more.
    bool free_chains(Head<Atomic>& head,
                     const Root& root,
                     std::uint32_t level,
                     std::uint64_t& steps) {
        auto* const array = Growth<Atomic>(ground_).array_of(head, level);
        if (array == nullptr) return true;
        const std::uint64_t buckets = head.buckets(level);
        for (std::uint64_t i = array->freed.load(std::memory_order_relaxed); i < buckets; ++i) {
            // An array before root.from has no entries; array root.from, which is_moved() reads, is
            // freed after the next one.
            const bool has_entries =
                level >= root.from && level == (is_moved(head, root, i) ? root.to : root.from);
            const bool is_freed = free_chain(array->bucket(i), has_entries, steps);
            array->freed.store(is_freed ? i + 1 : i, std::memory_order_relaxed);
            if (!is_freed) return false;
        }
        return true;
    }

    [[nodiscard]] bool is_moved(const Head<Atomic>& head,
                                const Root& root,
                                std::uint64_t index) const noexcept {
        if (!root.is_growing()) return false;
        auto* const from = Growth<Atomic>(ground_).array_of(head, root.from);
        return from != nullptr &&
               Growth<Atomic>::is_moved(from->bucket(index % head.buckets(root.from)));
    }

    // Unlinks and frees the chained buckets, first to last. The bits of the first bucket's link
    // stay, because is_moved() reads them. false: there are more.
    bool free_chain(Bucket<Atomic>& first, bool has_entries, std::uint64_t& steps) {
        if (!free_entries(first, has_entries, steps)) return false;
        for (;;) {
            const std::uint64_t word = first.link.load(std::memory_order_relaxed);
            const BlockNumber next = link::next_in(word);
            if (next == 0 || !ground_.has_allocated(next, sizeof(Bucket<Atomic>))) return true;
            auto& bucket = ground_.bucket(next);
            if (!free_entries(bucket, has_entries, steps)) return false;
            const BlockNumber after = link::next_in(bucket.link.load(std::memory_order_relaxed));
            free_linked(first.link, next, (word & link::bits) | link::to(after));
        }
    }

    // One step for the bucket, and one for each entry. false: there are not enough steps left.
    bool free_entries(Bucket<Atomic>& bucket, bool has_entries, std::uint64_t& steps) {
        if (steps <= Bucket<Atomic>::slots_max) return false;
        --steps;
        if (!has_entries) return true;
        for (auto& slot : bucket.slots) {
            const std::uint64_t word = slot.load(std::memory_order_relaxed);
            if (!slot::is_entry(word) || !is_owned(slot::record_in(word))) continue;
            --steps;
            ground_.shown().chain.store(chain::of_slot(ground_.place_of(slot)),
                                        std::memory_order_relaxed);
            ground_.unlink_and_free(slot::record_in(word),
                                    [&] { slot.store(slot::emptied, std::memory_order_release); });
        }
        return true;
    }

    // Frees the block that `word` links, unless it was freed or is none; `word` then holds
    // `instead`.
    void free_linked(Atomic<std::uint64_t>& word, BlockNumber block, std::uint64_t instead) {
        if (!ground_.has_allocated(block, signed_bytes))
            return word.store(instead, std::memory_order_release);
        ground_.shown().chain.store(chain::of_link(ground_.place_of(word)),
                                    std::memory_order_relaxed);
        ground_.unlink_and_free(block, [&] { word.store(instead, std::memory_order_release); });
    }

    // Whether a record can be that of an entry. Another slot may name it too, if the program has
    // overwritten one of them; then it may be retired.
    [[nodiscard]] bool is_owned(BlockNumber record) const {
        return ground_.has_allocated(record, EntryRecord<Atomic>::head_bytes) &&
               claim::claimer_in(ground_.record(record).claim.load(std::memory_order_relaxed)) == 0;
    }

    const Ground<Atomic>& ground_;
};

template <template <class> class Atomic>
bool HashTable<Atomic>::destroy(BlockNumber table, std::uint64_t id) {
    return is_table(table, id) &&
           Destruction<Atomic>(ground_).run(unlinking::of_table(table),
                                            Head<Atomic>::mark_of(table, id), [] {});
}

template <template <class> class Atomic>
bool HashTable<Atomic>::begin_to_destroy(BlockNumber table, std::uint64_t id) {
    return is_table(table, id) &&
           Destruction<Atomic>(ground_).begin(unlinking::of_table(table),
                                              Head<Atomic>::mark_of(table, id), [] {});
}

template <template <class> class Atomic>
bool HashTable<Atomic>::destroy_more(std::uint64_t steps) {
    return Destruction<Atomic>(ground_).free_piece(ground_.own(), steps);
}

template <template <class> class Atomic>
bool HashTable<Atomic>::is_being_destroyed(BlockNumber table) const {
    return Destruction<Atomic>(ground_).is_destroyed_by(table, ground_.own());
}

template <template <class> class Atomic>
bool HashTable<Atomic>::destroy_directory(BlockNumber block) {
    const auto run = [&](std::uint64_t mark) {
        return Destruction<Atomic>(ground_).run(unlinking::of_directory(block), mark, [] {});
    };
    // Tries both marks, because another thread may end the first use between the two tries.
    return is_directory(block) && (run(DirectoryStart<Atomic>::mark_in_first_use) ||
                                   run(DirectoryStart<Atomic>::mark_of_directories));
}

template <template <class> class Atomic>
template <typename Begun>
bool HashTable<Atomic>::destroy_unused(BlockNumber block, std::uint32_t maker, const Begun& begun) {
    if (offset_of(block) % line_bytes != 0) return false;
    auto& head = ground_.head(block);
    // the mark after a first use
    const std::uint64_t mark = head.mark.load(std::memory_order_acquire) ^ unused::of(maker);
    Destruction<Atomic> destruction(ground_);
    if (mark == DirectoryStart<Atomic>::mark_in_first_use)
        return destruction.run(unlinking::of_directory(block), mark ^ unused::of(maker), begun);
    return mark == Head<Atomic>::mark_of(block, head.id) &&
           destruction.run(unlinking::of_table(block), mark ^ unused::of(maker), begun);
}

}  // namespace acp::table
