// SPDX-License-Identifier: BSD-3-Clause
// Doubles the buckets of a table while it is in use. A bucket is migrated by the first writer that
// needs it; each insertion helps with a few more; lookups never migrate. A migration freezes the
// bucket's slots and links, so their content is fixed. All helpers then write the same words, each
// once, into buckets that no operation uses yet: a stopped helper delays no other thread, and its
// late writes fail. Progress is read from the buckets themselves, so a killed helper leaves no
// bucket unmigrated for good.
// Tests: tests/unit/table/concurrency_test.cpp, kill_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "table/ground.hpp"
#include "table/position.hpp"
#include "table/reclaimer.hpp"

namespace acp::table {

// The bucket chain of a hash, and the root for which it holds.
template <template <class> class Atomic>
struct Spot {
    std::uint64_t root = 0;
    // of the chain; nullptr: there was no memory to migrate the bucket
    Bucket<Atomic>* first = nullptr;
};

template <template <class> class Atomic>
class Growth {
public:
    using Shown = Participant<Atomic>;

    // Entries for each bucket at which a table grows.
    static constexpr std::uint64_t entries_per_bucket = 5;

    //   ground  outlives this
    explicit Growth(const Ground<Atomic>& ground) noexcept : ground_(ground), reclaimer_(ground) {}

    // The bucket for a lookup. It may be migrated and freed at any time: see is_current().
    [[nodiscard, gnu::always_inline]] static Spot<Atomic> spot_for_find(
        const ReadGround<Atomic>& ground, const Head<Atomic>& head, std::uint64_t hash) noexcept {
        const std::uint64_t word = head.root.load(std::memory_order_acquire);
        const Root root = Root::unpacked(word);
        auto* first = bucket_in(ground, head, hash, root.from);
        if (root.is_growing() && is_moved(*first)) [[unlikely]]
            first = bucket_in_next(ground, head, hash, root.to);
        return {word, first};
    }

    // The bucket of a hash in the array of a level.
    [[nodiscard, gnu::always_inline]] static Bucket<Atomic>* bucket_in(
        const ReadGround<Atomic>& ground,
        const Head<Atomic>& head,
        std::uint64_t hash,
        std::uint32_t level) noexcept {
        return &ground.array(number_of_array(head, level)).bucket(head.index_of(hash, level));
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
            return {word, bucket_in(ground_, head, hash, root.from)};
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
        if (head.root.load(std::memory_order_seq_cst) == word) {
            auto& from = array_of(head, root.from);
            const std::uint64_t begin =
                from.given_out.fetch_add(moves_per_insertion, std::memory_order_relaxed);
            bool has_moved = begin < from.buckets;
            for (std::uint64_t i = begin; i < begin + moves_per_insertion && i < from.buckets;
                 ++i) {
                if (!is_moved(from.bucket(i)) && !move(head, root, i)) break;
            }
            if (!has_moved) look_for_the_end(head, word);
        }
        forget_arrays();
    }

    // Begins to grow if the table has enough entries.
    void begin_if_due(Head<Atomic>& head) {
        const std::uint64_t word = head.root.load(std::memory_order_acquire);
        const Root root = Root::unpacked(word);
        if (head.may_grow == 0 || root.is_growing() || root.from + 1 >= Head<Atomic>::levels_max ||
            head.buckets(root.from) >= Head<Atomic>::buckets_max)
            return;
        const std::uint64_t entries = entries_in(head);
        const std::uint64_t limit = entries_per_bucket * head.buckets(root.from);
        if (entries <= limit) return;
        std::uint64_t nobody = 0;
        // relaxed: a hint. If its holder is stopped, other threads grow the table a little later
        if (!head.grower.compare_exchange_strong(
                nobody, ground_.own() + 1, std::memory_order_relaxed, std::memory_order_relaxed) &&
            entries < limit + limit / 4) {
            return;
        }
        if (make_array(head, root.from + 1)) {
            std::uint64_t now = word;
            head.root.compare_exchange_strong(
                now, Root{root.from, root.from + 1, root.epoch + 1}.packed(),
                std::memory_order_seq_cst, std::memory_order_relaxed);
        }
        head.grower.store(0, std::memory_order_relaxed);
    }

    // How many entries were counted; exact only while no thread changes the table.
    [[nodiscard]] static std::uint64_t entries_in(const Head<Atomic>& head) noexcept {
        std::uint64_t sum = head.correction.load(std::memory_order_relaxed);
        for (const auto& counter : head.counted)
            sum += counter.entries.load(std::memory_order_relaxed);
        return counter::entries_in(sum);
    }

    [[nodiscard]] BucketArray<Atomic>& array_of(const Head<Atomic>& head,
                                                std::uint32_t level) const noexcept {
        return ground_.array(number_of_array(head, level));
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
        return link_block(behind.link, expected, expected | link::made | link::to(block));
    }

private:
    static constexpr std::uint64_t moves_per_insertion = 2;

    [[nodiscard]] static BlockNumber number_of_array(const Head<Atomic>& head,
                                                     std::uint32_t level) noexcept {
        return link::next_in(head.arrays[level].load(std::memory_order_acquire));
    }

    // The bucket for a change in a growing table, whose arrays are named.
    [[nodiscard, gnu::noinline]] Spot<Atomic> spot_in_growth(Head<Atomic>& head,
                                                             std::uint64_t word,
                                                             std::uint64_t hash) {
        const Root root = Root::unpacked(word);
        const bool is_done = is_moved(*bucket_in(ground_, head, hash, root.from)) ||
                             move(head, root, head.index_of(hash, root.from));
        return {word, is_done ? bucket_in(ground_, head, hash, root.to) : nullptr};
    }

    void name_arrays(const Head<Atomic>& head, const Root& root) const noexcept {
        ground_.name(Shown::from_array, number_of_array(head, root.from));
        if (root.is_growing()) ground_.name(Shown::to_array, number_of_array(head, root.to));
    }

    // Links the filled block that was made last.
    bool link_block(Atomic<std::uint64_t>& word, std::uint64_t expected, std::uint64_t value) {
        auto& shown = ground_.shown();
        const std::uint64_t block = shown.block_made.load(std::memory_order_relaxed);
        shown.block_place.store(ground_.place_of(word), std::memory_order_relaxed);
        shown.block_made.store(block | made::filled, std::memory_order_release);
        const bool is_linked = word.compare_exchange_strong(
            expected, value, std::memory_order_seq_cst, std::memory_order_acquire);
        const auto forget = [&] { shown.block_made.store(0, std::memory_order_release); };
        if (is_linked) {
            forget();
        } else {
            ground_.unlink_and_free(made::block_in(block), forget);
        }
        return is_linked;
    }

    // Makes the array of a level unless it is there. True if it is there now.
    bool make_array(Head<Atomic>& head, std::uint32_t level) {
        if (number_of_array(head, level) != 0) return true;
        const std::uint64_t buckets = head.buckets(level);
        const std::uint64_t bytes = BucketArray<Atomic>::bytes(buckets);
        const BlockNumber block =
            ground_.blocks().allocate(ground_.shown().block_made, bytes, line_bytes);
        if (block == 0) return false;
        ground_.blocks().clear(block, bytes);
        auto& array = ground_.array(block);
        array.claim.store(claim::is_array, std::memory_order_relaxed);
        array.buckets = buckets;
        (void)link_block(head.arrays[level], 0, link::to(block));
        return true;
    }

    // Migrates a bucket of the old array, without waiting for another thread that does so too.
    // false: there is no memory for its new buckets.
    bool move(Head<Atomic>& head, const Root& root, std::uint64_t index) {
        auto& first = array_of(head, root.from).bucket(index);
        prefetch_targets(head, root, index);
        freeze(first);
        auto& to = array_of(head, root.to);
        const Halves halves(head, root, index);
        std::array<Filler, 2> fillers{
            Filler{*this, to.bucket(index), halves.are_in_slots()},
            Filler{*this, to.bucket(index + head.buckets(root.from)), halves.are_in_slots()}};
        for_each_in_chain(first, [&](std::uint64_t word) {
            if ((word & slot::occupied) != 0)
                fillers[halves.of(ground_, word)].add(word & ~slot::frozen);
        });
        for (Filler& filler : fillers) {
            if (!filler.finish()) return is_moved(first);
        }
        std::uint64_t word = first.link.load(std::memory_order_acquire);
        while ((word & link::moved) == 0 &&
               // seq_cst: the entries are in the new array before any thread looks for them there
               !first.link.compare_exchange_weak(word, word | link::moved,
                                                 std::memory_order_seq_cst,
                                                 std::memory_order_acquire)) {
        }
        return true;
    }

    // Prefetches the buckets that get the entries of this one.
    void prefetch_targets(const Head<Atomic>& head,
                          const Root& root,
                          std::uint64_t index) const noexcept {
        auto& to = array_of(head, root.to);
        __builtin_prefetch(&to.bucket(index), 1);
        __builtin_prefetch(&to.bucket(index + head.buckets(root.from)), 1);
    }

    // After it nothing changes in the chain. An undecided insertion is dropped.
    void freeze(Bucket<Atomic>& first) const noexcept {
        for (Bucket<Atomic>* bucket = &first;;) {
            const std::uint64_t word =
                bucket->link.fetch_or(link::frozen, std::memory_order_seq_cst);
            for (auto& slot : bucket->slots) {
                std::uint64_t now = slot.load(std::memory_order_acquire);
                while ((now & slot::frozen) == 0 &&
                       !slot.compare_exchange_weak(now, frozen_form(now), std::memory_order_seq_cst,
                                                   std::memory_order_acquire)) {
                }
            }
            if (link::next_in(word) == 0) return;
            bucket = &ground_.bucket(link::next_in(word));
        }
    }

    [[nodiscard]] static constexpr std::uint64_t frozen_form(std::uint64_t word) noexcept {
        return slot::is_entry(word) ? word | slot::frozen : slot::emptied | slot::frozen;
    }

    template <typename Visit>
    void for_each_in_chain(Bucket<Atomic>& first, const Visit& visit) const {
        for (Bucket<Atomic>* bucket = &first;;) {
            for (auto& slot : bucket->slots) visit(slot.load(std::memory_order_acquire));
            const BlockNumber next = link::next_in(bucket->link.load(std::memory_order_acquire));
            if (next == 0) return;
            bucket = &ground_.bucket(next);
        }
    }

    // Which of the two target buckets in the next array gets an entry: 0, the one of the same
    // index, or 1.
    class Halves {
    public:
        Halves(const Head<Atomic>& head, const Root& root, std::uint64_t index) noexcept
            : head_(head), to_(root.to), index_(index) {
            if (head.slots_mask == 0 && head.slots != 1) return;
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(head.slots)) +
                             split_last_bits + root.from;
            if (bit < slot::fragment_at || bit >= slot::fragment_at + slot::fragment_bits) return;
            bit_ = bit - slot::fragment_at;
            are_in_slots_ = true;
        }

        // Whether the slots' fragments decide it. Then all helpers, however late, compute the same.
        [[nodiscard]] bool are_in_slots() const noexcept { return are_in_slots_; }

        [[nodiscard]] std::uint64_t of(const Ground<Atomic>& ground,
                                       std::uint64_t word) const noexcept {
            if (are_in_slots_) [[likely]]
                return slot::fragment_in(word) >> bit_ & 1;
            // The record may have been replaced or erased and reused; its bucket was migrated
            // before that, so the result is not used
            const std::uint64_t first =
                ground.record(slot::record_in(word)).claim.load(std::memory_order_relaxed);
            return head_.index_of(claim::hash_in(first), to_) == index_ ? 0 : 1;
        }

    private:
        const Head<Atomic>& head_;
        std::uint32_t to_;
        std::uint64_t index_;
        std::uint32_t bit_ = 0;
        bool are_in_slots_ = false;
    };

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

        // false: there was no memory.
        [[nodiscard]] bool finish() {
            if (count_ != 0 || is_first_) flush();
            if (!is_well_) return false;
            std::uint64_t zero = 0;
            last_->link.compare_exchange_strong(zero, link::made, std::memory_order_seq_cst,
                                                std::memory_order_relaxed);
            return true;
        }

    private:
        void flush() {
            const std::uint32_t count = count_;
            for (std::uint32_t i = count_; i < words_.size(); ++i) words_[i] = slot::emptied;
            count_ = 0;
            if (!is_well_) return;
            if (is_first_) {
                is_first_ = false;
                fill_first(may_leave_ ? count : Bucket<Atomic>::slots_max);
            } else {
                append();
            }
        }

        void fill_first(std::uint32_t count) {
            for (std::uint32_t i = 0; i < count; ++i) {
                std::uint64_t zero = 0;
                last_->slots[i].compare_exchange_strong(zero, words_[i], std::memory_order_seq_cst,
                                                        std::memory_order_relaxed);
            }
        }

        void append() {
            std::uint64_t word = last_->link.load(std::memory_order_acquire);
            if (word == 0) {
                Bucket<Atomic>* bucket = growth_.make_bucket();
                if (bucket == nullptr) {
                    is_well_ = false;
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
            is_well_ = next != 0;  // 0: it was migrated, and its records may be reused
            if (is_well_) last_ = &growth_.ground_.bucket(next);
        }

        Growth& growth_;
        Bucket<Atomic>* last_;
        std::array<std::uint64_t, Bucket<Atomic>::slots_max> words_{};
        std::uint32_t count_ = 0;
        bool may_leave_;
        bool is_first_ = true;
        bool is_well_ = true;
    };

    // All buckets were given out. Migrates some whose helper is stopped or dead; when none is left
    // the growth ends.
    void look_for_the_end(Head<Atomic>& head, std::uint64_t word) {
        constexpr std::uint32_t looks = 256;
        constexpr std::uint32_t moves = 8;
        const Root root = Root::unpacked(word);
        auto& from = array_of(head, root.from);
        std::uint64_t known = from.moved.load(std::memory_order_acquire);
        std::uint64_t index = known;
        std::uint32_t moved = 0;
        for (std::uint32_t look = 0; look < looks && index < from.buckets; ++look, ++index) {
            if (is_moved(from.bucket(index))) continue;
            if (++moved > moves || !move(head, root, index)) break;
        }
        from.moved.compare_exchange_strong(known, index, std::memory_order_acq_rel,
                                           std::memory_order_relaxed);
        if (index == from.buckets) end(head, word);
    }

    void end(Head<Atomic>& head, std::uint64_t word) {
        const Root root = Root::unpacked(word);
        const BlockNumber old = number_of_array(head, root.from);
        auto& unlinking = ground_.shown().unlinking;
        if (root.from != 0) unlinking.store(old, std::memory_order_release);
        const bool is_mine =
            head.root.compare_exchange_strong(word, Root{root.to, root.to, root.epoch + 1}.packed(),
                                              std::memory_order_seq_cst, std::memory_order_relaxed);
        if (root.from == 0) return;
        if (is_mine) reclaimer_.retire(old);
        unlinking.store(0, std::memory_order_release);
    }

    const Ground<Atomic>& ground_;
    Reclaimer<Atomic> reclaimer_;
};

}  // namespace acp::table
