// SPDX-License-Identifier: BSD-3-Clause
// Visits the entries of a table in the order of their positions (table/position.hpp), while other
// threads change it and while it grows. An entry that exists from before the walk until its end is
// visited exactly once, also if the table grows or the entry's value is replaced. An entry inserted
// or erased during the walk may be visited or not. Between two steps only the place is kept.
// Tests: tests/unit/table/walk_test.cpp, concurrency_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "table/ground.hpp"
#include "table/growth.hpp"
#include "table/position.hpp"
#include "table/search.hpp"

namespace acp::table {

// The place of a walk: behind the entry of this position and tie. {0, 0}: before all entries.
// step() needs by_position().
struct WalkPlace {
    std::uint64_t position = 0;
    // orders entries of one position; an entry has 1 .. tie_of_all
    std::uint64_t tie = 0;

    // The tie of an entry that shares its position with no other: behind all that may be there.
    static constexpr std::uint64_t tie_of_all = ~std::uint64_t{0};

    // The place of an entry by the hash of its key, as a lookup returns it: only few lookups are
    // followed by a walk from there, which converts it into the entry's position.
    //   tie  that of the key
    [[nodiscard]] static constexpr WalkPlace by_hash(std::uint64_t hash,
                                                     std::uint64_t tie) noexcept {
        return {hash, tie | hash_flag};
    }

    [[nodiscard]] constexpr bool is_by_hash() const noexcept {
        return (tie & ~tie_mask) == hash_flag;
    }

    // Converts it into the place by position.
    [[nodiscard]] constexpr WalkPlace by_position(const Positions& positions) const noexcept {
        if (!is_by_hash()) return *this;
        return {positions.of(position), tie & tie_mask};
    }

    [[nodiscard]] constexpr std::uint64_t hash(const Positions& positions) const noexcept {
        return is_by_hash() ? position : positions.hash_at(position);
    }

    // The bits of a key's tie; tie_of_all has a one above them.
    static constexpr std::uint64_t tie_mask = ~std::uint64_t{0} >> 2;
    static constexpr std::uint64_t hash_flag = std::uint64_t{1} << 63;

    friend constexpr bool operator<(const WalkPlace& one, const WalkPlace& other) noexcept {
        return one.position != other.position ? one.position < other.position : one.tie < other.tie;
    }
};

// The tie of a key of any length: see tie_of_key.
[[nodiscard, gnu::noinline]] inline std::uint64_t tie_of_any_key(const char* key,
                                                                 std::uint32_t bytes) noexcept {
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
    std::uint64_t tie = bytes * factor + 1;
    const auto add = [&tie](const char* from, std::size_t count) {
        std::uint64_t word = 0;
        std::memcpy(&word, from, count);
        tie = (std::rotl(tie, 29) ^ word) * factor;
    };
    std::uint32_t at = 0;
    for (; bytes - at >= sizeof tie; at += sizeof tie) add(key + at, sizeof tie);
    if (at < bytes) add(key + at, bytes - at);
    return tie;
}

// Orders the keys whose hashes are equal, independent of their records: 1 .. WalkPlace::tie_mask. A
// sum of products, which a processor computes in parallel, because each call that returns an
// entry's place computes it.
[[nodiscard, gnu::always_inline]] inline std::uint64_t tie_of_key(const char* key,
                                                                  std::uint32_t bytes) noexcept {
    constexpr std::array<std::uint64_t, 4> factors = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9,
                                                      0x94d049bb133111eb, 0xd6e8feb86659fd93};
    constexpr std::uint32_t word_bytes = sizeof(std::uint64_t);
    const auto word_at = [key](std::uint32_t at) {
        std::uint64_t word = 0;
        std::memcpy(&word, key + at, word_bytes);
        return word;
    };
    std::uint64_t tie = bytes;
    if (bytes >= word_bytes && bytes <= 4 * word_bytes) [[likely]] {
        // The first words and the last, which may overlap.
        const std::uint32_t last = bytes - word_bytes;
        tie += word_at(0) * factors[0] + word_at(last) * factors[1];
        if (bytes > 2 * word_bytes) [[likely]]
            tie += word_at(word_bytes) * factors[2] + word_at(last - word_bytes) * factors[3];
    } else {
        tie = tie_of_any_key(key, bytes);
    }
    return (tie >> 2) | 1;
}

// An entry that is visited; its key and value stay allocated until the visit ends. A value of 8
// bytes is a copy.
struct VisitedEntry {
    WalkPlace place;
    RecordName record;
    const char* key = nullptr;
    std::uint32_t key_bytes = 0;
    std::uint32_t value_bytes = 0;
    const char* value = nullptr;
};

// The result of a step.
enum class Walked : std::uint8_t {
    more,  // there may be entries behind the place
    end,   // there is none
    // the table's words contradict each other, though no operation has changed them: the program
    // has overwritten them
    damaged,
};

enum class Visited : std::uint8_t {
    go_on,
    stop_here,    // the walk stops; the next step begins behind this entry
    stop_before,  // the walk stops; the next step begins with this entry
};

template <template <class> class Atomic>
class TableWalk {
public:
    //   ground  outlives this
    explicit TableWalk(const Ground<Atomic>& ground) noexcept : ground_(ground), growth_(ground) {}

    // The most entries that one pass over a chain collects.
    static constexpr std::uint32_t collected_max = 32;

    // Calls visit(const VisitedEntry&) -> Visited with entries behind `after`, at most those of one
    // bucket, and advances `after`, but not after damage. visit uses no table of this heap.
    //   is_single  visit takes one entry
    template <typename Visit>
    Walked step(const Head<Atomic>& head,
                WalkPlace& after,
                const Visit& visit,
                bool is_single = false) const {
        if (!head.has_slots()) return Walked::damaged;
        return step(head, after, visit, is_single ? 1 : collected_max, AllEntries());
    }

    // Does so with entries of one key. If a key may have several entries, a pass over the chain of
    // its hash reads the records of few other entries: an entry's order is its record's number.
    //   position  of the key's hash, and of `after`
    //   wanted    how many entries visit takes, 1 .. collected_max
    template <typename Visit>
    Walked step_of_key(const Head<Atomic>& head,
                       const EntryKey& key,
                       std::uint64_t position,
                       WalkPlace& after,
                       const Visit& visit,
                       std::uint32_t wanted) const {
        bool is_over = false;
        while (!is_over && after.position == position) {
            const auto visit_own = [&](const VisitedEntry& entry) {
                is_over = entry.place.position != position;
                if (is_over) return Visited::stop_before;
                const bool is_it = entry.key_bytes == key.bytes &&
                                   std::memcmp(entry.key, key.data, key.bytes) == 0;
                const Visited visited = is_it ? visit(entry) : Visited::go_on;
                is_over = visited != Visited::go_on;
                return visited;
            };
            const Walked walked = step(head, after, visit_own, wanted, EntriesLike(head, key.hash));
            if (walked != Walked::more) return walked;
        }
        return Walked::more;
    }

private:
    struct Found;

    struct AllEntries {
        [[nodiscard]] static bool is_candidate(std::uint64_t /*word*/,
                                               const WalkPlace& /*after*/,
                                               Found& /*found*/) noexcept {
            return true;
        }
    };

    // Decides by the word of a slot alone whether its entry may be the next one of a key.
    class EntriesLike {
    public:
        EntriesLike(const Head<Atomic>& head, std::uint64_t hash) noexcept
            : fragment_(slot::fragment_of(hash)),
              splits_(Positions(head.slots).splits_of(hash)),
              has_many_(head.has_many_of_a_key()) {}

        [[nodiscard]] bool is_candidate(std::uint64_t word,
                                        const WalkPlace& after,
                                        Found& found) const noexcept {
            if (slot::fragment_in(word) != fragment_) return false;
            if (!has_many_) return true;
            const BlockNumber tie = slot::record_in(word);
            if (tie <= after.tie) return false;
            if (!found.is_full_before(splits_, tie)) return true;
            found.has_more = true;
            return false;
        }

    private:
        std::uint64_t fragment_;
        std::uint64_t splits_;
        bool has_many_;
    };

    template <typename Visit, typename Filter>
    Walked step(const Head<Atomic>& head,
                WalkPlace& after,
                const Visit& visit,
                std::uint32_t wanted,
                const Filter& filter) const {
        const Positions positions(head.slots);
        if (positions.is_beyond(after.position)) return Walked::end;
        constexpr bool is_of_all = std::is_same_v<Filter, AllEntries>;
        Found found(wanted);
        for (;;) {
            const Bounds bounds = bounds_of(head, positions, after.position);
            StepEnd end = StepEnd::late;
            if (bounds.spot.first != nullptr) {
                if (is_of_all && (wanted != 1 || after.tie == 0)) prefetch_next(positions, bounds);
                end = collect(head, positions, bounds, after, found, filter);
                if (end == StepEnd::all) end = show(head, positions, bounds, after, found, visit);
            } else if (Growth<Atomic>::has_root(head, bounds.spot)) {
                end = StepEnd::damaged;
            }
            if (end == StepEnd::late || (end == StepEnd::all && found.has_more)) continue;
            ground_.forget(Participant<Atomic>::record);
            if (end == StepEnd::damaged) return Walked::damaged;
            if (end == StepEnd::stopped) return Walked::more;
            if (bounds.end == 0) return Walked::end;
            after = {bounds.end, 0};
            return Walked::more;
        }
    }

    // The first entries of a bucket behind a position, in order.
    struct Found {
        struct One {  // without initial values, because most are never written
            std::uint64_t hash;
            std::uint64_t splits;  // Positions::splits_of(hash)
            std::uint64_t tie;
            Atomic<std::uint64_t>* slot;
            std::uint64_t word;
        };

        std::uint32_t wanted;     // 1 .. collected_max
        bool has_equals = false;  // two entries share a position: compute the ties of all
        bool has_more = false;
        std::uint32_t count = 0;
        std::array<One, collected_max> ones;  // NOLINT: written as far as read

        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): `ones`
        explicit Found(std::uint32_t count_max) noexcept : wanted(count_max) {}

        void clear() noexcept {
            count = 0;
            has_more = false;
        }

        // Whether all that are wanted were found, and come before an entry of this position and tie.
        [[nodiscard]] bool is_full_before(std::uint64_t splits, std::uint64_t tie) const noexcept {
            if (count < wanted) return false;
            const One& last = ones[count - 1];
            return last.splits == splits && last.tie < tie;
        }

        // false: another entry has its position, and its tie is unknown.
        bool add(const One& one) noexcept {
            std::uint32_t at = count;
            for (; at > 0; --at) {
                const One& other = ones[at - 1];
                if (other.splits == one.splits) {
                    if (one.tie == WalkPlace::tie_of_all) return false;
                    if (other.tie < one.tie) break;
                } else if (Positions::is_before(other.splits, one.splits)) {
                    break;
                }
            }
            has_more = has_more || count == wanted;
            if (at == wanted) return true;
            count = std::min(count + 1, wanted);
            for (std::uint32_t i = count - 1; i > at; --i) ones[i] = ones[i - 1];
            ones[at] = one;
            return true;
        }
    };

    struct Bounds {
        Spot<Atomic> spot;  // first: nullptr if the words lead to no bucket that is in use
        BucketArray<Atomic>* array = nullptr;
        std::uint32_t level = 0;  // level of the array
        std::uint64_t end = 0;    // end of the bucket's range of positions
    };

    // late: the bucket or an entry has changed since it was read
    enum class StepEnd : std::uint8_t { all, stopped, late, damaged };

    [[nodiscard]] Bounds bounds_of(const Head<Atomic>& head,
                                   const Positions& positions,
                                   std::uint64_t position) const noexcept {
        const std::uint64_t word = head.root.load(std::memory_order_acquire);
        const Root root = Root::unpacked(word);
        const std::uint32_t level_last = root.is_growing() ? root.to : root.from;
        for (std::uint32_t level = root.from;; level = level_last) {
            auto* const array = Growth<Atomic>::array_in(ground_, head, level);
            if (array == nullptr) return {{word, nullptr}};
            auto* const first = &array->bucket(positions.bucket_at(position, level));
            const bool is_moved = Growth<Atomic>::is_moved(*first);
            if (is_moved && level != level_last) continue;
            // A bucket of the last level is migrated under a later root.
            return {{word, is_moved ? nullptr : first},
                    array,
                    level,
                    positions.end_of_bucket(position, level)};
        }
    }

    // Prefetches the records of the next bucket, and the bucket behind it. A hint: the array may be
    // retired.
    void prefetch_next(const Positions& positions, const Bounds& bounds) const noexcept {
        if (bounds.end == 0) return;
        const std::uint64_t next = positions.bucket_at(bounds.end, bounds.level);
        for (const auto& slot : bounds.array->bucket(next).slots) {
            const std::uint64_t word = slot.load(std::memory_order_relaxed);
            if (!slot::is_entry(word)) continue;
            const char* const record = ground_.address(slot::record_in(word));
            __builtin_prefetch(record);
            __builtin_prefetch(record + line_bytes);
        }
        const std::uint64_t behind = positions.end_of_bucket(bounds.end, bounds.level);
        __builtin_prefetch(&bounds.array->bucket(positions.bucket_at(behind, bounds.level)));
    }

    // late: also if two entries share a position.
    template <typename Filter>
    // NOLINTNEXTLINE(readability-function-cognitive-complexity): the states of a bucket
    StepEnd collect(const Head<Atomic>& head,
                    const Positions& positions,
                    const Bounds& bounds,
                    const WalkPlace& after,
                    Found& found,
                    const Filter& filter) const noexcept {
        found.clear();
        const std::uint64_t splits_after = positions.splits_at(after.position);
        const bool is_tied = after.tie != 0 && after.tie != WalkPlace::tie_of_all;
        CircleFinder circle;
        for (Bucket<Atomic>* bucket = bounds.spot.first; bucket != nullptr;) {
            for (auto& slot : bucket->slots) {
                const std::uint64_t word = slot.load(std::memory_order_acquire);
                if (!slot::is_entry(word) || !filter.is_candidate(word, after, found)) continue;
                std::uint64_t first = 0;
                const StepEnd named = name(head, bounds.spot, slot, word, first);
                if (named != StepEnd::all) return named;
                const std::uint64_t hash = claim::hash_in(first, slot::fragment_in(word));
                const std::uint64_t splits = positions.splits_of(hash);
                if (Positions::is_before(splits, splits_after)) continue;
                const bool is_at_after = splits == splits_after;
                const std::uint64_t tie = tie_of(head, slot::record_in(word),
                                                 found.has_equals || (is_at_after && is_tied));
                if (is_at_after && tie <= after.tie) continue;
                if (!found.add({hash, splits, tie, &slot, word})) {
                    found.has_equals = true;
                    return StepEnd::late;
                }
            }
            const BlockNumber next = link::next_in(bucket->link.load(std::memory_order_acquire));
            if (!Growth<Atomic>::is_current(head, bounds.spot)) return StepEnd::late;
            if (next == 0) return StepEnd::all;
            bucket = ground_.bucket_after(next, circle);
        }
        return StepEnd::damaged;
    }

    // Reads the key only if positions are equal.   number  of a record that is named
    std::uint64_t tie_of(const Head<Atomic>& head,
                         BlockNumber number,
                         bool has_equal) const noexcept {
        if (head.has_many_of_a_key()) return number;
        if (!has_equal) return WalkPlace::tie_of_all;
        if (!ground_.has_record(number)) return WalkPlace::tie_mask;
        auto& record = ground_.record(number);
        return tie_of_key(record.key(), record.key_bytes);
    }

    // Names the record of a slot in a hazard word, and reads its first word. all, late, damaged
    StepEnd name(const Head<Atomic>& head,
                 const Spot<Atomic>& spot,
                 const Atomic<std::uint64_t>& slot,
                 std::uint64_t word,
                 std::uint64_t& first) const noexcept {
        const BlockNumber number = slot::record_in(word);
        ground_.name(Participant<Atomic>::record, number);
        if (!is_same(head, spot, slot, word)) return StepEnd::late;
        if (!ground_.has_head(number)) return StepEnd::damaged;
        first = ground_.record(number).claim.load(std::memory_order_acquire);
        if (claim::mark_in(first) != claim::no_mark) [[likely]]
            return StepEnd::all;
        // A record is claimed after its slot has changed.
        return is_same(head, spot, slot, word) ? StepEnd::damaged : StepEnd::late;
    }

    [[nodiscard]] static bool is_same(const Head<Atomic>& head,
                                      const Spot<Atomic>& spot,
                                      const Atomic<std::uint64_t>& slot,
                                      std::uint64_t word) noexcept {
        // seq_cst, like the loads of is_current(): after the store of the hazard word; partner:
        // RetiredBlocks::scan
        const std::uint64_t again = slot.load(std::memory_order_seq_cst);
        return ((again ^ word) & ~slot::frozen) == 0 && Growth<Atomic>::is_current(head, spot);
    }

    template <typename Visit>
    StepEnd show(const Head<Atomic>& head,
                 const Positions& positions,
                 const Bounds& bounds,
                 WalkPlace& after,
                 const Found& found,
                 const Visit& visit) const {
        for (std::uint32_t i = 0; i < found.count; ++i) {
            const auto& one = found.ones[i];
            std::uint64_t first = 0;
            const StepEnd named = name(head, bounds.spot, *one.slot, one.word, first);
            if (named != StepEnd::all) return named;
            const BlockNumber number_of_record = slot::record_in(one.word);
            const WalkPlace place{positions.of(one.hash), one.tie};
            // else the record is in a bucket that is not its hash's, or longer than the heap
            const bool is_possible = after < place &&
                                     (bounds.end == 0 || place.position < bounds.end) &&
                                     ground_.has_record(number_of_record);
            if (!is_possible) return StepEnd::damaged;
            auto& record = ground_.record(number_of_record);
            VisitedEntry entry{place,
                               {number_of_record, claim::mark_in(first)},
                               record.key(),
                               record.key_bytes,
                               record.value_bytes,
                               record.value()};
            std::uint64_t number = 0;
            if (record.is_number()) {
                number = record.number().load(std::memory_order_acquire);
                entry.value = reinterpret_cast<const char*>(&number);
            }
            const Visited visited = visit(static_cast<const VisitedEntry&>(entry));
            if (visited == Visited::stop_before) return StepEnd::stopped;
            after = entry.place;
            if (visited == Visited::stop_here) return StepEnd::stopped;
        }
        return StepEnd::all;
    }

    const Ground<Atomic>& ground_;
    Growth<Atomic> growth_;
};

}  // namespace acp::table
