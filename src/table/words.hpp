// SPDX-License-Identifier: BSD-3-Clause
// The 64-bit words of a hash table: slots, links between buckets, the root, and the first words of
// records and arrays. Zero is an empty slot of the first array, no link, and no block: block
// numbers begin with 1.
// Tests: tests/unit/table/table_test.cpp.
#pragma once

#include <cstdint>

#include "heap/offset.hpp"
#include "heap/size_classes.hpp"

namespace acp::table {

// A block of the heap in 36 bits: its offset in granules, plus 1. 0: none.
using BlockNumber = std::uint64_t;

inline constexpr std::uint32_t number_bits = 36;
inline constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
inline constexpr std::uint64_t heap_bytes_max = number_mask * heap::granule_bytes;

[[nodiscard]] constexpr BlockNumber number_of(heap::Offset block) noexcept {
    return block / heap::granule_bytes + 1;
}

[[nodiscard]] constexpr heap::Offset offset_of(BlockNumber number) noexcept {
    return (number - 1) * heap::granule_bytes;
}

// Whether a block of this number and length lies within a heap of this size.
[[nodiscard]] constexpr bool is_within(std::uint64_t heap_bytes,
                                       BlockNumber block,
                                       std::uint64_t bytes) noexcept {
    return bytes <= heap_bytes && block - 1 <= (heap_bytes - bytes) / heap::granule_bytes;
}

// Number of bits of a key's hash that are used.
inline constexpr std::uint32_t hash_bits = 48;
inline constexpr std::uint64_t hash_mask = (std::uint64_t{1} << hash_bits) - 1;

// A slot names a record and holds a fragment of its key's hash, so that most records of other keys
// need not be read.
namespace slot {
// never used; only in the first array and in buckets that are being filled
inline constexpr std::uint64_t empty = 0;
inline constexpr std::uint64_t occupied = 1;  // else there is no record
// an undecided insertion: no entry yet, and any thread may empty the slot
inline constexpr std::uint64_t tentative = 2;
// its bucket is being migrated: it never changes again
inline constexpr std::uint64_t frozen = 4;
// used before, or left empty for ever by a migration
inline constexpr std::uint64_t emptied = 8;

inline constexpr std::uint32_t number_shift = 4;
inline constexpr std::uint32_t fragment_shift = 40;
inline constexpr std::uint32_t fragment_at = 24;  // the lowest bit of the hash that a slot holds
inline constexpr std::uint32_t fragment_bits = 24;

[[nodiscard]] constexpr std::uint64_t fragment_of(std::uint64_t hash) noexcept {
    return (hash >> fragment_at) & ((std::uint64_t{1} << fragment_bits) - 1);
}

[[nodiscard]] constexpr std::uint64_t of(std::uint64_t hash, BlockNumber record) noexcept {
    return fragment_of(hash) << fragment_shift | record << number_shift | occupied;
}

[[nodiscard]] constexpr BlockNumber record_in(std::uint64_t word) noexcept {
    return (word >> number_shift) & number_mask;
}

[[nodiscard]] constexpr std::uint64_t fragment_in(std::uint64_t word) noexcept {
    return word >> fragment_shift;
}

[[nodiscard]] constexpr bool is_entry(std::uint64_t word) noexcept {
    return (word & (occupied | tentative)) == occupied;
}

// Whether a record may be put there.
[[nodiscard]] constexpr bool is_free(std::uint64_t word) noexcept {
    return (word & (occupied | frozen)) == 0;
}
}  // namespace slot

// A bucket's first word: the next bucket of its chain, and the state of its migration.
namespace link {
inline constexpr std::uint64_t made = 1;    // the bucket is filled; never zero again
inline constexpr std::uint64_t frozen = 2;  // no bucket is linked to it after this
// in a chain's first bucket: all its entries are in the next array
inline constexpr std::uint64_t moved = 4;
inline constexpr std::uint64_t bits = made | frozen | moved;
inline constexpr std::uint32_t number_shift = 16;

[[nodiscard]] constexpr BlockNumber next_in(std::uint64_t word) noexcept {
    return word >> number_shift;
}

[[nodiscard]] constexpr std::uint64_t to(BlockNumber bucket) noexcept {
    return bucket << number_shift;
}
}  // namespace link

// The arrays in use. The array of level n has slots * 2^n buckets. Entries are in the array of
// level `from`, or, if their bucket was migrated, in that of level `to`. No root value recurs.
struct Root {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t epoch = 0;

    [[nodiscard]] static constexpr Root unpacked(std::uint64_t word) noexcept {
        return {static_cast<std::uint32_t>(word & 0xff),
                static_cast<std::uint32_t>(word >> 8 & 0xff), word >> 16};
    }

    [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
        return std::uint64_t{from} | std::uint64_t{to} << 8 | epoch << 16;
    }

    [[nodiscard]] constexpr bool is_growing() const noexcept { return from != to; }

    // no root is this: a table never has 256 levels
    static constexpr std::uint64_t none = ~std::uint64_t{0};
};

// The first word of a record and of an array. A record's has the bits of its key's hash that its
// slot does not hold, and the record's mark (Ground::new_mark): no later record in the same memory
// has that mark. The thread that retires the block claims it, exactly once; hash and mark are then
// overwritten by the number of the block that the same participant retired before it, which is not
// freed yet either.
namespace claim {
inline constexpr std::uint64_t hash_mask_here = (std::uint64_t{1} << slot::fragment_at) - 1;
inline constexpr std::uint32_t mark_shift = slot::fragment_at;
inline constexpr std::uint32_t mark_bits = 38;
inline constexpr std::uint64_t mark_mask = (std::uint64_t{1} << mark_bits) - 1;
inline constexpr std::uint64_t no_mark = 0;  // no record has it

inline constexpr std::uint32_t claimer_shift = number_bits;
inline constexpr std::uint64_t claimer_mask = 0x7fff;
inline constexpr std::uint64_t is_claimed = std::uint64_t{1} << 62;
inline constexpr std::uint64_t is_array = std::uint64_t{1} << 63;

static_assert(slot::fragment_at + slot::fragment_bits == hash_bits);
static_assert(std::uint64_t{1} << (mark_shift + mark_bits) == is_claimed);

// The word of a record in use.   mark  at most mark_mask
[[nodiscard]] constexpr std::uint64_t of(std::uint64_t hash, std::uint64_t mark) noexcept {
    return (hash & hash_mask_here) | mark << mark_shift;
}

// 0: none; else the number of a participant, plus 1.
[[nodiscard]] constexpr std::uint32_t claimer_in(std::uint64_t word) noexcept {
    return (word & is_claimed) == 0
               ? 0
               : static_cast<std::uint32_t>(word >> claimer_shift & claimer_mask);
}

[[nodiscard]] constexpr std::uint64_t by(std::uint32_t participant,
                                         BlockNumber before,
                                         std::uint64_t word) noexcept {
    return (word & is_array) | is_claimed | std::uint64_t{participant + 1} << claimer_shift |
           before;
}

// The hash of the key of a record that is not claimed.   fragment  of the hash, from the record's slot
[[nodiscard]] constexpr std::uint64_t hash_in(std::uint64_t word, std::uint64_t fragment) noexcept {
    return (word & hash_mask_here) | fragment << slot::fragment_at;
}

// The mark of a record; no_mark: it is claimed.
[[nodiscard]] constexpr std::uint64_t mark_in(std::uint64_t word) noexcept {
    return (word & (is_claimed | is_array)) != 0 ? no_mark : word >> mark_shift;
}

[[nodiscard]] constexpr BlockNumber before_in(std::uint64_t word) noexcept {
    return word & number_mask;
}
}  // namespace claim

// The participants of a heap in its tables, its lists or its sequences.
template <typename One>
struct ParticipantArray {
    char* first = nullptr;
    std::uint32_t count = 0;

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t count) noexcept {
        return std::uint64_t{count} * sizeof(One);
    }

    [[nodiscard]] One& operator[](std::uint32_t number) const noexcept {
        return reinterpret_cast<One*>(first)[number];
    }
};

inline constexpr std::uint64_t no_process = ~std::uint64_t{0};

// The identity of a table, by which it knows its owner. When the owner gives it away the table gets
// the next identity, so that a call with the earlier one is refused. Only the `turns` bits differ:
// a delayed call that gives a table away, after others have done so, changes nothing.
namespace identity {
inline constexpr std::uint64_t turns = (std::uint64_t{1} << 24) - 1;

[[nodiscard]] constexpr std::uint64_t after(std::uint64_t id) noexcept {
    return (id & ~turns) | ((id + 1) & turns);
}

[[nodiscard]] constexpr std::uint64_t before(std::uint64_t id) noexcept {
    return (id & ~turns) | ((id - 1) & turns);
}
}  // namespace identity

// The difference between the mark of an unused container and its later mark: it encodes the process
// that made it.
namespace unused {
inline constexpr std::uint64_t flag = std::uint64_t{1} << 63;
inline constexpr std::uint64_t maker_mask = (std::uint64_t{1} << 25) - 1;

//   maker  < heap::Loans<>::processes_max
[[nodiscard]] constexpr std::uint64_t of(std::uint64_t maker) noexcept {
    return flag | (maker + 1) << number_bits;
}

[[nodiscard]] constexpr std::uint32_t maker_in(std::uint64_t difference) noexcept {
    return static_cast<std::uint32_t>((difference >> number_bits & maker_mask) - 1);
}

[[nodiscard]] constexpr bool is_of(std::uint64_t difference) noexcept {
    const std::uint64_t maker = difference & maker_mask << number_bits;
    return maker != 0 && difference == (flag | maker);
}
}  // namespace unused

// The block that a participant retires, or begins to destroy: a record, with the fragment of its
// key's hash if it may still be linked, or an array; or a table or a directory, with all its blocks.
namespace unlinking {
inline constexpr std::uint32_t fragment_shift = number_bits;
inline constexpr std::uint64_t is_ended = std::uint64_t{1} << 61;  // a record whose count it ends
inline constexpr std::uint64_t is_whole = std::uint64_t{1} << 63;
inline constexpr std::uint64_t is_directory = std::uint64_t{1} << 62;

static_assert(std::uint64_t{1} << (fragment_shift + slot::fragment_bits) <= is_ended);

// The record that a slot names.
[[nodiscard]] constexpr std::uint64_t of_slot(std::uint64_t word) noexcept {
    return slot::record_in(word) | slot::fragment_in(word) << fragment_shift;
}

[[nodiscard]] constexpr std::uint64_t fragment_in(std::uint64_t word) noexcept {
    return word >> fragment_shift & ((std::uint64_t{1} << slot::fragment_bits) - 1);
}

[[nodiscard]] constexpr std::uint64_t of_table(BlockNumber table) noexcept {
    return table | is_whole;
}

[[nodiscard]] constexpr std::uint64_t of_directory(BlockNumber directory) noexcept {
    return directory | is_whole | is_directory;
}

[[nodiscard]] constexpr BlockNumber block_in(std::uint64_t word) noexcept {
    return word & number_mask;
}
}  // namespace unlinking

// The word that links the block that a participant is about to free: its offset, a multiple of 8,
// and whether it is a slot or a link.
namespace chain {
inline constexpr std::uint64_t is_slot = 1;

[[nodiscard]] constexpr std::uint64_t of_slot(std::uint64_t place) noexcept {
    return place | is_slot;
}

[[nodiscard]] constexpr std::uint64_t of_link(std::uint64_t place) noexcept {
    return place;
}

[[nodiscard]] constexpr std::uint64_t place_in(std::uint64_t word) noexcept {
    return word & ~is_slot;
}

// The block that the word at that place links.
[[nodiscard]] constexpr BlockNumber next_in(std::uint64_t word, std::uint64_t there) noexcept {
    if ((word & is_slot) == 0) return link::next_in(there);
    return slot::is_entry(there) ? slot::record_in(there) : 0;
}
}  // namespace chain

// A counter of entries: insertions minus erasures by the participants that share it, and above that
// the number of its updates, so that it never has the same value twice between two reads.
namespace counter {
inline constexpr std::uint32_t entries_bits = number_bits + 1;
inline constexpr std::uint64_t entries_mask = (std::uint64_t{1} << entries_bits) - 1;
inline constexpr std::uint64_t insertion = entries_mask + 2;
inline constexpr std::uint64_t erasure = entries_mask;

// The number of entries for a sum of counters.
[[nodiscard]] constexpr std::uint64_t entries_in(std::uint64_t sum) noexcept {
    const std::uint64_t entries = sum & entries_mask;
    // below zero while threads change the table
    return entries >> number_bits != 0 ? 0 : entries;
}
}  // namespace counter

// Added to the sum of a table's counters, since a participant was killed between the change of an
// entry and its counting. The flag `unknown`: the value is not known yet. Above it: how often it
// became unknown.
namespace correction {
inline constexpr std::uint64_t unknown = std::uint64_t{1} << counter::entries_bits;

[[nodiscard]] constexpr std::uint64_t made_unknown(std::uint64_t word) noexcept {
    return (word | unknown) + 2 * unknown;
}

//   entries, sum  the number of entries, and the sum of the counters
[[nodiscard]] constexpr std::uint64_t made_known(std::uint64_t word,
                                                 std::uint64_t entries,
                                                 std::uint64_t sum) noexcept {
    return (word & ~(unknown | counter::entries_mask)) | ((entries - sum) & counter::entries_mask);
}
}  // namespace correction

// A block that a participant has made and not linked yet; for a filled record also the fragment of
// its key's hash.
namespace made {
inline constexpr std::uint64_t filled = 1;
// an array of a table that grows, filled: another thread may replace it once it is linked
inline constexpr std::uint64_t is_array = std::uint64_t{2} << number_bits;
inline constexpr std::uint32_t fragment_shift = slot::fragment_shift;

static_assert(is_array < std::uint64_t{1} << fragment_shift);

[[nodiscard]] constexpr std::uint64_t of(BlockNumber block) noexcept {
    return block << 1;
}

[[nodiscard]] constexpr std::uint64_t of_record(BlockNumber record, std::uint64_t hash) noexcept {
    return of(record) | filled | slot::fragment_of(hash) << fragment_shift;
}

[[nodiscard]] constexpr BlockNumber block_in(std::uint64_t word) noexcept {
    return word >> 1 & number_mask;
}

[[nodiscard]] constexpr std::uint64_t fragment_in(std::uint64_t word) noexcept {
    return word >> fragment_shift;
}
}  // namespace made

}  // namespace acp::table
