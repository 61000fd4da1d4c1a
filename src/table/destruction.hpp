// SPDX-License-Identifier: BSD-3-Clause
// Destroys a table (entries, chained buckets, arrays, then the head) or a directory of tables. No
// other thread may use it from then on. If the participant is killed here, another one resumes from
// its words: the head's mark names the destroyer, and each block is freed when the word that linked
// it has been changed (table/freeing.hpp). Blocks that the table no longer leads to, because its
// words were overwritten, stay allocated.
// Included by table/table.hpp.
// Tests: tests/unit/table/kill_destroy_test.cpp.
#pragma once

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
        free_whole(what, shown);
        return true;
    }

    // Resumes the destruction that a dead participant had begun.
    void finish(std::uint32_t dead) {
        auto& shown = ground_.participants()[dead];
        const std::uint64_t what = shown.unlinking.load(std::memory_order_acquire);
        const BlockNumber block = unlinking::block_in(what);
        const bool is_begun = ground_.head(block).mark.load(std::memory_order_acquire) ==
                              Head<Atomic>::mark_of_destroyed(block, dead);
        if (is_begun) {
            free_whole(what, shown);
        } else {
            shown.unlinking.store(0, std::memory_order_release);
        }
        shown.chain.store(0, std::memory_order_relaxed);
    }

private:
    //   destroyer  the participant whose `unlinking` names the block
    void free_whole(std::uint64_t what, Participant<Atomic>& destroyer) {
        const BlockNumber block = unlinking::block_in(what);
        if ((what & unlinking::is_directory) != 0) {
            auto& directory = ground_.directory(block);
            end_lock(directory.lock);
            for (auto* more : {&directory.lock, &directory.more_too, &directory.more}) {
                const std::uint64_t word = more->load(std::memory_order_acquire);
                // If a participant was killed after it signed this block, no linked block is left;
                // a link has no bits set below.
                if ((word & link::bits) == 0 && word != 0)
                    free_linked(*more, link::next_in(word), 0);
            }
        } else {
            free_arrays(ground_.head(block));
        }
        ground_.shown().chain.store(0, std::memory_order_relaxed);
        const auto forget = [&] { destroyer.unlinking.store(0, std::memory_order_release); };
        if (!ground_.has_allocated(block, signed_bytes)) return forget();
        // Signs the first word, which is not needed after this; the second one is the mark, which
        // names the destroyer.
        unlink_and_free(ground_.blocks(), ground_.shown().freeing, ground_.own(), block,
                        Spare::first_word, forget);
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

    void free_arrays(Head<Atomic>& head) {
        const Root root = Root::unpacked(head.root.load(std::memory_order_acquire));
        // The array that growth moves from is freed after the other: its buckets say which have
        // been migrated.
        for (std::uint32_t level = Head<Atomic>::levels_max; level-- > 0;) {
            auto& word = head.arrays[level];
            const BlockNumber array = link::next_in(word.load(std::memory_order_acquire));
            if (array == 0) continue;
            // freed when the next array was full
            const bool is_freed = level != 0 && level < root.from;
            if (!is_freed) free_chains(head, root, level);
            if (level != 0 && !is_freed) {
                free_linked(word, array, 0);
            } else {
                word.store(0, std::memory_order_release);
            }
        }
    }

    // Frees the chained buckets of an array, and its entries. A bucket that is being migrated still
    // owns its entries, even if copies of the slots are in the next array.
    void free_chains(Head<Atomic>& head, const Root& root, std::uint32_t level) {
        auto* const array = Growth<Atomic>(ground_).array_of(head, level);
        if (array == nullptr) return;
        const std::uint64_t buckets = head.buckets(level);
        for (std::uint64_t i = 0; i < buckets; ++i) {
            // An array before root.from has no entries; array root.from, which is_moved() reads, is
            // freed after the next one.
            const bool has_entries =
                level >= root.from && level == (is_moved(head, root, i) ? root.to : root.from);
            free_chain(array->bucket(i), has_entries);
        }
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
    // stay, because is_moved() reads them.
    void free_chain(Bucket<Atomic>& first, bool has_entries) {
        if (has_entries) free_entries(first);
        for (;;) {
            const std::uint64_t word = first.link.load(std::memory_order_relaxed);
            const BlockNumber next = link::next_in(word);
            if (next == 0 || !ground_.has_allocated(next, sizeof(Bucket<Atomic>))) return;
            auto& bucket = ground_.bucket(next);
            if (has_entries) free_entries(bucket);
            const BlockNumber after = link::next_in(bucket.link.load(std::memory_order_relaxed));
            free_linked(first.link, next, (word & link::bits) | link::to(after));
        }
    }

    void free_entries(Bucket<Atomic>& bucket) {
        for (auto& slot : bucket.slots) {
            const std::uint64_t word = slot.load(std::memory_order_relaxed);
            if (!slot::is_entry(word) || !is_owned(slot::record_in(word))) continue;
            ground_.shown().chain.store(chain::of_slot(ground_.place_of(slot)),
                                        std::memory_order_relaxed);
            ground_.unlink_and_free(slot::record_in(word),
                                    [&] { slot.store(slot::emptied, std::memory_order_release); });
        }
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
