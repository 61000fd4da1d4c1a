// SPDX-License-Identifier: BSD-3-Clause
// Entries whose value is a count of 1 or more. When a count drops to zero exactly one call erases
// the entry, also while other calls add to it. A count that has ended never changes again: a call
// that finds one helps to unlink the entry, and takes the key for absent. Tests:
// tests/unit/table/counting_test.cpp, kill_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "table/ground.hpp"
#include "table/growth.hpp"
#include "table/insertion.hpp"
#include "table/reclaimer.hpp"
#include "table/search.hpp"

namespace acp::table {

// The value of a count that has ended.
inline constexpr std::uint64_t ended_count = ~std::uint64_t{0};

// Whether the value of an entry, read in a table of counts, is an ended count.
[[nodiscard]] inline bool is_ended_count(const char* value, std::uint32_t bytes) noexcept {
    return bytes == sizeof ended_count && std::memcmp(value, &ended_count, bytes) == 0;
}

struct CountEffect {
    Effect effect = Effect::done;
    std::uint64_t count = 0;  // after the call
    RecordName record = {};
};

template <template <class> class Atomic>
class Counting {
public:
    //   ground  outlives this
    explicit Counting(const Ground<Atomic>& ground) noexcept
        : ground_(ground), reclaimer_(ground), growth_(ground), insertion_(ground) {}

    // Adds to a count, which is 0 where there is no entry.   number  1 or more
    // done, no_room, no_number, out_of_range, damaged
    CountEffect add(Head<Atomic>& head, const EntryKey& key, std::uint64_t number) {
        if (number == 0 || number == ended_count) return {Effect::out_of_range};
        for (;;) {
            CountEffect effect = change(head, key, [number](std::uint64_t count) {
                return count < ended_count - number ? count + number : no_count;
            });
            if (effect.effect != Effect::absent) return effect;
            const PutEffect put =
                insertion_.put(head, {key, {&number, sizeof number}, PutMode::insert});
            if (put.effect == Effect::done) return {Effect::done, number, put.record};
            if (put.effect != Effect::present) return {put.effect};
        }
    }

    // Subtracts from a count; if the result would be less than 1 the count ends and the entry is
    // erased. done, absent, no_room, no_number, damaged
    CountEffect subtract(Head<Atomic>& head, const EntryKey& key, std::uint64_t number) {
        return change(head, key, [number](std::uint64_t count) {
            return count > number ? count - number : ended_count;
        });
    }

    // Unlinks the entry of a record whose count a killed participant had ended, if it is still
    // linked. done, no_room (to migrate its bucket), damaged
    [[nodiscard]] Effect unlink_ended(Head<Atomic>& head, std::uint64_t hash, BlockNumber record) {
        return unlink_ended_where(head, hash,
                                  [record](BlockNumber found) { return found == record; });
    }

private:
    static constexpr std::uint64_t no_count = 0;

    struct Changed {
        std::uint64_t before = 0;
        std::uint64_t after = 0;
    };

    // Changes a count by next(count), unless it has ended or next() returns no_count. Unlinks the
    // entry if its count has ended.
    template <typename Next>
    CountEffect change(Head<Atomic>& head, const EntryKey& key, const Next& next) {
        for (;;) {
            const Spot<Atomic> spot = growth_.spot_for_change(head, key.hash);
            if (spot.first == nullptr) return {spot.failure()};
            const auto entry =
                Search<Atomic>(ground_).look(head, spot, key, Search<Atomic>::Access::change);
            if (entry.is_late) continue;
            if (entry.is_damaged) return {Effect::damaged};
            if (entry.slot == nullptr) return {Effect::absent};
            const BlockNumber record = slot::record_in(entry.word);
            if (!ground_.record(record).is_number()) return {Effect::no_number};
            const Changed changed = change_number(entry.word, next);
            const bool was_ended = changed.before == ended_count;
            if (changed.after == no_count) return {Effect::out_of_range, changed.before};
            if (!was_ended && changed.after != ended_count)
                return {Effect::done, changed.after, {record, ground_.record(record).mark()}};
            // If there is no memory to migrate its bucket, a later call unlinks it.
            (void)unlink_ended_where(head, key.hash, [&](BlockNumber found) {
                return ground_.has_key(found, key.data, key.bytes);
            });
            ground_.shown().unlinking.store(0, std::memory_order_release);
            if (!was_ended) return {Effect::done};
        }
    }

    // Changes the number of a slot's record, unless it is an ended count or next() returns no_count.
    // Before it ends a count it publishes in `unlinking` that it retires the record; the caller
    // then does so, also if another call has ended the count.
    template <typename Next>
    Changed change_number(std::uint64_t slot_word, const Next& next) {
        auto& number = ground_.record(slot::record_in(slot_word)).number();
        auto& unlinking = ground_.shown().unlinking;
        Changed changed{number.load(std::memory_order_acquire), ended_count};
        bool is_told = false;
        while (changed.before != ended_count) {
            changed.after = next(changed.before);
            if (changed.after == no_count) break;
            if (changed.after == ended_count) {
                unlinking.store(unlinking::of_slot(slot_word) | unlinking::is_ended,
                                std::memory_order_release);
                is_told = true;
            }
            if (number.compare_exchange_weak(changed.before, changed.after,
                                             std::memory_order_acq_rel,
                                             std::memory_order_acquire)) {
                break;
            }
        }
        const bool is_ended = changed.before == ended_count || changed.after == ended_count;
        if (is_told && !is_ended) unlinking.store(0, std::memory_order_release);
        return changed;
    }

    // Unlinks an entry if its count was ended. done, no_room, damaged
    template <typename IsIt>
    Effect unlink_ended_where(Head<Atomic>& head, std::uint64_t hash, const IsIt& is_it) {
        for (;;) {
            const Spot<Atomic> spot = growth_.spot_for_change(head, hash);
            if (spot.first == nullptr) return spot.failure();
            const auto entry = Search<Atomic>(ground_).look_for(
                head, spot, slot::fragment_of(hash), Search<Atomic>::Access::change, is_it);
            if (entry.is_late) continue;
            if (entry.is_damaged) return Effect::damaged;
            if (entry.slot == nullptr) return Effect::done;
            if (!ground_.has_record(slot::record_in(entry.word))) return Effect::damaged;
            auto& record = ground_.record(slot::record_in(entry.word));
            if (!record.is_number() ||
                record.number().load(std::memory_order_acquire) != ended_count) {
                return Effect::done;
            }
            if (!reclaimer_.unlink(*entry.slot, entry.word, slot::emptied, unlinking::is_ended))
                continue;
            head.count_erasure(ground_.own());
            return Effect::done;
        }
    }

    const Ground<Atomic>& ground_;
    Reclaimer<Atomic> reclaimer_;
    Growth<Atomic> growth_;
    Insertion<Atomic> insertion_;
};

}  // namespace acp::table
