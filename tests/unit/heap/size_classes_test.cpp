// SPDX-License-Identifier: BSD-3-Clause
// Size classes: each request fits, little is wasted, and the arithmetic by reciprocals is exact.
#include "heap/size_classes.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace acp::heap {
namespace {

std::vector<SizeClass> all_classes() {
    std::vector<SizeClass> all(size_classes.begin(), size_classes.end());
    for (const auto* more : {&size_classes_of_middle_heap, &size_classes_of_small_heap})
        all.insert(all.end(), more->begin(), more->end());
    return all;
}

TEST(SizeClasses, hold_each_request_and_waste_an_eighth_at_most) {
    for (std::uint64_t bytes = 1; bytes <= small_max; ++bytes) {
        const std::uint32_t which = class_of(bytes);
        ASSERT_GE(size_classes[which].block_bytes, bytes);
        if (which != 0) {
            ASSERT_LT(size_classes[which - 1].block_bytes, bytes);
        }
        if (bytes >= 128) {
            ASSERT_LE(size_classes[which].block_bytes, bytes + bytes / 8 + granule_bytes) << bytes;
        }
    }
}

TEST(SizeClasses, know_the_block_at_every_distance) {
    for (const SizeClass& size : all_classes()) {
        const std::uint64_t span = size.span_units * unit_bytes;
        ASSERT_LE(std::uint64_t{size.blocks} * size.block_bytes, span);
        ASSERT_LE(size.blocks, size.span_units * (unit_bytes / granule_bytes));
        for (std::uint64_t distance = 0; distance < span; distance += granule_bytes / 2) {
            const std::uint32_t expected =
                distance % size.block_bytes == 0
                    ? static_cast<std::uint32_t>(distance / size.block_bytes)
                    : ~0U;
            ASSERT_EQ(size.block_at(distance), expected) << size.block_bytes << " " << distance;
        }
    }
}

TEST(SizeClasses, of_a_smaller_heap_differ_in_the_length_of_spans_alone) {
    for (const auto* smaller : {&size_classes_of_middle_heap, &size_classes_of_small_heap}) {
        for (std::uint32_t i = 0; i < size_class_count; ++i) {
            const SizeClass& small = (*smaller)[i];
            EXPECT_EQ(small.block_bytes, size_classes[i].block_bytes);
            EXPECT_EQ(small.reciprocal, size_classes[i].reciprocal);
            EXPECT_LE(small.span_units, size_classes[i].span_units);
            EXPECT_GE(small.blocks, 2U);
        }
    }
}

TEST(SizeClasses, leave_little_of_a_span_unused_where_spans_may_be_long) {
    for (const auto* all : {&size_classes_of_middle_heap, &size_classes}) {
        for (const SizeClass& size : *all) {
            const std::uint64_t span = size.span_units * unit_bytes;
            const std::uint64_t unused = span - std::uint64_t{size.blocks} * size.block_bytes;
            EXPECT_LE(unused * 10, span) << size.block_bytes;
        }
    }
}

TEST(SizeClasses, have_a_bit_for_each_block_and_no_more) {
    for (const SizeClass& size : all_classes()) {
        std::uint32_t bits = 0;
        for (std::uint32_t i = 0; i < size.words; ++i) {
            bits += static_cast<std::uint32_t>(std::popcount(size.full_word(i)));
        }
        EXPECT_EQ(bits, size.blocks);
    }
}

}  // namespace
}  // namespace acp::heap
