// SPDX-License-Identifier: BSD-3-Clause
// How a hash table lies in the blocks of one heap: its head, arrays of buckets, further buckets of
// long chains, and a record for each entry. Knows no operation.
// Tests: tests/unit/table/table_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "heap/cache_places.hpp"
#include "heap/offset.hpp"

#include "table/position.hpp"
#include "table/words.hpp"

namespace acp::table {

inline constexpr std::uint32_t line_bytes = 64;

// memcpy, without a call for 16 to 32 bytes: copies the first 16 and the last 16, which may
// overlap.
[[gnu::always_inline]] inline void copy_bytes(void* to,
                                              const void* from,
                                              std::size_t bytes) noexcept {
    constexpr std::size_t half_bytes = 16;
    if (bytes >= half_bytes && bytes <= 2 * half_bytes) [[likely]] {
        std::array<char, half_bytes> first{};
        std::array<char, half_bytes> last{};
        const std::size_t rest = bytes - half_bytes;
        std::memcpy(first.data(), from, half_bytes);
        std::memcpy(last.data(), static_cast<const char*>(from) + rest, half_bytes);
        std::memcpy(to, first.data(), half_bytes);
        std::memcpy(static_cast<char*>(to) + rest, last.data(), half_bytes);
    } else if (bytes != 0) {
        std::memcpy(to, from, bytes);
    }
}

// One cache line: the link to the next bucket of the chain, and the slots.
template <template <class> class Atomic>
struct Bucket {
    static constexpr std::uint32_t slots_max = 7;

    Atomic<std::uint64_t> link;
    std::array<Atomic<std::uint64_t>, slots_max> slots;

    // The slots with this fragment of a hash, as a mask of one bit each. An entry never moves to
    // another slot of its bucket.
    [[nodiscard, gnu::always_inline]] std::uint32_t slots_like(
        std::uint64_t fragment, std::memory_order order) const noexcept {
        if constexpr (may_compare_four) {
            if (order != std::memory_order_seq_cst) {
                constexpr std::uint32_t shift = slot::fragment_shift - 32;
                const Four wanted = Four{} + static_cast<std::uint32_t>(fragment);
                return halves_where<1>([&](Four upper) { return (upper >> shift) == wanted; });
            }
        }
        const std::uint64_t wanted = fragment << slot::fragment_shift;
        constexpr std::uint64_t rest = std::uint64_t{1} << slot::fragment_shift;
        return slots_where(order, [wanted](std::uint64_t word) { return (word ^ wanted) < rest; });
    }

    // The slots into which a record may be put.
    [[nodiscard, gnu::always_inline]] std::uint32_t free_slots(
        std::memory_order order) const noexcept {
        if constexpr (may_compare_four) {
            constexpr auto bits = static_cast<std::uint32_t>(slot::occupied | slot::frozen);
            return halves_where<0>([&](Four lower) { return (lower & bits) == 0; });
        }
        return slots_where(order, [](std::uint64_t word) { return slot::is_free(word); });
    }

private:
    using Four [[gnu::vector_size(16)]] = std::uint32_t;

    // Disabled with the atomics of a test, and under ThreadSanitizer, which reports such a load as
    // a race.
#if defined(__SANITIZE_THREAD__)
    static constexpr bool may_compare_four = false;
#else
    static constexpr bool may_compare_four =
        std::is_same_v<Atomic<std::uint64_t>, std::atomic<std::uint64_t>>;
#endif

    // slots_where() on one half of each word, four words at once: half as many instructions. Loads
    // are aligned, so a half is from before or after a concurrent write, never torn; a caller that
    // uses a slot loads its whole word again. Acquire: later loads are not earlier.
    //   half  0: the lower one, 1: the upper one
    template <int half, typename Is>
    [[nodiscard, gnu::always_inline]] std::uint32_t halves_where(const Is& is) const noexcept {
        std::array<Four, 4> words{};
        std::memcpy(words.data(), __builtin_assume_aligned(this, sizeof(Four)), sizeof words);
        std::atomic_thread_fence(std::memory_order_acquire);
        const auto first =
            is(__builtin_shufflevector(words[0], words[1], half, half + 2, half + 4, half + 6));
        const auto last =
            is(__builtin_shufflevector(words[2], words[3], half, half + 2, half + 4, half + 6));
        // A comparison yields all ones, of which each slot keeps its own bit. The first word is the
        // link.
        const Four bits = (reinterpret_cast<Four>(first) & Four{0, 1, 2, 4}) |
                          (reinterpret_cast<Four>(last) & Four{8, 16, 32, 64});
        // Combined before it leaves the vector: a lookup is short of integer registers (see
        // differing_ends).
        const Four pairs = bits | __builtin_shufflevector(bits, bits, 2, 3, 0, 1);
        return (pairs | __builtin_shufflevector(pairs, pairs, 1, 0, 3, 2))[0];
    }

    // Tests all slots without an early exit, since a branch predictor guesses the end of such a
    // loop wrong for most keys.
    template <typename Is>
    [[nodiscard, gnu::always_inline]] std::uint32_t slots_where(std::memory_order order,
                                                                const Is& is) const noexcept {
        std::uint32_t found = 0;
#pragma GCC unroll 7
        for (std::uint32_t i = 1; i <= slots_max; ++i) {
            found += found + static_cast<std::uint32_t>(is(slots[slots_max - i].load(order)));
        }
        return found;
    }
};

// An entry: the value, so that it is aligned to 8 bytes, then the key. Immutable while the record
// is linked, except a value of 8 bytes, which is changed in place.
template <template <class> class Atomic>
struct EntryRecord {
    // hash and mark, or claimer and list link of a retired record: see claim::
    Atomic<std::uint64_t> claim;
    std::uint32_t key_bytes;
    std::uint32_t value_bytes;

    static constexpr std::uint64_t head_bytes = 16;

    [[nodiscard]] static constexpr std::uint64_t rounded(std::uint64_t bytes) noexcept {
        return (bytes + 7) & ~std::uint64_t{7};
    }

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t key_bytes,
                                                       std::uint32_t value_bytes) noexcept {
        return head_bytes + rounded(value_bytes) + key_bytes;
    }

    [[nodiscard]] std::uint64_t mark() const noexcept {
        return claim::mark_in(claim.load(std::memory_order_relaxed));
    }

    [[nodiscard]] char* value() noexcept { return reinterpret_cast<char*>(this) + head_bytes; }

    [[nodiscard]] Atomic<std::uint64_t>& number() noexcept {
        return *reinterpret_cast<Atomic<std::uint64_t>*>(value());
    }

    [[nodiscard]] char* key() noexcept { return value() + rounded(value_bytes); }

    //   end  of the heap: a key beyond it, by overwritten lengths, is none
    [[nodiscard, gnu::always_inline]] bool has_key(const void* other,
                                                   std::uint32_t bytes,
                                                   const char* end) noexcept {
        return key_bytes == bytes && key() + bytes <= end &&
               are_equal(key(), static_cast<const char*>(other), bytes);
    }

    [[nodiscard]] bool is_number() const noexcept { return value_bytes == sizeof(std::uint64_t); }

    // Copies the value, at most `room` bytes. Loads a value of 8 bytes, which writers may change,
    // as a whole.
    [[gnu::always_inline]] void copy_value(void* to, std::size_t room) const noexcept {
        const char* const from = reinterpret_cast<const char*>(this) + head_bytes;
        if (!is_number()) [[likely]]
            return copy_bytes(to, from, room < value_bytes ? room : value_bytes);
        const std::uint64_t word =
            reinterpret_cast<const Atomic<std::uint64_t>*>(from)->load(std::memory_order_acquire);
        copy_bytes(to, &word, room < sizeof word ? room : sizeof word);
    }

private:
    // memcmp, without a call for a key of 8 to 32 bytes.
    [[nodiscard, gnu::always_inline]] static bool are_equal(const char* key,
                                                            const char* other,
                                                            std::uint32_t bytes) noexcept {
        using Two [[gnu::vector_size(16)]] = std::uint64_t;
        if (bytes >= sizeof(Two) && bytes <= 2 * sizeof(Two)) [[likely]] {
            const Two any = differing_ends<Two>(key, other, bytes);
            return (any | __builtin_shufflevector(any, any, 1, 0))[0] == 0;
        }
        if (bytes >= sizeof(std::uint64_t) && bytes < sizeof(Two))
            return differing_ends<std::uint64_t>(key, other, bytes) == 0;
        return std::memcmp(key, other, bytes) == 0;
    }

    // The bits in which the first words differ, or the last ones, which may overlap. Long words are
    // vectors: a processor looks ahead no further than its integer registers reach, and is to fetch
    // the next lookup's bucket while it fetches this record.
    template <typename Word>
    [[nodiscard, gnu::always_inline]] static Word differing_ends(const char* key,
                                                                 const char* other,
                                                                 std::uint32_t bytes) noexcept {
        const auto differing = [&](std::size_t at) {
            Word word{};
            Word other_word{};
            std::memcpy(&word, key + at, sizeof word);
            std::memcpy(&other_word, other + at, sizeof word);
            return word ^ other_word;
        };
        return differing(0) | differing(bytes - sizeof(Word));
    }
};

// Names an entry for a later call: the block of its record, and the record's mark, which no later
// record in this block has.
struct RecordName {
    BlockNumber block = 0;  // 0: none
    std::uint64_t mark = claim::no_mark;

    [[nodiscard]] bool operator==(const RecordName&) const = default;
};

// The buckets of one level; they follow this cache line.
template <template <class> class Atomic>
struct BucketArray {
    Atomic<std::uint64_t> claim;
    Atomic<std::uint64_t> given_out;  // buckets handed out to helpers, from the front
    // buckets from the front that were seen migrated
    Atomic<std::uint64_t> moved;
    // buckets from the front whose chains were freed, of an array that is retired or of a table that
    // is being destroyed. All of them before the array is ready: it has no chains then
    Atomic<std::uint64_t> freed;
    std::uint64_t buckets;
    // Only for table/next_array.hpp: parts that threads have taken to clear, parts that are clear,
    // and the table's entries when the array was made.
    Atomic<std::uint64_t> parts_taken;
    Atomic<std::uint64_t> parts_clear;
    std::uint64_t entries_at_begin;

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t buckets) noexcept {
        return line_bytes * (1 + buckets);
    }

    [[nodiscard]] Bucket<Atomic>& bucket(std::uint64_t index) noexcept {
        return *reinterpret_cast<Bucket<Atomic>*>(reinterpret_cast<char*>(this) +
                                                  line_bytes * (1 + index));
    }
};

// The start of a table; its block's number names the table. The array of level 0 follows in the
// same block, and is freed with it.
template <template <class> class Atomic>
struct Head {
    static constexpr std::uint32_t levels_max = 40;
    static constexpr std::uint64_t slots_max = std::uint64_t{1} << 32;
    static constexpr std::uint32_t counters = 8;

    struct alignas(line_bytes) Counter {
        Atomic<std::uint64_t> entries;  // see counter::; only the sum of all is meaningful
    };

    alignas(line_bytes) Atomic<std::uint64_t> root;
    // mark_of() its block and its identity: a table begins here, and it was not destroyed. An
    // unused one has another mark: table/first_use.hpp.
    Atomic<std::uint64_t> mark;
    std::uint64_t slots;       // buckets of the first array
    std::uint64_t slots_mask;  // slots - 1 where that is a power of two, else 0
    std::uint64_t may_grow;    // 0 or 1
    std::uint64_t has_many;    // 0 or 1: a key may have several entries
    // Of a table that is being destroyed: the next one in Participant::destroying, or 0.
    Atomic<std::uint64_t> next_destroyed;
    // the identity at its creation; the mark may have a later one
    std::uint64_t id;
    alignas(line_bytes)
        // link::to(array), with link::made once it is ready; 0: not there yet
        std::array<Atomic<std::uint64_t>, levels_max> arrays;
    std::array<Counter, counters> counted;
    // added to the sum of the counters: table/entry_count.hpp
    alignas(line_bytes) Atomic<std::uint64_t> correction;

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t slots) noexcept {
        return sizeof(Head) + BucketArray<Atomic>::bytes(slots);
    }

    // The most buckets of an array: below it the bits that split last, which index_of() ignores,
    // never split.
    static constexpr std::uint64_t buckets_max = std::uint64_t{1} << (hash_bits - split_last_bits);

    [[nodiscard]] std::uint64_t buckets(std::uint32_t level) const noexcept {
        return slots << level;
    }

    // The array of a level, ready or not; 0: there is none.
    [[nodiscard]] BlockNumber array(std::uint32_t level) const noexcept {
        if (level >= levels_max) return 0;
        return link::next_in(arrays[level].load(std::memory_order_acquire));
    }

    // How many entries were counted; exact only while no thread changes the table.
    [[nodiscard]] std::uint64_t entries() const noexcept {
        std::uint64_t sum = correction.load(std::memory_order_relaxed);
        for (const auto& counter : counted) sum += counter.entries.load(std::memory_order_relaxed);
        return counter::entries_in(sum);
    }

    // Whether these two words can be those of a table.
    [[nodiscard]] bool has_slots() const noexcept {
        return slots - 1 < slots_max && slots_mask == mask_of(slots);
    }

    [[nodiscard]] static constexpr std::uint64_t mask_of(std::uint64_t slots) noexcept {
        return (slots & (slots - 1)) == 0 ? slots - 1 : 0;
    }

    // Whether growth can reach a level. If an array is said to be of another one, the program has
    // overwritten these words.
    [[nodiscard]] bool may_have(std::uint32_t level) const noexcept {
        return level < levels_max && has_slots() && buckets(level) < 2 * buckets_max;
    }

    // Distinguishes a table from other bytes, and from a table of another identity that was made
    // there later.
    [[nodiscard]] static constexpr std::uint64_t mark_of(BlockNumber table,
                                                         std::uint64_t id) noexcept {
        constexpr std::uint64_t table_mark = 0x7ab1e5ac9e0f1c3d;
        return table_mark ^ table ^ id;
    }

    // Whether a mark is that of a table made with this identity, whatever its owner is now.
    [[nodiscard]] static constexpr bool is_mark_of(std::uint64_t mark,
                                                   BlockNumber table,
                                                   std::uint64_t id) noexcept {
        return ((mark ^ mark_of(table, id)) & ~identity::turns) == 0;
    }

    // The mark of a table that a participant destroys.
    [[nodiscard]] static constexpr std::uint64_t mark_of_destroyed(
        BlockNumber table, std::uint32_t participant) noexcept {
        constexpr std::uint64_t destroyed_mark = 0xde57c0a3961f4b28;
        return destroyed_mark ^ table ^ std::uint64_t{participant + 1} << number_bits;
    }

    [[nodiscard]] bool has_many_of_a_key() const noexcept { return has_many != 0; }

    // Both return the participant's counter from before. release: the change that is counted;
    // partner: EntryCount
    std::uint64_t count_insertions(std::uint32_t participant, std::uint64_t number) noexcept {
        return counter_of(participant)
            .fetch_add(counter::insertion * number, std::memory_order_release);
    }

    std::uint64_t count_erasure(std::uint32_t participant) noexcept {
        return counter_of(participant).fetch_add(counter::erasure, std::memory_order_release);
    }

    // The counter of a participant, which is a thread cache of the heap. The threads of one process
    // have different counters, and so have the first threads of all processes, as long as there are
    // enough.
    [[nodiscard]] Atomic<std::uint64_t>& counter_of(std::uint32_t participant) noexcept {
        return counted[(participant + participant / heap::caches_per_process) % counters].entries;
    }

    // The bits of a bucket index in the array of a level that growth has added. Only if `slots` is
    // a power of two.
    [[nodiscard]] std::uint64_t splits_mask(std::uint32_t level) const noexcept {
        return (slots << level) - slots;
    }

    //   level  less than levels_max
    [[nodiscard]] std::uint64_t index_of(std::uint64_t hash, std::uint32_t level) const noexcept {
        if (slots_mask != 0 || slots == 1) [[likely]]
            return (hash & slots_mask) | (hash >> split_last_bits & splits_mask(level));
        if (!has_slots()) return 2 * buckets_max;  // beyond all buckets
        return Positions(slots).bucket_of(hash & hash_mask, level);
    }
};

// The start of a directory of tables; the rest of the block belongs to its user. Its mark is in the
// second word, as in a table's head.
template <template <class> class Atomic>
struct DirectoryStart {
    Atomic<std::uint64_t> more;  // link::to() a block of this heap that is freed with it
    Atomic<std::uint64_t> mark;
    Atomic<std::uint64_t> more_too;  // a second such link
    Atomic<std::uint64_t> lock;      // a third one: see operations::LockOfContainer

    static constexpr std::uint64_t mark_of_directories = 0xac9d17ec7042e5b3;
    // From its first use on until all tables that it leads to are in use as well.
    static constexpr std::uint64_t mark_in_first_use = mark_of_directories ^ std::uint64_t{1} << 62;
};

static_assert(offsetof(DirectoryStart<std::atomic>, mark) == offsetof(Head<std::atomic>, mark));

// Where a thread has last found a free slot in a long chain of a table whose keys may have several
// entries: table/vacancy.hpp. Valid while the table has the same root.
struct ChainHint {
    std::uint64_t root;    // Root::none: the other fields are being written
    std::uint64_t table;   // identity of the table
    std::uint64_t first;   // place of the chain's first bucket
    BlockNumber bucket;    // of the free slot: the buckets before it were full
    std::uint32_t length;  // of the chain, when all of it was searched last
    std::uint32_t passed;  // by how many buckets the hint has moved since
};

// The words that each thread using the tables of a heap publishes in shared memory; zero at first.
// Only the thread writes them, and after its death the one that recovers it.
template <template <class> class Atomic>
struct Participant {
    static constexpr std::uint64_t marks_at_once = 1024;

    // Hazard words: blocks that the thread reads or changes. A reclaimer does not free a block that
    // they name.
    enum Hazard : std::uint32_t { record, from_array, to_array, next_array, hazards };

    alignas(line_bytes) std::array<Atomic<std::uint64_t>, hazards> hazard;  // block numbers
    // the table that it changes: number of the table's head
    Atomic<std::uint64_t> table;
    // the identity of that table when the change began
    Atomic<std::uint64_t> table_id;
    Atomic<std::uint64_t> record_made;  // a record that is not linked yet
    Atomic<std::uint64_t> block_made;   // a bucket, an array or a head that is not linked yet
    // offset of the word that is to link it
    Atomic<std::uint64_t> block_place;
    // the block that it retires or destroys: see unlinking::
    Atomic<std::uint64_t> unlinking;
    // the last block that it has retired and not freed
    Atomic<std::uint64_t> retired;
    Atomic<std::uint64_t> retired_count;
    Atomic<std::uint64_t> retired_bytes;  // retired since its last scan
    Atomic<std::uint64_t> recoverer;      // the participant that recovers it, plus 1
    Atomic<std::uint64_t> freeing;        // a block that it unlinks and frees (table/freeing.hpp)
    // the word that links that block, if it is a chain that no other thread uses: see chain::
    Atomic<std::uint64_t> chain;
    // the first of a list of tables that it is destroying, piece by piece (table/destruction.hpp)
    Atomic<std::uint64_t> destroying;
    // the next mark that it gives to a record, unless that is a multiple of marks_at_once; no other
    // thread reads it
    std::uint64_t mark;
    // in a heap's first participant: how many marks all participants have taken; any thread writes it
    Atomic<std::uint64_t> marks_taken;
    ChainHint hint;  // no other thread reads it

    // Whether it has made a block that may not be linked yet.
    [[nodiscard]] bool has_made(BlockNumber block) const noexcept {
        const auto is_in = [block](const Atomic<std::uint64_t>& word) {
            return made::block_in(word.load(std::memory_order_acquire)) == block;
        };
        return is_in(record_made) || is_in(block_made);
    }

    // Whether it publishes nothing and holds nothing.
    [[nodiscard]] bool is_unused() const noexcept {
        std::uint64_t any = 0;
        for (const auto& word : hazard) any |= word.load(std::memory_order_acquire);
        for (const auto* word :
             {&record_made, &block_made, &unlinking, &retired, &freeing, &destroying}) {
            any |= word->load(std::memory_order_acquire);
        }
        return any == 0;
    }
};

template <template <class> class Atomic>
using Participants = ParticipantArray<Participant<Atomic>>;

}  // namespace acp::table
