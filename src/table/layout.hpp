// SPDX-License-Identifier: BSD-3-Clause
// How a hash table lies in the blocks of one heap: its head, arrays of buckets, further buckets of long chains, and a record for each
// entry. Knows no operation.
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

// memcpy, without a call for 16 to 32 bytes: the first ones and the last, which may be some of the first.
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

// One line of the cache: the link to the next bucket of the chain, and the slots.
template <template <class> class Atomic>
struct Bucket {
    static constexpr std::uint32_t slots_max = 7;

    Atomic<std::uint64_t> link;
    std::array<Atomic<std::uint64_t>, slots_max> slots;

    // The slots that hold these bits of a hash, a bit each. An entry never moves to another slot of its bucket.
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

    // Not with the atomics of a test, and not where ThreadSanitizer takes such a load for a race.
#if defined(__SANITIZE_THREAD__)
    static constexpr bool may_compare_four = false;
#else
    static constexpr bool may_compare_four =
        std::is_same_v<Atomic<std::uint64_t>, std::atomic<std::uint64_t>>;
#endif

    // slots_where() of one half of each word, four at once: half as many instructions. Of a word that others change meanwhile the half is of
    // before or of afterwards, for it is aligned; whoever uses a slot reads its word again. What is read later is not read before.
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
        // A comparison gives ones, of which each slot keeps its bit. The first word is the link.
        const Four bits = (reinterpret_cast<Four>(first) & Four{0, 1, 2, 4}) |
                          (reinterpret_cast<Four>(last) & Four{8, 16, 32, 64});
        // Together before they leave the vector: a find has integer registers to save (see differing_ends).
        const Four pairs = bits | __builtin_shufflevector(bits, bits, 2, 3, 0, 1);
        return (pairs | __builtin_shufflevector(pairs, pairs, 1, 0, 3, 2))[0];
    }

    // All slots are looked at whichever is the one, since a processor that guesses where a loop ends guesses wrong for most keys.
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

// An entry: the value, so that it is aligned to 8 bytes, then the key. It does not change as long as it is in use, but for a value
// of 8 bytes, which is changed in place.
template <template <class> class Atomic>
struct EntryRecord {
    Atomic<std::uint64_t> claim;  // and the hash
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

    [[nodiscard]] char* value() noexcept { return reinterpret_cast<char*>(this) + head_bytes; }

    [[nodiscard]] Atomic<std::uint64_t>& number() noexcept {
        return *reinterpret_cast<Atomic<std::uint64_t>*>(value());
    }

    [[nodiscard]] char* key() noexcept { return value() + rounded(value_bytes); }

    [[nodiscard, gnu::always_inline]] bool has_key(const void* other,
                                                   std::uint32_t bytes) noexcept {
        return key_bytes == bytes && are_equal(key(), static_cast<const char*>(other), bytes);
    }

    [[nodiscard]] bool is_number() const noexcept { return value_bytes == sizeof(std::uint64_t); }

    // Copies the value, as much as there is room for: one of 8 bytes, which others may change, as a whole.
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

    // The bits in which the first words differ, or the last ones, which may be some of the first. In vectors where they are long: a processor
    // looks no further ahead than its integer registers reach, and the next find's bucket is to be fetched while this record is.
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

// The buckets of one level, behind this line.
template <template <class> class Atomic>
struct BucketArray {
    Atomic<std::uint64_t> claim;
    Atomic<std::uint64_t> given_out;  // buckets of the front that were given to somebody to move
    Atomic<std::uint64_t> moved;      // buckets of the front that were found moved
    Atomic<std::uint64_t> freed;      // buckets of the front whose chains were freed
    std::uint64_t buckets;

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t buckets) noexcept {
        return line_bytes * (1 + buckets);
    }

    [[nodiscard]] Bucket<Atomic>& bucket(std::uint64_t index) noexcept {
        return *reinterpret_cast<Bucket<Atomic>*>(reinterpret_cast<char*>(this) +
                                                  line_bytes * (1 + index));
    }
};

// What a table begins with; the table is named by this block. The array of level 0 follows, and is freed with it.
template <template <class> class Atomic>
struct Head {
    static constexpr std::uint32_t levels_max = 40;
    static constexpr std::uint32_t counters = 8;

    struct alignas(line_bytes) Counter {
        Atomic<std::uint64_t> entries;  // as counter:: says; only the sum of all tells something
    };

    alignas(line_bytes) Atomic<std::uint64_t> root;
    // mark_of() its block and its identity: a table begins here, and it was not destroyed. Before its first use: table/first_use.hpp.
    Atomic<std::uint64_t> mark;
    std::uint64_t slots;       // buckets of the first array
    std::uint64_t slots_mask;  // slots - 1 where that is a power of two, else 0
    std::uint64_t may_grow;    // 0 or 1
    std::uint64_t has_many;    // 0 or 1: of one key
    // Who makes the next array, plus 1: a hint that spares others to make it too.
    Atomic<std::uint64_t> grower;
    std::uint64_t id;  // the identity it is made with; that in the mark may be a later one
    alignas(line_bytes)
        std::array<Atomic<std::uint64_t>, levels_max> arrays;  // link::to(array); 0: not there yet
    std::array<Counter, counters> counted;
    alignas(line_bytes) Atomic<std::uint64_t> correction;  // of their sum: table/entry_count.hpp

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t slots) noexcept {
        return sizeof(Head) + BucketArray<Atomic>::bytes(slots);
    }

    // The most buckets of an array: so the bits that split last, of which index_of() knows nothing, never split.
    static constexpr std::uint64_t buckets_max = std::uint64_t{1} << (hash_bits - split_last_bits);

    [[nodiscard]] std::uint64_t buckets(std::uint32_t level) const noexcept {
        return slots << level;
    }

    // Tells a table from other bytes, and from a table of another identity that was made there later.
    [[nodiscard]] static constexpr std::uint64_t mark_of(BlockNumber table,
                                                         std::uint64_t id) noexcept {
        constexpr std::uint64_t table_mark = 0x7ab1e5ac9e0f1c3d;
        return table_mark ^ table ^ id;
    }

    // Whether a mark is that of a table made with this identity, whoever owns it now.
    [[nodiscard]] static constexpr bool is_mark_of(std::uint64_t mark,
                                                   BlockNumber table,
                                                   std::uint64_t id) noexcept {
        return ((mark ^ mark_of(table, id)) & ~identity::turns) == 0;
    }

    // The same of a table that a participant destroys.
    [[nodiscard]] static constexpr std::uint64_t mark_of_destroyed(
        BlockNumber table, std::uint32_t participant) noexcept {
        constexpr std::uint64_t destroyed_mark = 0xde57c0a3961f4b28;
        return destroyed_mark ^ table ^ std::uint64_t{participant + 1} << number_bits;
    }

    [[nodiscard]] bool has_many_of_a_key() const noexcept { return has_many != 0; }

    // Both return what the participant's counter was. release: the change that is counted; partner: EntryCount
    std::uint64_t count_insertions(std::uint32_t participant, std::uint64_t number) noexcept {
        return counter_of(participant)
            .fetch_add(counter::insertion * number, std::memory_order_release);
    }

    std::uint64_t count_erasure(std::uint32_t participant) noexcept {
        return counter_of(participant).fetch_add(counter::erasure, std::memory_order_release);
    }

    // The counter of a participant, which is a cache of the heap. Neither the threads of a process nor the first threads of all of them have the
    // same, as long as there are enough.
    [[nodiscard]] Atomic<std::uint64_t>& counter_of(std::uint32_t participant) noexcept {
        return counted[(participant + participant / heap::caches_per_process) % counters].entries;
    }

    // The bits of an index in the array of a level that growth has added. Only where `slots` is a power of two.
    [[nodiscard]] std::uint64_t splits_mask(std::uint32_t level) const noexcept {
        return (slots << level) - slots;
    }

    [[nodiscard]] std::uint64_t index_of(std::uint64_t hash, std::uint32_t level) const noexcept {
        if (slots_mask != 0 || slots == 1) [[likely]]
            return (hash & slots_mask) | (hash >> split_last_bits & splits_mask(level));
        return Positions(slots).bucket_of(hash & hash_mask, level);
    }
};

// What a directory of tables begins with; the rest is its user's. As a table's head it has its mark in the second word.
template <template <class> class Atomic>
struct DirectoryStart {
    Atomic<std::uint64_t> more;  // link::to() a block of this heap that is freed with it
    Atomic<std::uint64_t> mark;
    Atomic<std::uint64_t> more_too;  // as `more`

    static constexpr std::uint64_t mark_of_directories = 0xac9d17ec7042e5b3;
    // From the first use on until all tables that it leads to are in use too.
    static constexpr std::uint64_t mark_in_first_use = mark_of_directories ^ std::uint64_t{1} << 62;
};

static_assert(offsetof(DirectoryStart<std::atomic>, mark) == offsetof(Head<std::atomic>, mark));

// What each thread that uses the tables of a heap shows to others, in shared memory; zero at first.
template <template <class> class Atomic>
struct Participant {
    // What it reads or changes: whoever takes that out of use does not free it meanwhile.
    enum Hazard : std::uint32_t { record, from_array, to_array, hazards };

    alignas(line_bytes) std::array<Atomic<std::uint64_t>, hazards> hazard;  // block numbers
    Atomic<std::uint64_t> table;        // whose entries it changes: number of the table's head
    Atomic<std::uint64_t> table_id;     // and its identity, when the change began
    Atomic<std::uint64_t> record_made;  // a record that is no entry yet
    Atomic<std::uint64_t> block_made;   // a bucket, an array or a head that is not linked yet
    Atomic<std::uint64_t> block_place;  // offset of the word by which it is to be linked
    Atomic<std::uint64_t> unlinking;    // what it takes out of use
    Atomic<std::uint64_t> retired;      // the last of the blocks out of use that it has not freed
    Atomic<std::uint64_t> retired_count;
    Atomic<std::uint64_t> retired_bytes;  // since it last looked at what others name
    Atomic<std::uint64_t>
        adopting;  // whose retired blocks it takes over: number of that participant, plus 1
    Atomic<std::uint64_t> recoverer;  // who recovers it, plus 1
    Atomic<std::uint64_t> freeing;    // a block that it unlinks and frees (table/freeing.hpp)
    Atomic<std::uint64_t> chain;      // the word by which that is linked, of what others do not use

    // Whether it has made a block that may not be linked yet.
    [[nodiscard]] bool has_made(BlockNumber block) const noexcept {
        const auto is_in = [block](const Atomic<std::uint64_t>& word) {
            return made::block_in(word.load(std::memory_order_acquire)) == block;
        };
        return is_in(record_made) || is_in(block_made);
    }

    // Whether it shows nothing and holds nothing.
    [[nodiscard]] bool is_unused() const noexcept {
        std::uint64_t any = 0;
        for (const auto& word : hazard) any |= word.load(std::memory_order_acquire);
        for (const auto* word :
             {&record_made, &block_made, &unlinking, &retired, &adopting, &freeing}) {
            any |= word->load(std::memory_order_acquire);
        }
        return any == 0;
    }
};

// The participants of a heap.
template <template <class> class Atomic>
struct Participants {
    char* first = nullptr;
    std::uint32_t count = 0;

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t count) noexcept {
        return std::uint64_t{count} * sizeof(Participant<Atomic>);
    }

    [[nodiscard]] Participant<Atomic>& operator[](std::uint32_t number) const noexcept {
        return reinterpret_cast<Participant<Atomic>*>(first)[number];
    }
};

}  // namespace acp::table
