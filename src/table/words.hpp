// SPDX-License-Identifier: BSD-3-Clause
// What the 64-bit words of a hash table hold: slots, links between buckets, the root, and the first words of records and arrays.
// Zero is an empty slot of the first array, no link, and no block: blocks are named by their number, which begins with 1.
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

// The bits of a key's hash that count.
inline constexpr std::uint32_t hash_bits = 48;
inline constexpr std::uint64_t hash_mask = (std::uint64_t{1} << hash_bits) - 1;

// A slot names a record and holds some bits of its key's hash, so that most records of other keys need not be read.
namespace slot {
inline constexpr std::uint64_t empty =
    0;  // never used; in the first array and while a bucket is filled alone
inline constexpr std::uint64_t occupied = 1;  // else there is no record
inline constexpr std::uint64_t tentative =
    2;  // of an insertion that is not decided: no entry yet, and anybody may empty it
inline constexpr std::uint64_t frozen = 4;  // its bucket is being moved: it changes no more
inline constexpr std::uint64_t emptied =
    8;  // used before, or never to be filled by who moves a bucket

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

// A bucket's first word: what follows it in its chain, and how far it has been moved.
namespace link {
inline constexpr std::uint64_t made = 1;    // the bucket is filled; never zero again
inline constexpr std::uint64_t frozen = 2;  // nothing is linked to it any more
inline constexpr std::uint64_t moved =
    4;  // of a chain's first bucket: all its entries are in the next array
inline constexpr std::uint64_t bits = made | frozen | moved;
inline constexpr std::uint32_t number_shift = 16;

[[nodiscard]] constexpr BlockNumber next_in(std::uint64_t word) noexcept {
    return word >> number_shift;
}

[[nodiscard]] constexpr std::uint64_t to(BlockNumber bucket) noexcept {
    return bucket << number_shift;
}
}  // namespace link

// Which arrays are in use. The array of level n has slots * 2^n buckets. Entries are in that of level `from`, or, where their
// bucket was moved, in that of level `to`. No root comes twice.
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
};

// The first word of a record and of an array. Who takes it out of use claims it, once; the hash then gives way to the number of
// the block that was taken out of use before it, which nobody frees yet either.
namespace claim {
inline constexpr std::uint32_t claimer_shift = 48;
inline constexpr std::uint64_t claimer_mask = 0x7fff;
inline constexpr std::uint64_t is_array = std::uint64_t{1} << 63;

// 0: nobody; else the number of a participant, plus 1.
[[nodiscard]] constexpr std::uint32_t claimer_in(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> claimer_shift & claimer_mask);
}

[[nodiscard]] constexpr std::uint64_t by(std::uint32_t participant,
                                         BlockNumber before,
                                         std::uint64_t word) noexcept {
    return (word & is_array) | std::uint64_t{participant + 1} << claimer_shift | before;
}

[[nodiscard]] constexpr std::uint64_t hash_in(std::uint64_t word) noexcept {
    return word & hash_mask;
}

[[nodiscard]] constexpr BlockNumber before_in(std::uint64_t word) noexcept {
    return word & number_mask;
}
}  // namespace claim

inline constexpr std::uint64_t no_process = ~std::uint64_t{0};

// The identity by which a table knows whose it is. When its owner gives it away it gets the next one, so that a call by the earlier one is
// refused. All are alike but for some bits: one that gives a table away late, long after others have done so, changes nothing.
namespace identity {
inline constexpr std::uint64_t turns = (std::uint64_t{1} << 24) - 1;

[[nodiscard]] constexpr std::uint64_t after(std::uint64_t id) noexcept {
    return (id & ~turns) | ((id + 1) & turns);
}

[[nodiscard]] constexpr std::uint64_t before(std::uint64_t id) noexcept {
    return (id & ~turns) | ((id - 1) & turns);
}
}  // namespace identity

// In what the mark of a container that nobody has used yet differs from its later one: the process that made it.
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

// What a participant takes out of use: a record or an array; or a table or a directory, with all that it has.
namespace unlinking {
inline constexpr std::uint64_t is_ended = std::uint64_t{1} << 61;  // a record whose count it ends
inline constexpr std::uint64_t is_whole = std::uint64_t{1} << 63;
inline constexpr std::uint64_t is_directory = std::uint64_t{1} << 62;

[[nodiscard]] constexpr std::uint64_t of_ended(BlockNumber record) noexcept {
    return record | is_ended;
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

// Where the word is that leads to what a participant is about to free: its offset, which is a multiple of 8, and whether it is a slot or
// a link.
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

// What the word there leads to.
[[nodiscard]] constexpr BlockNumber next_in(std::uint64_t word, std::uint64_t there) noexcept {
    if ((word & is_slot) == 0) return link::next_in(there);
    return slot::is_entry(there) ? slot::record_in(there) : 0;
}
}  // namespace chain

// What a counter of entries holds: how many more were inserted than erased by those who count there, or fewer, and above that how often
// they have counted, so that no two moments between which somebody did look alike.
namespace counter {
inline constexpr std::uint32_t entries_bits = number_bits + 1;
inline constexpr std::uint64_t entries_mask = (std::uint64_t{1} << entries_bits) - 1;
inline constexpr std::uint64_t insertion = entries_mask + 2;
inline constexpr std::uint64_t erasure = entries_mask;

// How many entries a sum of counters stands for.
[[nodiscard]] constexpr std::uint64_t entries_in(std::uint64_t sum) noexcept {
    const std::uint64_t entries = sum & entries_mask;
    return entries >> number_bits != 0 ? 0
                                       : entries;  // less than none, while somebody changes them
}
}  // namespace counter

// What is to be added to all counters of a table, since somebody was killed between changing an entry and counting that; whether it is not
// known yet; and above that how often it became unknown.
namespace correction {
inline constexpr std::uint64_t unknown = std::uint64_t{1} << counter::entries_bits;

[[nodiscard]] constexpr std::uint64_t made_unknown(std::uint64_t word) noexcept {
    return (word | unknown) + 2 * unknown;
}

//   entries, sum  how many there are, and what the counters say
[[nodiscard]] constexpr std::uint64_t made_known(std::uint64_t word,
                                                 std::uint64_t entries,
                                                 std::uint64_t sum) noexcept {
    return (word & ~(unknown | counter::entries_mask)) | ((entries - sum) & counter::entries_mask);
}
}  // namespace correction

// A block that a participant has made and not linked yet.
namespace made {
inline constexpr std::uint64_t filled = 1;

[[nodiscard]] constexpr std::uint64_t of(BlockNumber block) noexcept {
    return block << 1;
}

[[nodiscard]] constexpr BlockNumber block_in(std::uint64_t word) noexcept {
    return word >> 1;
}
}  // namespace made

}  // namespace acp::table
