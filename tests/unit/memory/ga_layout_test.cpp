// SPDX-License-Identifier: BSD-3-Clause
// The fields of a global address, for every number of process bits, and the bounds check.
#include "memory/ga_layout.hpp"

#include <gtest/gtest.h>
#include <limits>

#include "memory/address_table.hpp"

#include "support/random.hpp"

namespace acp::memory {
namespace {

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

// For jobs of 1, 2, 3, 4, 5, 8, 9, ... 2^20 ranks.
template <typename Check>
void for_each_layout(Check check) {
    for (std::uint32_t bits = 0; bits <= process_bits_max; ++bits) {
        for (const std::uint64_t procs :
             {std::uint64_t{1} << bits, (std::uint64_t{1} << bits) / 2 + 1}) {
            SCOPED_TRACE(procs);
            check(GaLayout(procs), procs);
        }
    }
}

TEST(GaLayoutTest, round_trips_every_field) {
    acp::test::Random random(1);
    for_each_layout([&](const GaLayout& layout, std::uint64_t procs) {
        for (int i = 0; i < 100; ++i) {
            const std::uint64_t process = i == 0 ? procs - 1 : random.below(procs);
            const auto granule = static_cast<std::uint32_t>(
                i == 1 ? granules_per_process - 1 : random.below(granules_per_process));
            const auto generation =
                static_cast<std::uint32_t>(random.between(1, layout.generation_max()));
            const auto color = static_cast<std::uint32_t>(random.below(colors_max));
            const std::uint64_t offset = random.next() & (layout.granule_bytes() - 1);
            const GlobalAddress plain = layout.segment_start(process, granule, generation) + offset;
            const GlobalAddress address = layout.colored(plain, color);
            ASSERT_EQ(layout.process(address), process);
            ASSERT_EQ(layout.granule(address), granule);
            ASSERT_EQ(layout.generation(address), generation);
            ASSERT_EQ(layout.color(address), color);
            ASSERT_EQ(layout.index(address), process * granules_per_process + granule);
            ASSERT_EQ(address & (layout.granule_bytes() - 1), offset);
            ASSERT_EQ(address & layout.colorless_mask(), plain);
            ASSERT_EQ(layout.colored(address, 0), plain);
        }
    });
}

TEST(GaLayoutTest, uses_all_64_bits_once) {
    for_each_layout([](const GaLayout& layout, std::uint64_t) {
        EXPECT_EQ(layout.tag_bits() + layout.process_bits() + granule_bits + layout.offset_bits(),
                  64U);
        EXPECT_EQ(layout.segment_start((1ULL << layout.process_bits()) - 1,
                                       granules_per_process - 1, layout.generation_max()) |
                      ~layout.colorless_mask() | (layout.granule_bytes() - 1),
                  ~GlobalAddress{0});
    });
}

TEST(GaLayoutTest, null_is_never_an_address) {
    for_each_layout([](const GaLayout& layout, std::uint64_t) {
        EXPECT_EQ(layout.generation(0), 0U);
        EXPECT_NE(layout.segment_start(0, 0, 1), 0U);
    });
}

TEST(GaLayoutTest, adds_across_granules) {
    for_each_layout([](const GaLayout& layout, std::uint64_t procs) {
        const GlobalAddress start = layout.segment_start(procs - 1, 10, 3);
        const GlobalAddress next = start + layout.granule_bytes();
        EXPECT_EQ(next, layout.segment_start(procs - 1, 11, 3));
        EXPECT_EQ(layout.granule(next - 1), 10U);
        EXPECT_EQ(layout.process(next), procs - 1);
    });
}

TEST(GaLayoutTest, a_segment_holds_its_own_end) {
    for_each_layout([](const GaLayout& layout, std::uint64_t) {
        const std::uint64_t granule = layout.granule_bytes();
        EXPECT_EQ(layout.granules_for(1), 1U);
        EXPECT_EQ(layout.granules_for(granule - 1), 1U);
        EXPECT_EQ(layout.granules_for(granule), 2U);
        EXPECT_EQ(layout.granules_for(granule + 1), 2U);
        EXPECT_EQ(layout.granules_for(5 * granule), 6U);
    });
}

TEST(GaLayoutTest, fits_the_stated_job_sizes) {
    EXPECT_EQ(GaLayout(1).process_bits(), 0U);
    EXPECT_EQ(GaLayout(2).process_bits(), 1U);
    EXPECT_EQ(GaLayout(16).generation_max(), 255U);
    EXPECT_EQ(GaLayout(17).generation_max(), 63U);
    EXPECT_EQ(GaLayout(1U << 20U).process_bits(), 20U);
    EXPECT_EQ(GaLayout(1U << 20U).granule_bytes(), 8ULL << 20U);
}

TEST(BoundsTest, sizes_that_wrap_are_refused) {
    EXPECT_TRUE(is_within(0, 100, 100));
    EXPECT_TRUE(is_within(100, 100, 0));
    EXPECT_TRUE(is_within(99, 100, 1));
    for (const std::uint64_t offset :
         {std::uint64_t{1}, std::uint64_t{99}, std::uint64_t{100}, huge, huge - 99}) {
        EXPECT_FALSE(is_within(offset, 100, 100)) << offset;
        EXPECT_FALSE(is_within(offset, 100, huge)) << offset;
    }
    EXPECT_FALSE(is_within(101, 100, 0));
    EXPECT_FALSE(is_within(0, 0, 1));
    EXPECT_TRUE(is_within(0, huge, huge));
}

// namespace acp::memory
}  // namespace
}  // namespace acp::memory
