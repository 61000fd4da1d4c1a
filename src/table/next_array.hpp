// SPDX-License-Identifier: BSD-3-Clause
// Makes the array into which a table grows. It is linked at once, and then cleared in parts of
// 64 KiB, one by each call of any thread, so that no insertion waits for a long array; the call that
// finds all parts clear marks the array as ready and begins the growth. Until then no other
// operation reads the array.
// If a thread is stopped or killed before its part is clear, the array never becomes ready. Once the
// table has grown by another entry for each of its buckets, a new array replaces it. The old one is
// retired like one that growth has emptied: a stopped thread that may still write there names it.
// Tests: tests/unit/table/next_array_test.cpp, kill_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "table/ground.hpp"
#include "table/reclaimer.hpp"

namespace acp::table {

template <template <class> class Atomic>
class NextArray {
public:
    // Entries for each bucket at which a table grows.
    static constexpr std::uint64_t entries_per_bucket = 5;

    static constexpr std::uint64_t part_bytes = 64 << 10;

    //   ground  outlives this
    explicit NextArray(const Ground<Atomic>& ground) noexcept
        : ground_(ground), reclaimer_(ground) {}

    // Does the next step towards growth if the table has enough entries: makes the array, or clears
    // a part of it, and begins to grow if that was the last one.
    void advance_if_due(Head<Atomic>& head) {
        const std::uint64_t word = head.root.load(std::memory_order_acquire);
        const Root root = Root::unpacked(word);
        const std::uint32_t level = root.from + 1;
        if (head.may_grow == 0 || root.is_growing() || !head.may_have(level)) return;
        const std::uint64_t entries = head.entries();
        if (entries <= entries_per_bucket * head.buckets(root.from)) return;
        if (head.array(level) == 0) make(head, level, entries, 0);
        advance(head, word, entries);
        ground_.forget(Shown::next_array);
    }

private:
    using Shown = Participant<Atomic>;
    static constexpr std::uint64_t part_buckets = part_bytes / line_bytes;

    //   word  the root; the table does not grow
    void advance(Head<Atomic>& head, std::uint64_t word, std::uint64_t entries) {
        const Root root = Root::unpacked(word);
        const std::uint32_t level = root.from + 1;
        auto& place = head.arrays[level];
        const std::uint64_t linked = place.load(std::memory_order_acquire);
        const BlockNumber block = link::next_in(linked);
        ground_.name(Shown::next_array, block);
        // After this the array stays allocated until this thread forgets it: it is retired only
        // once it has been replaced, or once the table has grown out of it.
        const bool is_next = place.load(std::memory_order_seq_cst) == linked &&
                             head.root.load(std::memory_order_seq_cst) == word;
        const std::uint64_t buckets = head.buckets(level);
        if (!is_next || !ground_.has_block(block, BucketArray<Atomic>::bytes(buckets))) return;
        auto& array = ground_.array(block);
        if (array.buckets != buckets) return;  // the program has overwritten the words
        if ((linked & link::made) == 0 && !clear_part(array)) {
            if (entries >= array.entries_at_begin + head.buckets(root.from))
                replace(head, level, entries, linked);
            return;
        }
        if (is_ready(place, linked, array)) begin(head, word);
    }

    // Clears the next part, if one is left. Returns whether all are clear.
    [[nodiscard]] bool clear_part(BucketArray<Atomic>& array) {
        const std::uint64_t parts = (array.buckets + part_buckets - 1) / part_buckets;
        if (array.parts_taken.load(std::memory_order_relaxed) < parts) {
            const std::uint64_t first =
                array.parts_taken.fetch_add(1, std::memory_order_relaxed) * part_buckets;
            if (first < array.buckets) {
                const std::uint64_t count = std::min(part_buckets, array.buckets - first);
                const heap::Offset from{ground_.place_of(array.bucket(first).link)};
                ground_.blocks().clear(number_of(from), count * line_bytes);
                // release: the zeros
                array.parts_clear.fetch_add(1, std::memory_order_release);
            }
        }
        // acquire: the zeros of the other threads
        return array.parts_clear.load(std::memory_order_acquire) == parts;
    }

    // Marks an array whose parts are clear as ready. false: it was replaced.
    [[nodiscard]] static bool is_ready(Atomic<std::uint64_t>& place,
                                       std::uint64_t linked,
                                       BucketArray<Atomic>& array) noexcept {
        if ((linked & link::made) != 0) return true;
        std::uint64_t all = array.buckets;
        array.freed.compare_exchange_strong(all, 0, std::memory_order_relaxed,
                                            std::memory_order_relaxed);
        std::uint64_t now = linked;
        // From here on no other array can take its place. release: `freed`
        return place.compare_exchange_strong(now, linked | link::made, std::memory_order_seq_cst,
                                             std::memory_order_acquire) ||
               now == (linked | link::made);
    }

    static void begin(Head<Atomic>& head, std::uint64_t word) noexcept {
        const Root root = Root::unpacked(word);
        head.root.compare_exchange_strong(word,
                                          Root{root.from, root.from + 1, root.epoch + 1}.packed(),
                                          std::memory_order_seq_cst, std::memory_order_relaxed);
    }

    // Makes and links an array, unless the word that links it is no longer `expected`.
    void make(Head<Atomic>& head,
              std::uint32_t level,
              std::uint64_t entries,
              std::uint64_t expected) {
        const std::uint64_t buckets = head.buckets(level);
        const BlockNumber block = ground_.blocks().allocate(
            ground_.shown().block_made, BucketArray<Atomic>::bytes(buckets), line_bytes);
        if (block == 0) return;
        auto& array = ground_.array(block);
        for (auto* word : {&array.given_out, &array.moved, &array.parts_taken, &array.parts_clear})
            word->store(0, std::memory_order_relaxed);
        array.freed.store(buckets, std::memory_order_relaxed);
        array.buckets = buckets;
        array.entries_at_begin = entries;
        array.claim.store(claim::is_array, std::memory_order_relaxed);
        // If this thread is killed when another one has already replaced the array, recovery finds
        // it allocated.
        ground_.name(Shown::next_array, block);
        (void)ground_.link_block(head.arrays[level], expected, link::to(block), made::is_array);
    }

    //   linked  the word that links the array, which this thread names
    void replace(Head<Atomic>& head,
                 std::uint32_t level,
                 std::uint64_t entries,
                 std::uint64_t linked) {
        const BlockNumber old = link::next_in(linked);
        auto& unlinking = ground_.shown().unlinking;
        unlinking.store(old, std::memory_order_release);
        make(head, level, entries, linked);
        if (head.array(level) != old) reclaimer_.retire(old, Retired::array);
        unlinking.store(0, std::memory_order_release);
    }

    const Ground<Atomic>& ground_;
    Reclaimer<Atomic> reclaimer_;
};

}  // namespace acp::table
