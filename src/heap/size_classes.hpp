// SPDX-License-Identifier: BSD-3-Clause
// The sizes of small blocks. A request is rounded up to the next class; the classes are 16 bytes
// apart up to 128 and then eight to each doubling, so that at most an eighth of a block is unused.
// Blocks of one class lie side by side in a span of whole units. Larger blocks are runs of units of
// their own. Constants; any thread.
// Tests: tests/unit/heap/size_classes_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace acp::heap {

inline constexpr std::uint32_t unit_shift = 14;
inline constexpr std::uint64_t unit_bytes = std::uint64_t{1} << unit_shift;

inline constexpr std::uint64_t granule_bytes = 16;  // every block begins at a multiple of it
inline constexpr std::uint64_t small_max = 32768;   // larger blocks are runs of units

// The lengths of spans. One allocated block of a class takes a whole span, so a small heap has
// short spans; a span that its blocks do not fill is made longer, if the heap has room for spans of
// many lengths.
struct SpanLengths {
    std::uint32_t units_min;
    std::uint32_t units_max;
    std::uint32_t blocks_wanted;
    std::uint64_t bytes_gained;  // least reduction of unused bytes per further unit
};

inline constexpr SpanLengths long_spans{4, 16, 8, 1024};
inline constexpr SpanLengths middle_spans{1, 8, 2, 1024};
inline constexpr SpanLengths short_spans{1, 4, 2, unit_bytes};
inline constexpr std::uint32_t areas_of_small_heap =
    16;  // limit of a small heap, in areas of 1 MiB
inline constexpr std::uint32_t areas_of_middle_heap = 256;
inline constexpr std::uint32_t span_units_max = long_spans.units_max;

struct SizeClass {
    std::uint32_t block_bytes = 0;
    std::uint32_t span_units = 0;
    std::uint32_t blocks = 0;      // per span
    std::uint32_t words = 0;       // 64-bit words per span, one bit for each block
    std::uint32_t room = 0;        // free blocks in one word from which on a span is worth taking
    std::uint64_t reciprocal = 0;  // 2^40 / block_bytes, rounded up

    // Which block begins `distance` bytes behind the start of its span; `blocks` or more: none.
    [[nodiscard]] constexpr std::uint32_t block_at(std::uint64_t distance) const noexcept {
        const auto block = static_cast<std::uint32_t>((distance * reciprocal) >> 40);
        return std::uint64_t{block} * block_bytes == distance ? block : ~0U;
    }

    // A word of the span in which every block is free.
    [[nodiscard]] constexpr std::uint64_t full_word(std::uint32_t word) const noexcept {
        const std::uint32_t bits = std::min(blocks - word * 64, 64U);
        return ~std::uint64_t{0} >> (64 - bits);
    }
};

inline constexpr std::uint32_t size_class_count = 72;

namespace detail {

// The units of a span: the fewest that suffice, or more if that leaves a smaller unused share.
constexpr std::uint32_t span_units_for(std::uint64_t bytes, const SpanLengths& lengths) noexcept {
    const std::uint64_t wanted = (bytes * lengths.blocks_wanted + unit_bytes - 1) >> unit_shift;
    std::uint64_t best = std::clamp<std::uint64_t>(wanted, lengths.units_min, lengths.units_max);
    const auto unused = [bytes](std::uint64_t units) { return units * unit_bytes % bytes; };
    for (std::uint64_t units = best + 1; units <= lengths.units_max; ++units) {
        const std::uint64_t gained = (units - best) * lengths.bytes_gained;
        if ((unused(units) + gained) * best < unused(best) * units) best = units;
    }
    return static_cast<std::uint32_t>(best);
}

constexpr std::array<SizeClass, size_class_count> make_size_classes(SpanLengths lengths) noexcept {
    std::array<SizeClass, size_class_count> classes{};
    std::uint64_t bytes = granule_bytes;
    for (SizeClass& each : classes) {
        each.block_bytes = static_cast<std::uint32_t>(bytes);
        each.span_units = span_units_for(bytes, lengths);
        each.blocks = static_cast<std::uint32_t>((each.span_units * unit_bytes) / bytes);
        each.words = (each.blocks + 63) / 64;
        each.room = std::max(std::min(each.blocks, 64U) / 16, 1U);
        each.reciprocal = ((std::uint64_t{1} << 40) + bytes - 1) / bytes;
        bytes += bytes < 128 ? granule_bytes : std::bit_floor(bytes) / 8;
    }
    return classes;
}

}  // namespace detail

// These differ in their spans, but not in their blocks.
inline constexpr auto size_classes = detail::make_size_classes(long_spans);
inline constexpr auto size_classes_of_middle_heap = detail::make_size_classes(middle_spans);
inline constexpr auto size_classes_of_small_heap = detail::make_size_classes(short_spans);

// The classes of a heap, and the fewest units of a span there.
struct HeapClasses {
    const SizeClass* classes;
    std::uint32_t units_min;
};

[[nodiscard]] constexpr HeapClasses classes_of_heap(std::uint32_t areas) noexcept {
    if (areas <= areas_of_small_heap)
        return {size_classes_of_small_heap.data(), short_spans.units_min};
    if (areas <= areas_of_middle_heap)
        return {size_classes_of_middle_heap.data(), middle_spans.units_min};
    return {size_classes.data(), long_spans.units_min};
}

static_assert(size_classes.back().block_bytes == small_max);

namespace detail {

constexpr std::array<std::uint8_t, small_max / granule_bytes + 1>
make_classes_of_granules() noexcept {
    std::array<std::uint8_t, small_max / granule_bytes + 1> table{};
    std::uint8_t which = 0;
    for (std::uint64_t i = 0; i < table.size(); ++i) {
        while (size_classes[which].block_bytes < i * granule_bytes) ++which;
        table[i] = which;
    }
    return table;
}

inline constexpr auto classes_of_granules = make_classes_of_granules();

}  // namespace detail

// The class of a request.   bytes <= small_max
[[nodiscard]] constexpr std::uint32_t class_of(std::uint64_t bytes) noexcept {
    return detail::classes_of_granules[(bytes + granule_bytes - 1) / granule_bytes];
}

}  // namespace acp::heap
