// SPDX-License-Identifier: BSD-3-Clause
// Lookups alone, in the tables of one heap: cheaper to construct than a HashTable, which also
// changes tables and has the contract (table/table.hpp). One thread at a time.
// Tests: tests/unit/table.
#pragma once

#include <atomic>
#include <cstdint>

#include "table/effect.hpp"
#include "table/ground.hpp"
#include "table/growth.hpp"
#include "table/known_root.hpp"
#include "table/search.hpp"

namespace acp::table {

template <template <class> class Atomic = std::atomic>
class Finder {
public:
    using Trail = typename Search<Atomic>::Trail;

    explicit Finder(const ReadGround<Atomic>& ground) noexcept : ground_(ground) {}

    // Whether a table of this identity begins there and has been used (HashTable::is_table). Wrong
    // only for a block that holds something else and by chance has the table's mark of 64 bits.
    //   table  any number whose offset and sizeof(Head) bytes from there are in the heap
    [[nodiscard]] bool is_table(BlockNumber table, std::uint64_t id) const noexcept {
        return offset_of(table) % line_bytes == 0 &&
               ground_.head(table).mark.load(std::memory_order_acquire) ==
                   Head<Atomic>::mark_of(table, id);
    }

    // Calls visit(const char* value, std::uint32_t bytes, const RecordName&) with the value of the
    // key, which stays allocated during the call. done, absent, damaged. visit gets a copy of a
    // value of 8 bytes, because writers change it in place.
    template <typename Visit>
    [[gnu::always_inline]] Effect find(BlockNumber table,
                                       const EntryKey& key,
                                       const Visit& visit) const {
        return show(Search<Atomic>(ground_).find(ground_.head(table), key), visit);
    }

    // The result of a lookup that is not repeated.
    enum class Seen : std::uint8_t { absent, there, late };

    // Tries the lookup once, in a table that begins at `head`, from the bucket that a root read
    // earlier gives. late: the bucket was migrated or the entry replaced, and find() would start
    // again, or would find damage. Calls visit(EntryRecord<Atomic>&, BlockNumber) while the record
    // is named and so stays allocated; the value of a record of 8 bytes may change during the call.
    template <typename Visit>
    [[nodiscard, gnu::always_inline]] Seen find_once(const Head<Atomic>& head,
                                                     const Spot<Atomic>& spot,
                                                     const EntryKey& key,
                                                     const Visit& visit) const {
        using Look = Search<Atomic>;
        const auto entry = Look(ground_).look(head, spot, key, Look::Access::find);
        Seen seen = entry.is_late || entry.is_damaged ? Seen::late : Seen::absent;
        if (entry.slot != nullptr) {
            const BlockNumber record = slot::record_in(entry.word);
            visit(ground_.record(record), record);
            seen = Seen::there;
        }
        ground_.forget(Participant<Atomic>::record);
        return seen;
    }

    // Finds the entry of this record, which a walk or an earlier call returned, if it is still
    // linked; otherwise like find().
    //   hash  of its key
    template <typename Visit>
    Effect find_record(BlockNumber table,
                       std::uint64_t hash,
                       const RecordName& record,
                       const Visit& visit) const {
        return show(Search<Atomic>(ground_).find_record(ground_.head(table), hash, record), visit);
    }

    // Prefetches the bucket of a hash; a writer may migrate it afterwards.   known  of this table
    [[nodiscard, gnu::always_inline]] Spot<Atomic> prefetch_bucket(
        KnownRoot<Atomic>& known, BlockNumber table, std::uint64_t hash) const noexcept {
        const Spot<Atomic> spot = known.spot_for_find(ground_, ground_.head(table), hash);
        __builtin_prefetch(spot.first);
        return spot;
    }

    // Prefetches the records in that bucket whose fragment matches, before a change.   spot
    // returned by prefetch_bucket()
    void prefetch_record(const Spot<Atomic>& spot, std::uint64_t hash) const noexcept {
        Search<Atomic>(ground_).prefetch_records(*spot.first, slot::fragment_of(hash));
    }

    // A lookup in three steps: prefetch_bucket(), follow(), find_on(). Its linearization point lies
    // between the first and the last.
    [[nodiscard, gnu::always_inline]] Trail follow(BlockNumber table,
                                                   const Spot<Atomic>& spot,
                                                   std::uint64_t hash) const {
        return Search<Atomic>(ground_).follow(ground_.head(table), spot, hash);
    }

    template <typename Visit>
    [[gnu::always_inline]] Effect find_on(BlockNumber table,
                                          const Spot<Atomic>& spot,
                                          const Trail& trail,
                                          const EntryKey& key,
                                          const Visit& visit) const {
        return show(Search<Atomic>(ground_).find_on(ground_.head(table), spot, trail, key), visit);
    }

private:
    template <typename Visit>
    [[gnu::always_inline]] Effect show(const typename Search<Atomic>::Entry& entry,
                                       const Visit& visit) const {
        if (entry.slot != nullptr) {
            const BlockNumber number_of_record = slot::record_in(entry.word);
            auto& record = ground_.record(number_of_record);
            if (record.is_number()) {
                const std::uint64_t number = record.number().load(std::memory_order_acquire);
                visit(reinterpret_cast<const char*>(&number), record.value_bytes,
                      RecordName{number_of_record, record.mark()});
            } else {
                visit(static_cast<const char*>(record.value()), record.value_bytes,
                      RecordName{number_of_record, record.mark()});
            }
        }
        ground_.forget(Participant<Atomic>::record);
        if (entry.slot != nullptr) [[likely]]
            return Effect::done;
        return entry.is_damaged ? Effect::damaged : Effect::absent;
    }

    const ReadGround<Atomic> ground_;
};

}  // namespace acp::table
