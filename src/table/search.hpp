// SPDX-License-Identifier: BSD-3-Clause
// Searches for a key in its bucket chain: for lookups, which store nothing but a hazard word, and
// for changes.
// Tests: tests/unit/table/table_test.cpp, concurrency_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "table/ground.hpp"
#include "table/growth.hpp"

namespace acp::table {

// A key, and its hash, of which hash_bits count.
struct EntryKey {
    const void* data = nullptr;
    std::uint32_t bytes = 0;
    std::uint64_t hash = 0;
};

template <template <class> class Atomic>
class Search {
public:
    using Shown = Participant<Atomic>;

    // The caller's kind: a change has named the arrays, and its bucket is migrated already; a find
    // has done neither.
    enum class Access : std::uint8_t { find, change };

    // A slot that names the key's record; the record is named in a hazard word.
    struct Entry {
        Atomic<std::uint64_t>* slot = nullptr;
        std::uint64_t word = 0;
        // the bucket was migrated or the slot changed during the search: search again
        bool is_late = false;
        // the search read words that contradict each other and do not change
        bool is_damaged = false;
    };

    // The state of a lookup in a chain: the first bucket with slots that match the hash's fragment,
    // and these slots.
    struct Trail {
        Bucket<Atomic>* bucket = nullptr;  // nullptr: there is none, and no entry of the key
        std::uint32_t like = 0;
    };

    //   ground  outlives this
    explicit Search(const ReadGround<Atomic>& ground) noexcept : ground_(ground) {}

    [[nodiscard, gnu::always_inline]] Entry find(const Head<Atomic>& head,
                                                 const EntryKey& key) const {
        const Spot<Atomic> spot = Growth<Atomic>::spot_for_find(ground_, head, key.hash);
        const Entry entry = look(head, spot, key, Access::find);
        if (!entry.is_late) [[likely]]
            return entry;
        return find_again(ground_, head, key);
    }

    // A lookup in two steps, so that many can overlap while the processor fetches memory: follow(),
    // which prefetches the records that may be the key's, and find_on().
    [[nodiscard, gnu::always_inline]] Trail follow(const Head<Atomic>& head,
                                                   const Spot<Atomic>& spot,
                                                   std::uint64_t hash) const {
        const std::uint64_t fragment = slot::fragment_of(hash);
        Trail trail{spot.first, spot.first->slots_like(fragment, std::memory_order_acquire)};
        CircleFinder circle;
        while (trail.like == 0) {
            const BlockNumber next =
                link::next_in(trail.bucket->link.load(std::memory_order_acquire));
            // A spot that is not current never becomes current again: find_on() starts anew. Also
            // where a link leads nowhere.
            if (!Growth<Atomic>::is_current(head, spot)) [[unlikely]]
                return {spot.first, 0};
            if (next == 0) return {};
            trail.bucket = ground_.bucket_after(next, circle);
            if (trail.bucket == nullptr) [[unlikely]]
                return {spot.first, 0};
            trail.like = trail.bucket->slots_like(fragment, std::memory_order_acquire);
        }
        prefetch(*trail.bucket, trail.like);
        return trail;
    }

    //   spot, trail  the argument and the result of follow()
    [[nodiscard, gnu::always_inline]] Entry find_on(const Head<Atomic>& head,
                                                    const Spot<Atomic>& spot,
                                                    const Trail& trail,
                                                    const EntryKey& key) const {
        if (trail.bucket == nullptr) return {};
        const Entry entry = look_for(
            head, spot, trail, slot::fragment_of(key.hash),
            Access::find, [&](BlockNumber record) __attribute__((always_inline)) {
                return ground_.has_key(record, key.data, key.bytes);
            });
        return entry.is_late ? find_again(ground_, head, key) : entry;
    }

    // Looks for a key in a chain.
    [[nodiscard, gnu::always_inline]] Entry look(const Head<Atomic>& head,
                                                 const Spot<Atomic>& spot,
                                                 const EntryKey& key,
                                                 Access access) const {
        return look_for(
            head, spot, slot::fragment_of(key.hash),
            access, [&](BlockNumber record) __attribute__((always_inline)) {
                return ground_.has_key(record, key.data, key.bytes);
            });
    }

    // Looks for the entry of a record, whose key has this hash.
    [[nodiscard]] Entry find_record(const Head<Atomic>& head,
                                    std::uint64_t hash,
                                    const RecordName& record) const {
        const Entry entry =
            find_where(head, hash, [&](BlockNumber found) { return is_it(found, record); });
        const bool is_one = entry.slot == nullptr || ground_.has_record(record.block);
        return is_one ? entry : damaged();
    }

    // Whether the record found, which this thread names in a hazard word, is the one that a caller
    // means, and not a later one in the same memory. A name without a mark is of a record that was
    // retired before its caller had read the mark.
    [[nodiscard]] bool is_it(BlockNumber found, const RecordName& record) const noexcept {
        return found == record.block && record.mark != claim::no_mark &&
               ground_.record(found).mark() == record.mark;
    }

    // Searches a chain for a record with is_it(number), and names the record found in a hazard
    // word. The buckets of a find may be migrated and freed at any time, so it checks at each step
    // whether they are current.
    template <typename IsIt>
    [[nodiscard, gnu::always_inline]] Entry look_for(const Head<Atomic>& head,
                                                     const Spot<Atomic>& spot,
                                                     std::uint64_t fragment,
                                                     Access access,
                                                     const IsIt& is_it) const {
        const Trail whole{spot.first, spot.first->slots_like(fragment, std::memory_order_acquire)};
        return look_for(head, spot, whole, fragment, access, is_it);
    }

    // Prefetches the records whose fragment matches a key's. Does not check whether the bucket is
    // in use: a prefetch of unmapped memory has no effect.
    void prefetch_records(const Bucket<Atomic>& bucket, std::uint64_t fragment) const noexcept {
        prefetch(bucket, bucket.slots_like(fragment, std::memory_order_relaxed));
    }

private:
    // Searches until it is not late. Out of line, since lookups rarely need it; takes a copy of the
    // ground, so that the caller's stays in registers.
    [[nodiscard, gnu::noinline]] static Entry find_again(ReadGround<Atomic> ground,
                                                         const Head<Atomic>& head,
                                                         const EntryKey& key) {
        return Search(ground).find_where(head, key.hash, [&](BlockNumber record) {
            return ground.has_key(record, key.data, key.bytes);
        });
    }

    template <typename IsIt>
    [[nodiscard]] Entry find_where(const Head<Atomic>& head,
                                   std::uint64_t hash,
                                   const IsIt& is_it) const {
        for (;;) {
            const Spot<Atomic> spot = Growth<Atomic>::spot_for_find(ground_, head, hash);
            const Entry entry = look_for(head, spot, slot::fragment_of(hash), Access::find, is_it);
            if (!entry.is_late) return entry;
            if (Growth<Atomic>::is_stuck(ground_, head, spot, hash)) return damaged();
        }
    }

    [[nodiscard]] static constexpr Entry damaged() noexcept { return {nullptr, 0, false, true}; }

    // The result where a bucket was migrated, is being migrated, or a slot has changed. No bucket
    // of a change is migrated while the root is the same.
    [[nodiscard]] static Entry late(const Head<Atomic>& head,
                                    const Spot<Atomic>& spot,
                                    Access access,
                                    bool is_migrated) noexcept {
        const bool is_damaged =
            is_migrated && access == Access::change && Growth<Atomic>::has_root(head, spot);
        return is_damaged ? damaged() : Entry{nullptr, 0, true, false};
    }

    // The result where a slot leads to no record; late if the slot has changed, or its bucket may
    // have been freed.
    [[nodiscard]] static Entry no_record(const Head<Atomic>& head,
                                         const Spot<Atomic>& spot,
                                         const Atomic<std::uint64_t>& slot,
                                         std::uint64_t word) noexcept {
        const bool is_damaged =
            slot.load(std::memory_order_seq_cst) == word && Growth<Atomic>::has_root(head, spot);
        return is_damaged ? damaged() : Entry{nullptr, 0, true, false};
    }

    // Searches so from a place in the chain on.
    template <typename IsIt>
    // NOLINTNEXTLINE(readability-function-cognitive-complexity): the states of a bucket
    [[nodiscard, gnu::always_inline]] Entry look_for(const Head<Atomic>& head,
                                                     const Spot<Atomic>& spot,
                                                     Trail trail,
                                                     std::uint64_t fragment,
                                                     Access access,
                                                     const IsIt& is_it) const {
        const bool is_find = access == Access::find;
        CircleFinder circle;
        for (auto& [bucket, like] = trail;;) {
            for (; like != 0; like &= like - 1) {
                auto& slot = bucket->slots[static_cast<std::size_t>(std::countr_zero(like))];
                const std::uint64_t word = slot.load(std::memory_order_acquire);
                // A slot that names another record now got one of another key.
                if (!slot::is_entry(word)) [[unlikely]]
                    continue;
                if (!is_find && (word & slot::frozen) != 0) return late(head, spot, access, true);
                if (!ground_.has_head(slot::record_in(word))) [[unlikely]]
                    return no_record(head, spot, slot, word);
                const char* const record = ground_.address(slot::record_in(word));
                __builtin_prefetch(record + line_bytes);  // where its head, read first, sends to
                ground_.name(Shown::record, slot::record_in(word));
                // seq_cst, like the loads of is_current(): after the store of the hazard word;
                // partner: RetiredBlocks::scan
                const std::uint64_t again = slot.load(std::memory_order_seq_cst);
                const bool is_other = ((again ^ word) & ~slot::frozen) != 0;
                if (is_other || !Growth<Atomic>::is_current(head, spot)) [[unlikely]]
                    return late(head, spot, access, !is_other);
                if (is_it(slot::record_in(word))) [[likely]]
                    return {&slot, word, false, false};
                if (!ground_.has_record(slot::record_in(word))) [[unlikely]]
                    return damaged();
            }
            const BlockNumber next = link::next_in(bucket->link.load(std::memory_order_acquire));
            if (is_find && !Growth<Atomic>::is_current(head, spot)) [[unlikely]]
                return late(head, spot, access, true);
            if (next == 0) [[likely]]
                return {};
            bucket = ground_.bucket_after(next, circle);
            if (bucket == nullptr) [[unlikely]]
                return damaged();
            like = bucket->slots_like(fragment, std::memory_order_acquire);
        }
    }

    void prefetch(const Bucket<Atomic>& bucket, std::uint32_t like) const noexcept {
        for (; like != 0; like &= like - 1) {
            const auto& slot = bucket.slots[static_cast<std::uint32_t>(std::countr_zero(like))];
            const char* const record =
                ground_.address(slot::record_in(slot.load(std::memory_order_relaxed)));
            __builtin_prefetch(record);
            __builtin_prefetch(record + line_bytes);
        }
    }

    const ReadGround<Atomic>& ground_;
};

}  // namespace acp::table
