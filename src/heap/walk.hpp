// SPDX-License-Identifier: BSD-3-Clause
// Walks over all units of a heap: measures the use, and checks the consistency of the heap's words.
// A walk concurrent with threads that allocate and free sees each unit at some moment; its figures
// are then approximate, and a finding may be an intermediate state: one that several walks find is a
// contradiction. A walk may stop and continue later, also in the middle of a long block. Reads only;
// any thread of any process. Time: about 1 ms for each 100,000 units in use.
// Tests: tests/unit/heap/heap_test.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "heap/control.hpp"
#include "heap/size_classes.hpp"
#include "heap/unit_word.hpp"

namespace acp::heap {

struct Usage {
    Usage& operator+=(const Usage& other) noexcept {
        blocks += other.blocks;
        block_bytes += other.block_bytes;
        unit_bytes += other.unit_bytes;
        limit_bytes += other.limit_bytes;
        backed_bytes += other.backed_bytes;
        return *this;
    }

    std::uint64_t blocks = 0;       // allocated
    std::uint64_t block_bytes = 0;  // their bytes, rounded up as the heap does
    std::uint64_t unit_bytes = 0;   // bytes of the units that are not free
    std::uint64_t limit_bytes = 0;
    std::uint64_t backed_bytes = 0;  // bytes of the areas that have memory, or may have
};

// Where a walk continues. Any values: a walk checks them.
struct HeapPlace {
    static constexpr std::uint32_t no_head = ~0U;

    std::uint32_t unit = 0;        // the next unit
    std::uint32_t head = no_head;  // of the large block whose parts the walk was visiting
};

namespace detail {

// One walk. Calls found(unit, what) for each contradiction.
template <template <class> class Atomic, typename Found>
class Walk {
public:
    Walk(const Control<Atomic>& control, const Found& found) : control_(control), found_(found) {}

    // Visits the whole heap.
    Usage run() {
        HeapPlace all;
        while (!run_piece(all, ~0U)) {
        }
        return usage_;
    }

    // Visits the next units: about `words_most`, each a word or two. Adds them to usage(). true: the
    // end of the heap was reached.
    bool run_piece(HeapPlace& place, std::uint32_t words_most) {
        const std::uint32_t units = control_.shape().units();
        words_left_ = words_most;
        std::uint32_t unit = std::min(place.unit, units);
        head_ = HeapPlace::no_head;
        if (unit < units && place.head < unit) unit += visit_rest(place.head, unit);
        while (unit < units && words_left_ != 0) {
            const bool is_skipped =
                unit % area_units == 0 && control_.is_untouched(unit / area_units);
            spend(1);
            unit += is_skipped ? area_units : visit(unit);
        }
        place = {unit, head_};
        if (unit < units) return false;
        add_areas();
        return true;
    }

    [[nodiscard]] const Usage& usage() const noexcept { return usage_; }

private:
    void spend(std::uint32_t words) noexcept { words_left_ -= std::min(words, words_left_); }

    void add_areas() {
        const HeapShape shape = control_.shape();
        usage_.limit_bytes = std::uint64_t{shape.areas} * area_bytes;
        for (std::uint32_t i = 0; i < (shape.areas + 63) / 64; ++i) {
            const std::uint64_t backed = control_.backed(i).load(std::memory_order_relaxed);
            usage_.backed_bytes += static_cast<std::uint64_t>(std::popcount(backed)) * area_bytes;
        }
    }

    // Returns how many units it has visited.
    std::uint32_t visit(std::uint32_t unit) {
        const std::uint64_t raw = control_.unit(unit).load(std::memory_order_acquire);
        if (raw == 0) return 1;
        const UnitWord word = UnitWord::unpacked(raw);
        usage_.unit_bytes += unit_bytes;
        note_use(unit);
        if (word.packed() != raw || word.holder > control_.shape().caches ||
            (word.size_class >= size_class_count && word.size_class != no_size_class)) {
            found_(unit, "its word is no word of a heap");
            return 1;
        }
        switch (word.state) {
            case UnitState::span:
                return visit_span(unit, word);
            case UnitState::large:
                return visit_large(unit, word);
            case UnitState::opening:
            case UnitState::freeing:
                return visit_changing(unit, word);
            case UnitState::span_part:
            case UnitState::large_part:
                found_(unit, "it is a part, but no head lies before it");
                return 1;
            default:
                if (word.state == UnitState::free)
                    found_(unit, "it is free, but its word is not zero");
                return 1;
        }
    }

    std::uint32_t visit_span(std::uint32_t head, const UnitWord& word) {
        if (word.size_class >= size_class_count) {
            found_(head, "its span has no size class");
            return 1;
        }
        const SizeClass& size = control_.size(word.size_class);
        if (word.units != size.span_units || !fits(head, word.units)) {
            found_(head, "its span is not as long as one of its class");
            return 1;
        }
        for (std::uint32_t i = 1; i < word.units; ++i) {
            const UnitWord expected{UnitState::span_part, word.size_class, i, 0, 0};
            visit_part(head + i, expected);
        }
        std::uint32_t free = 0;
        for (std::uint32_t i = 0; i < size.words; ++i) {
            const std::uint64_t bits = control_.blocks(head)[i].load(std::memory_order_acquire);
            if ((bits & ~size.full_word(i)) != 0) {
                found_(head, "its span has free blocks behind its last one");
            }
            free += static_cast<std::uint32_t>(std::popcount(bits & size.full_word(i)));
        }
        spend(word.units + size.words);
        usage_.blocks += size.blocks - free;
        usage_.block_bytes += std::uint64_t{size.blocks - free} * size.block_bytes;
        return word.units;
    }

    std::uint32_t visit_large(std::uint32_t head, const UnitWord& word) {
        if (word.units == 0 || !fits(head, word.units)) {
            found_(head, "its large block ends behind the end of the heap");
            return 1;
        }
        ++usage_.blocks;
        usage_.block_bytes += std::uint64_t{word.units} * unit_bytes;
        return 1 + visit_large_parts(head, head + 1, head + word.units);
    }

    // Visits parts of a large block. Returns how many.
    std::uint32_t visit_large_parts(std::uint32_t head, std::uint32_t first, std::uint32_t end) {
        std::uint32_t unit = first;
        for (; unit < end && words_left_ != 0; ++unit) {
            visit_part(unit, {UnitState::large_part, 0, 0, 0, 0});
            spend(1);
        }
        head_ = unit < end ? head : HeapPlace::no_head;
        return unit - first;
    }

    // Visits the rest of a large block. Returns how many units. If the block is no longer there, the
    // walk skips the parts of another large block that begin with this unit.
    std::uint32_t visit_rest(std::uint32_t head, std::uint32_t unit) {
        const UnitWord word =
            UnitWord::unpacked(control_.unit(head).load(std::memory_order_acquire));
        const bool is_there =
            word.state == UnitState::large && fits(head, word.units) && word.units > unit - head;
        if (is_there) return visit_large_parts(head, unit, head + word.units);
        const UnitWord part{UnitState::large_part, 0, 0, 0, 0};
        std::uint32_t skipped = 0;
        while (unit + skipped < control_.shape().units() && words_left_ != 0 &&
               control_.unit(unit + skipped).load(std::memory_order_acquire) == part.packed()) {
            usage_.unit_bytes += unit_bytes;
            spend(1);
            ++skipped;
        }
        head_ = words_left_ == 0 ? head : HeapPlace::no_head;
        return skipped;
    }

    // A run whose holder writes its parts or frees them: each unit behind the head may be claimed,
    // a part, or free. A stopped holder leaves it so.
    std::uint32_t visit_changing(std::uint32_t head, const UnitWord& word) {
        if (word.units == 0 || !fits(head, word.units)) {
            found_(head, "its run, which is being made or freed, ends behind the end of the heap");
            return 1;
        }
        usage_.unit_bytes += std::uint64_t{word.units - 1} * unit_bytes;
        return word.units;
    }

    void visit_part(std::uint32_t unit, const UnitWord& expected) {
        usage_.unit_bytes += unit_bytes;
        note_use(unit);
        if (control_.unit(unit).load(std::memory_order_acquire) != expected.packed()) {
            found_(unit, "it is not the part that the head before it says it is");
        }
    }

    void note_use(std::uint32_t unit) {
        const std::uint64_t used = control_.used(unit / area_units).load(std::memory_order_acquire);
        if ((used >> (unit % area_units) & 1) == 0) {
            found_(unit, "it is in use, but its bit says that it is free");
        }
    }

    [[nodiscard]] bool fits(std::uint32_t head, std::uint32_t units) const noexcept {
        return units <= control_.shape().units() - head;
    }

    const Control<Atomic>& control_;
    const Found& found_;
    Usage usage_;
    std::uint32_t words_left_ = 0;
    std::uint32_t head_ = HeapPlace::no_head;  // the large block that ends behind the piece
};

}  // namespace detail

template <template <class> class Atomic>
[[nodiscard]] Usage usage_of(const Control<Atomic>& control) {
    const auto ignore = [](std::uint32_t, const char*) {};
    return detail::Walk<Atomic, decltype(ignore)>(control, ignore).run();
}

// The most words that a piece of a walk reads, and a span more: less than 0.1 ms.
inline constexpr std::uint32_t piece_words_most = 4'096;

// The part of the usage in the next units. The usage of the heap is the sum of those of all pieces.
//   place  set to the place where the next piece begins; at the end of the heap its unit is the
//          number of all units
template <template <class> class Atomic>
[[nodiscard]] Usage usage_of_piece(const Control<Atomic>& control, HeapPlace& place) {
    const auto ignore = [](std::uint32_t, const char*) {};
    detail::Walk<Atomic, decltype(ignore)> walk(control, ignore);
    (void)walk.run_piece(place, piece_words_most);
    return walk.usage();
}

// The most areas whose bits bytes_in_use() reads.
inline constexpr std::uint32_t sampled_areas_max = 1'024;

// The approximate bytes of the units in use. In a heap of more areas the function reads a sample:
// groups of 8 areas at equal distances, whose bits fill a cache line each.
template <template <class> class Atomic>
[[nodiscard]] std::uint64_t bytes_in_use(const Control<Atomic>& control) noexcept {
    constexpr std::uint32_t group = 8;
    const std::uint32_t areas = control.shape().areas;
    constexpr std::uint32_t groups_max = sampled_areas_max / group;
    const std::uint32_t apart =
        areas <= sampled_areas_max ? group : (areas + groups_max - 1) / groups_max;
    std::uint64_t units = 0;
    std::uint64_t sampled = 0;
    for (std::uint32_t first = 0; first < areas; first += apart) {
        for (std::uint32_t area = first; area < std::min(first + group, areas); ++area) {
            units += static_cast<std::uint64_t>(
                std::popcount(control.used(area).load(std::memory_order_relaxed)));
            ++sampled;
        }
    }
    return units * areas / sampled * unit_bytes;
}

inline constexpr std::size_t findings_max = 20;

// A finding, as a sentence.
[[nodiscard]] inline std::string finding_text(std::uint32_t unit, const char* what) {
    return "unit " + std::to_string(unit) + " (offset " +
           std::to_string(std::uint64_t{unit} << unit_shift) + "): " + what;
}

// The contradictions in the heap, a sentence each, findings_max at most; empty: none.
template <template <class> class Atomic>
[[nodiscard]] std::vector<std::string> findings_of(const Control<Atomic>& control) {
    std::vector<std::string> findings;
    const auto note = [&](std::uint32_t unit, const char* what) {
        if (findings.size() < findings_max) findings.push_back(finding_text(unit, what));
    };
    (void)detail::Walk<Atomic, decltype(note)>(control, note).run();
    return findings;
}

// The first contradiction in the next units; unit HeapPlace::no_head: none.
struct UnitFinding {
    std::uint32_t unit = HeapPlace::no_head;
    const char* what = "";
};

//   place  see usage_of_piece()
template <template <class> class Atomic>
[[nodiscard]] UnitFinding finding_in_piece(const Control<Atomic>& control, HeapPlace& place) {
    UnitFinding first;
    const auto note = [&first](std::uint32_t unit, const char* what) {
        if (first.unit == HeapPlace::no_head) first = {unit, what};
    };
    (void)detail::Walk<Atomic, decltype(note)>(control, note).run_piece(place, piece_words_most);
    return first;
}

}  // namespace acp::heap
