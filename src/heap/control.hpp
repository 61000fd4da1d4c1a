// SPDX-License-Identifier: BSD-3-Clause
// The words by which a heap is managed. They are separate from the blocks, where no program writes.
// Zero pages are an empty heap: setup costs nothing, and a word takes memory only once it is used.
// The processes of a node map them at different addresses. Any thread of any process.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "heap/size_classes.hpp"
#include "heap/unit_word.hpp"

namespace acp::heap {

// Units are searched by areas, a word of 64 bits each; memory is given back by whole areas.
inline constexpr std::uint32_t area_units = 64;
inline constexpr std::uint64_t area_bytes = area_units * unit_bytes;

inline constexpr std::uint32_t words_per_unit = unit_bytes / granule_bytes / 64;

// No two spans begin in the units of one bit.
[[nodiscard]] constexpr std::uint32_t units_per_room_bit_of(std::uint32_t areas) noexcept {
    return classes_of_heap(areas).units_min;
}

static_assert(std::has_single_bit(long_spans.units_min) &&
              std::has_single_bit(middle_spans.units_min) &&
              std::has_single_bit(short_spans.units_min));

// For each class the spans with several free blocks in one word, and those with fewer.
inline constexpr std::uint32_t room_lists = 2 * size_class_count;

struct HeapShape {
    std::uint32_t areas = 0;   // the heap's limit: 1 .. 2^26
    std::uint32_t caches = 0;  // 1 .. caches_max

    [[nodiscard]] constexpr std::uint32_t units() const noexcept { return areas * area_units; }
};

// The words that a cache publishes, so that survivors can finish its work if its process is killed.
template <template <class> class Atomic>
struct alignas(64) CacheRecord {
    Atomic<std::uint64_t>
        pending;  // offset + 1 of a block that its caller has not stored yet; 0: none
    Atomic<std::uint64_t>
        freed_to;  // head + 1 of the span to which the cache gave a block last; 0: none
    Atomic<std::uint64_t> is_at_work;  // 1: a call uses the cache (heap/at_work.hpp)
    Atomic<std::uint64_t> recoverer;   // cache number + 1 of the recovering cache; 0: none
};

template <template <class> class Atomic = std::atomic>
class Control {
public:
    using Word = Atomic<std::uint64_t>;

    //   memory  bytes(shape) of shared memory, zero at first, aligned to 64
    Control(char* memory, HeapShape shape) noexcept
        : shape_(shape),
          parts_(shape),
          sizes_(classes_of_heap(shape.areas).classes),
          room_shift_(
              static_cast<std::uint32_t>(std::countr_zero(units_per_room_bit_of(shape.areas)))) {
        counts_ = at(memory, 0);
        used_ = at(memory, parts_.used);
        busy_ = at(memory, parts_.busy);
        backed_ = at(memory, parts_.backed);
        held_ = at(memory, parts_.held);
        held_areas_ = at(memory, parts_.held_areas);
        units_ = at(memory, parts_.units);
        blocks_ = at(memory, parts_.blocks);
        room_ = at(memory, parts_.room);
        summary_ = at(memory, parts_.summary);
        caches_ = reinterpret_cast<CacheRecord<Atomic>*>(memory + parts_.caches);
    }

    [[nodiscard]] static constexpr std::uint64_t bytes(HeapShape shape) noexcept {
        return Parts(shape).end;
    }

    [[nodiscard]] HeapShape shape() const noexcept { return shape_; }

    // A class of small blocks, and the spans of it in this heap.
    [[nodiscard]] const SizeClass& size(std::uint32_t size_class) const noexcept {
        return sizes_[size_class];
    }

    [[nodiscard]] std::uint32_t units_per_room_bit() const noexcept { return 1U << room_shift_; }

    // The bit of the room index for a span.
    [[nodiscard]] std::uint32_t room_place(std::uint32_t head) const noexcept {
        return head >> room_shift_;
    }

    // A UnitWord.
    [[nodiscard]] Word& unit(std::uint32_t unit) const noexcept { return units_[unit]; }

    // Whether units are in use, a bit each: 1 where they may be. Finds free ones fast; the unit's
    // word decides.
    [[nodiscard]] Word& used(std::uint32_t area) const noexcept { return used_[area]; }

    // Whether an area has used units, a bit each: 1 where it may have. A search for a run of whole
    // areas reads these alone.
    [[nodiscard]] Word& busy(std::uint32_t word) const noexcept { return busy_[word]; }

    // Whether areas have memory, a bit each.
    [[nodiscard]] Word& backed(std::uint32_t word) const noexcept { return backed_[word]; }

    // Whether a cache may hold the span that begins with a unit, a bit each: a hint for thieves.
    [[nodiscard]] Word& held(std::uint32_t area) const noexcept { return held_[area]; }

    // Whether an area has such units, a bit each: 1 where it may have.
    [[nodiscard]] Word& held_areas(std::uint32_t word) const noexcept { return held_areas_[word]; }

    // Whether no unit of the area is in use, being claimed or being given up, also not by a killed
    // process.
    [[nodiscard]] bool is_untouched(std::uint32_t area) const noexcept {
        // The bit of `backed` is set after that of `used` and before a unit is claimed; it is
        // cleared while all bits of `used` are set.
        const std::uint64_t backed_bits = backed(area / 64).load(std::memory_order_acquire);
        return (backed_bits >> (area % 64) & 1) == 0 &&
               used(area).load(std::memory_order_acquire) == 0;
    }

    // The number of areas that have memory and no used unit; approximate, because a process may be
    // killed while it counts.
    [[nodiscard]] Word& idle_areas() const noexcept { return counts_[0]; }

    // 1 while IdleMemory gives an area back, whose units are then in use. Writer: the node's gateway.
    [[nodiscard]] Word& is_giving_back() const noexcept { return counts_[1]; }

    // The time before which IdleMemory gives nothing back. Writers: threads that find no room.
    [[nodiscard]] Word& give_back_not_before() const noexcept { return counts_[2]; }

    // The blocks of the span that begins with this unit, a bit each: 1 where they are free. The
    // first of its words.
    [[nodiscard]] Word* blocks(std::uint32_t head) const noexcept {
        return blocks_ + std::size_t{head} * words_per_unit;
    }

    // The spans in a list of the room index that have room, a bit for
    // units_per_room_bit(); and which of those words are not zero, a bit each.
    //   list  < room_lists
    [[nodiscard]] Word& room(std::uint32_t list, std::uint32_t word) const noexcept {
        return room_[std::size_t{list} * parts_.room_words + word];
    }

    [[nodiscard]] Word& room_summary(std::uint32_t list, std::uint32_t word) const noexcept {
        return summary_[std::size_t{list} * parts_.summary_words + word];
    }

    [[nodiscard]] std::uint32_t summary_words() const noexcept { return parts_.summary_words; }

    [[nodiscard]] CacheRecord<Atomic>& cache(CacheNumber number) const noexcept {
        return caches_[number];
    }

    // Ends the pending state of a cache's last block. release: the caller's writes to the block;
    // partner: is_pending()
    void keep(CacheNumber number) const noexcept { keep(cache(number)); }

    static void keep(CacheRecord<Atomic>& record) noexcept {
        record.pending.store(0, std::memory_order_release);
    }

    // Whether a block is pending: the last one that a cache allocated, and not kept yet.
    [[nodiscard]] bool is_pending(std::uint64_t block) const noexcept {
        for (CacheNumber number = 0; number < shape_.caches; ++number) {
            if (cache(number).pending.load(std::memory_order_acquire) == block + 1) return true;
        }
        return false;
    }

private:
    // The offset of each part, in bytes.
    struct Parts {
        std::uint32_t room_words;     // per class
        std::uint32_t summary_words;  // per class
        std::uint64_t used;
        std::uint64_t busy;
        std::uint64_t backed;
        std::uint64_t held;
        std::uint64_t held_areas;
        std::uint64_t units;
        std::uint64_t blocks;
        std::uint64_t room;
        std::uint64_t summary;
        std::uint64_t caches;
        std::uint64_t end;

        explicit constexpr Parts(HeapShape shape) noexcept
            : room_words((shape.units() / units_per_room_bit_of(shape.areas) + 63) / 64),
              summary_words((room_words + 63) / 64),
              used(behind(0, 3)),
              busy(behind(used, shape.areas)),
              backed(behind(busy, (shape.areas + 63) / 64)),
              held(behind(backed, (shape.areas + 63) / 64)),
              held_areas(behind(held, shape.areas)),
              units(behind(held_areas, (shape.areas + 63) / 64)),
              blocks(behind(units, shape.units())),
              room(behind(blocks, std::uint64_t{shape.units()} * words_per_unit)),
              summary(behind(room, std::uint64_t{room_lists} * room_words)),
              caches(behind(summary, std::uint64_t{room_lists} * summary_words)),
              end(caches + std::uint64_t{shape.caches} * sizeof(CacheRecord<Atomic>)) {}

        // The end of `words` words, rounded up to a cache line.
        static constexpr std::uint64_t behind(std::uint64_t start, std::uint64_t words) noexcept {
            return (start + words * sizeof(Word) + 63) / 64 * 64;
        }
    };

    [[nodiscard]] static Word* at(char* memory, std::uint64_t offset) noexcept {
        return reinterpret_cast<Word*>(memory + offset);
    }

    HeapShape shape_;
    Parts parts_;
    const SizeClass* sizes_;
    std::uint32_t room_shift_;
    Word* counts_;
    Word* used_;
    Word* busy_;
    Word* backed_;
    Word* held_;
    Word* held_areas_;
    Word* units_;
    Word* blocks_;
    Word* room_;
    Word* summary_;
    CacheRecord<Atomic>* caches_;
};

}  // namespace acp::heap
