// SPDX-License-Identifier: BSD-3-Clause
// Doubles the buckets of a table while it is in use, into an array that table/next_array.hpp has
// made. A bucket is migrated by the first writer that
// needs it; each insertion helps with a few more; lookups never migrate. A migration freezes the
// bucket's slots and links, so their content is fixed. All helpers then write the same words, each
// once, into buckets that no operation uses yet: a stopped helper delays no other thread, and its
// late writes fail. Progress is read from the buckets themselves, so a killed helper leaves no
// bucket unmigrated for good.
// Tests: tests/unit/table/concurrency_test.cpp, kill_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "table/effect.hpp"
#include "table/ground.hpp"
#include "table/halves.hpp"
#include "table/reclaimer.hpp"

namespace acp::table {

// The bucket chain of a hash, and the root for which it holds.
template <template <class> class Atomic>
struct Spot {
    std::uint64_t root = 0;
    // of the chain; nullptr: there was no memory to migrate the bucket, or is_damaged()
    Bucket<Atomic>* first = nullptr;

    // The spot where the table's words lead to no bucket: the program has overwritten them.
    [[nodiscard]] static constexpr Spot damaged() noexcept { return {Root::none, nullptr}; }

    [[nodiscard]] bool is_damaged() const noexcept { return root == Root::none; }

    // Why there is no bucket for a change.
    [[nodiscard]] Effect failure() const noexcept {
        return is_damaged() ? Effect::damaged : Effect::no_room;
    }
};

template <template <class> class Atomic>
class Growth {
public:
    using Shown = Participant<Atomic>;

    //   ground  outlives this
    explicit Growth(const Ground<Atomic>& ground) noexcept : ground_(ground), reclaimer_(ground) {}

    // The bucket for a lookup. It may be migrated and freed at any time: see is_current(). Where
    // the table's words lead to no bucket, that of nowhere().
    [[nodiscard, gnu::always_inline]] static Spot<Atomic> spot_for_find(
        const ReadGround<Atomic>& ground, const Head<Atomic>& head, std::uint64_t hash) noexcept {
        const std::uint64_t word = head.root.load(std::memory_order_acquire);
        const Root root = Root::unpacked(word);
        auto* first = bucket_in(ground, head, hash, root.from);
        if (root.is_growing() && first != nullptr && is_moved(*first)) [[unlikely]]
            first = bucket_in_next(ground, head, hash, root.to);
        return {word, first != nullptr ? first : &nowhere()};
    }

    // A bucket without entries, of no table, which is never current: a find there is late.
    [[nodiscard]] static constexpr Bucket<Atomic>& nowhere() noexcept { return no_bucket; }

    // Whether a find that was late at a spot would be late there again though no operation has
    // changed the table: then the program has overwritten its words.
    [[nodiscard]] static bool is_stuck(const ReadGround<Atomic>& ground,
                                       const Head<Atomic>& head,
                                       const Spot<Atomic>& spot,
                                       std::uint64_t hash) noexcept {
        if (!is_moved(*spot.first)) return false;  // it was late because a slot had changed
        const Spot<Atomic> now = spot_for_find(ground, head, hash);
        return now.root == spot.root && now.first == spot.first;
    }

    // Whether the root is still that of a spot for a change. If so nothing can be frozen or
    // migrated there.
    [[nodiscard]] static bool has_root(const Head<Atomic>& head,
                                       const Spot<Atomic>& spot) noexcept {
        return head.root.load(std::memory_order_seq_cst) == spot.root;
    }

    // The bucket of a hash in the array of a level; nullptr: the words lead out of the heap.
    [[nodiscard, gnu::always_inline]] static Bucket<Atomic>* bucket_in(
        const ReadGround<Atomic>& ground,
        const Head<Atomic>& head,
        std::uint64_t hash,
        std::uint32_t level) noexcept {
        if (level >= Head<Atomic>::levels_max) [[unlikely]]
            return nullptr;
        return ground.bucket_at(offset_of(head.array(level)) +
                                line_bytes * (1 + head.index_of(hash, level)));
    }

    // Does what bucket_in() does, out of line, since lookups rarely need it. Takes a copy of the
    // ground, so that the caller's stays in registers.
    [[nodiscard, gnu::noinline]] static Bucket<Atomic>* bucket_in_next(
        ReadGround<Atomic> ground,
        const Head<Atomic>& head,
        std::uint64_t hash,
        std::uint32_t level) noexcept {
        return bucket_in(ground, head, hash, level);
    }

    // Whether the buckets read until now were the hash's chain throughout.
    [[nodiscard, gnu::always_inline]] static bool is_current(const Head<Atomic>& head,
                                                             const Spot<Atomic>& spot) noexcept {
        return (spot.first->link.load(std::memory_order_seq_cst) & link::moved) == 0 &&
               head.root.load(std::memory_order_seq_cst) == spot.root;
    }

    // The bucket for a change; migrates it first if need be. Names the arrays in hazard words:
    // their buckets stay allocated until forget_arrays().
    [[nodiscard, gnu::always_inline]] Spot<Atomic> spot_for_change(Head<Atomic>& head,
                                                                   std::uint64_t hash) {
        for (;;) {
            const std::uint64_t word = head.root.load(std::memory_order_acquire);
            const Root root = Root::unpacked(word);
            name_arrays(head, root);
            if (head.root.load(std::memory_order_seq_cst) != word) continue;
            if (root.is_growing()) [[unlikely]]
                return spot_in_growth(head, word, hash);
            auto* const first = bucket_in(ground_, head, hash, root.from);
            return first != nullptr ? Spot<Atomic>{word, first} : Spot<Atomic>::damaged();
        }
    }

    void forget_arrays() const noexcept {
        ground_.forget(Shown::from_array);
        ground_.forget(Shown::to_array);
    }

    // Called after an insertion: migrates a few buckets of a growing table.
    void help(Head<Atomic>& head) {
        const std::uint64_t word = head.root.load(std::memory_order_acquire);
        const Root root = Root::unpacked(word);
        if (!root.is_growing()) [[likely]]
            return;
        name_arrays(head, root);
        auto* const from = array_of(head, root.from);
        if (from != nullptr && head.root.load(std::memory_order_seq_cst) == word) {
            const std::uint64_t begin =
                from->given_out.fetch_add(moves_per_insertion, std::memory_order_relaxed);
            const std::uint64_t buckets = head.buckets(root.from);
            for (std::uint64_t i = begin; i < begin + moves_per_insertion && i < buckets; ++i) {
                if (!is_moved(from->bucket(i)) && move(head, root, i) != Moved::done) break;
            }
            if (begin >= buckets) look_for_the_end(head, *from, word);
        }
        forget_arrays();
    }

    // The array of a level, which another thread may free unless it is named in a hazard word.
    // nullptr: the words that lead to it cannot be those of a table.
    [[nodiscard]] static BucketArray<Atomic>* array_in(const ReadGround<Atomic>& ground,
                                                       const Head<Atomic>& head,
                                                       std::uint32_t level) noexcept {
        if (!head.may_have(level)) return nullptr;
        const BlockNumber array = head.array(level);
        return ground.has_block(array, BucketArray<Atomic>::bytes(head.buckets(level)))
                   ? &ground.array(array)
                   : nullptr;
    }

    // The array of a level that is named, or that no other thread uses; nullptr: likewise.
    [[nodiscard]] BucketArray<Atomic>* array_of(const Head<Atomic>& head,
                                                std::uint32_t level) const noexcept {
        auto* const array = array_in(ground_, head, level);
        return array != nullptr && array->buckets == head.buckets(level) ? array : nullptr;
    }

    [[nodiscard]] static bool is_moved(const Bucket<Atomic>& first) noexcept {
        return (first.link.load(std::memory_order_acquire) & link::moved) != 0;
    }

    // Allocates a bucket, whose slots the caller fills before link_bucket(). nullptr: there is no
    // room.
    [[nodiscard]] Bucket<Atomic>* make_bucket() {
        const BlockNumber block = ground_.blocks().allocate(
            ground_.shown().block_made, sizeof(Bucket<Atomic>), heap::granule_bytes);
        return block != 0 ? &ground_.bucket(block) : nullptr;
    }

    // Links the bucket made last behind another one, if that one's link is still `expected`; else
    // frees it.
    bool link_bucket(Bucket<Atomic>& behind, std::uint64_t expected) {
        const BlockNumber block =
            made::block_in(ground_.shown().block_made.load(std::memory_order_relaxed));
        return ground_.link_block(behind.link, expected, expected | link::made | link::to(block));
    }

private:
    static constexpr std::uint64_t moves_per_insertion = 2;

    alignas(line_bytes) inline static Bucket<Atomic> no_bucket{{link::moved}, {}};

    // The result of a migration of a bucket.
    enum class Moved : std::uint8_t { done, no_room, damaged };

    // The bucket for a change in a growing table, whose arrays are named.
    [[nodiscard, gnu::noinline]] Spot<Atomic> spot_in_growth(Head<Atomic>& head,
                                                             std::uint64_t word,
                                                             std::uint64_t hash) {
        const Root root = Root::unpacked(word);
        const auto* const first = bucket_in(ground_, head, hash, root.from);
        auto* const next = bucket_in(ground_, head, hash, root.to);
        if (first == nullptr || next == nullptr) return Spot<Atomic>::damaged();
        const Moved moved =
            is_moved(*first) ? Moved::done : move(head, root, head.index_of(hash, root.from));
        if (moved == Moved::damaged) return Spot<Atomic>::damaged();
        return {word, moved == Moved::done ? next : nullptr};
    }

    void name_arrays(const Head<Atomic>& head, const Root& root) const noexcept {
        ground_.name(Shown::from_array, head.array(root.from));
        if (root.is_growing()) ground_.name(Shown::to_array, head.array(root.to));
    }

    // Migrates a bucket of the old array, without waiting for another thread that does so too.
    Moved move(Head<Atomic>& head, const Root& root, std::uint64_t index) {
        auto* const from = array_of(head, root.from);
        auto* const to = array_of(head, root.to);
        const std::uint64_t buckets = head.buckets(root.from);
        if (from == nullptr || to == nullptr || root.to != root.from + 1 || index >= buckets)
            return Moved::damaged;
        auto& first = from->bucket(index);
        __builtin_prefetch(&to->bucket(index), 1);
        __builtin_prefetch(&to->bucket(index + buckets), 1);
        if (!freeze(first)) return Moved::damaged;
        const Halves<Atomic> halves(head, root, index);
        std::array<Filler, 2> fillers{
            Filler{*this, to->bucket(index), halves.are_in_slots()},
            Filler{*this, to->bucket(index + buckets), halves.are_in_slots()}};
        for_each_in_chain(first, [&](std::uint64_t word) {
            if ((word & slot::occupied) != 0)
                fillers[halves.of(ground_, word)].add(word & ~slot::frozen);
        });
        for (Filler& filler : fillers) {
            const Moved filled = filler.finish();
            if (filled != Moved::done) return was_moved(first) ? Moved::done : filled;
        }
        std::uint64_t word = first.link.load(std::memory_order_acquire);
        while ((word & link::moved) == 0 &&
               // seq_cst: the entries are in the new array before any thread looks for them there
               !first.link.compare_exchange_weak(word, word | link::moved,
                                                 std::memory_order_seq_cst,
                                                 std::memory_order_acquire)) {
        }
        return Moved::done;
    }

    // Whether another helper has migrated the bucket, asked by one that has read words of the bucket
    // or of its records as they were after that. A plain load may still return the link as it was
    // before: the helper may have read a record's first word as the thread that retired the record
    // later left it, which orders nothing. So this is a read-modify-write: if it precedes the
    // migration's end in the order of changes of the link, then that end and all that follows it are
    // ordered after what this thread has read.
    [[nodiscard]] static bool was_moved(Bucket<Atomic>& first) noexcept {
        return (first.link.fetch_or(0, std::memory_order_acq_rel) & link::moved) != 0;
    }

    // After it nothing changes in the chain. An undecided insertion is dropped. false: the program
    // has overwritten a link.
    [[nodiscard]] bool freeze(Bucket<Atomic>& first) const noexcept {
        CircleFinder circle;
        for (Bucket<Atomic>* bucket = &first; bucket != nullptr;) {
            const std::uint64_t word =
                bucket->link.fetch_or(link::frozen, std::memory_order_seq_cst);
            for (auto& slot : bucket->slots) {
                std::uint64_t now = slot.load(std::memory_order_acquire);
                while ((now & slot::frozen) == 0 &&
                       !slot.compare_exchange_weak(now, frozen_form(now), std::memory_order_seq_cst,
                                                   std::memory_order_acquire)) {
                }
            }
            if (link::next_in(word) == 0) return true;
            bucket = ground_.bucket_after(link::next_in(word), circle);
        }
        return false;
    }

    [[nodiscard]] static constexpr std::uint64_t frozen_form(std::uint64_t word) noexcept {
        return slot::is_entry(word) ? word | slot::frozen : slot::emptied | slot::frozen;
    }

    //   first  of a frozen chain
    template <typename Visit>
    void for_each_in_chain(Bucket<Atomic>& first, const Visit& visit) const {
        for (Bucket<Atomic>* bucket = &first;;) {
            for (auto& slot : bucket->slots) visit(slot.load(std::memory_order_acquire));
            const BlockNumber next = link::next_in(bucket->link.load(std::memory_order_acquire));
            if (next == 0) return;
            bucket = &ground_.bucket(next);
        }
    }

    // Fills the new chain of one half. All helpers do so: words that are not zero stay as they are.
    class Filler {
    public:
        //   may_leave  the unused slots of the first bucket need not be filled: a late helper has
        //              the same entries, and so writes none of these slots
        Filler(Growth& growth, Bucket<Atomic>& first, bool may_leave) noexcept
            : growth_(growth), last_(&first), may_leave_(may_leave) {}

        void add(std::uint64_t word) {
            if (count_ == words_.size()) flush();
            words_[count_++] = word;
        }

        // damaged: or the bucket was migrated already, and its records may be reused
        [[nodiscard]] Moved finish() {
            if (count_ != 0 || is_first_) flush();
            if (filled_ != Moved::done) return filled_;
            std::uint64_t zero = 0;
            last_->link.compare_exchange_strong(zero, link::made, std::memory_order_seq_cst,
                                                std::memory_order_relaxed);
            return Moved::done;
        }

    private:
        void flush() {
            const std::uint32_t count = count_;
            for (std::uint32_t i = count_; i < words_.size(); ++i) words_[i] = slot::emptied;
            count_ = 0;
            if (filled_ != Moved::done) return;
            if (is_first_) {
                is_first_ = false;
                fill_first(may_leave_ ? count : Bucket<Atomic>::slots_max);
            } else {
                append();
            }
        }

        void fill_first(std::uint32_t count) {
            for (std::uint32_t i = 0; i < count; ++i) {
                std::uint64_t there = 0;
                const bool is_written = last_->slots[i].compare_exchange_strong(
                    there, words_[i], std::memory_order_seq_cst, std::memory_order_acquire);
                // Until the bucket is migrated only helpers write there, all the same.
                if (!is_written && there != words_[i]) filled_ = Moved::damaged;
            }
        }

        void append() {
            std::uint64_t word = last_->link.load(std::memory_order_acquire);
            if (word == 0) {
                Bucket<Atomic>* bucket = growth_.make_bucket();
                if (bucket == nullptr) {
                    filled_ = Moved::no_room;
                    return;
                }
                for (std::uint32_t i = 0; i < words_.size(); ++i) {
                    bucket->slots[i].store(words_[i], std::memory_order_relaxed);
                }
                bucket->link.store(0, std::memory_order_relaxed);
                (void)growth_.link_bucket(*last_, 0);
                word = last_->link.load(std::memory_order_acquire);
            }
            const BlockNumber next = link::next_in(word);
            if (growth_.ground_.has_block(next, sizeof(Bucket<Atomic>))) {
                last_ = &growth_.ground_.bucket(next);
            } else {
                filled_ = Moved::damaged;
            }
        }

        Growth& growth_;
        Bucket<Atomic>* last_;
        std::array<std::uint64_t, Bucket<Atomic>::slots_max> words_{};
        std::uint32_t count_ = 0;
        bool may_leave_;
        bool is_first_ = true;
        Moved filled_ = Moved::done;
    };

    // All buckets were given out. Migrates some whose helper is stopped or dead; when none is left
    // the growth ends.
    void look_for_the_end(Head<Atomic>& head, BucketArray<Atomic>& from, std::uint64_t word) {
        constexpr std::uint32_t looks = 256;
        constexpr std::uint32_t moves = 8;
        const Root root = Root::unpacked(word);
        const std::uint64_t buckets = head.buckets(root.from);
        std::uint64_t known = from.moved.load(std::memory_order_acquire);
        std::uint64_t index = known <= buckets ? known : 0;
        std::uint32_t moved = 0;
        for (std::uint32_t look = 0; look < looks && index < buckets; ++look, ++index) {
            if (is_moved(from.bucket(index))) continue;
            if (++moved > moves || move(head, root, index) != Moved::done) break;
        }
        from.moved.compare_exchange_strong(known, index, std::memory_order_acq_rel,
                                           std::memory_order_relaxed);
        if (index == buckets) end(head, word);
    }

    void end(Head<Atomic>& head, std::uint64_t word) {
        const Root root = Root::unpacked(word);
        const BlockNumber old = head.array(root.from);
        auto& unlinking = ground_.shown().unlinking;
        if (root.from != 0) unlinking.store(old, std::memory_order_release);
        const bool is_mine =
            head.root.compare_exchange_strong(word, Root{root.to, root.to, root.epoch + 1}.packed(),
                                              std::memory_order_seq_cst, std::memory_order_relaxed);
        if (root.from == 0) return;
        if (is_mine) reclaimer_.retire(old, Retired::array);
        unlinking.store(0, std::memory_order_release);
    }

    const Ground<Atomic>& ground_;
    Reclaimer<Atomic> reclaimer_;
};

}  // namespace acp::table
