// SPDX-License-Identifier: BSD-3-Clause
// Runs of free areas, and the heap's search for runs of units longer than an area: compared with a
// search that tests every place.
#include "heap/free_areas.hpp"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "heap_memory.hpp"
#include "support/random.hpp"

namespace acp::heap {
namespace {

constexpr std::uint64_t all = ~std::uint64_t{0};

using Run = std::pair<std::uint32_t, std::uint32_t>;

// Control words of a heap, whose areas are used or free as a test sets them.
struct Areas {
    explicit Areas(std::uint32_t areas)
        : shape{areas, 1}, memory(Control<>::bytes(shape)), control(memory.data(), shape) {}

    void use(std::uint32_t area, std::uint64_t units) const {
        control.used(area).store(units);
        if (units != 0) FreeAreas<>(control).note_busy(area);
    }

    // Uses areas in groups of random lengths, about `share` of a thousand.
    void use_some(test::Random& random, std::uint32_t share, std::uint32_t group) const {
        for (std::uint32_t area = 0; area < shape.areas;) {
            const bool is_used = random.below(1'000) < share;
            const auto end = area + 1 + static_cast<std::uint32_t>(random.below(group));
            for (; area < std::min(end, shape.areas); ++area)
                use(area, is_used ? std::uint64_t{1} << random.below(64) : 0);
        }
    }

    [[nodiscard]] std::vector<Run> runs(std::uint32_t first,
                                        std::uint32_t end,
                                        std::uint32_t least) const {
        std::vector<Run> found;
        FreeAreas<>(control).visit_runs(first, end, least,
                                        [&](std::uint32_t begin, std::uint32_t free_until) {
                                            found.emplace_back(begin, free_until);
                                            return false;
                                        });
        return found;
    }

    [[nodiscard]] std::vector<Run> runs_by_every_place(std::uint32_t first,
                                                       std::uint32_t end,
                                                       std::uint32_t least) const {
        std::vector<Run> found;
        for (std::uint32_t area = first; area < end; ++area) {
            const std::uint32_t begin = area;
            while (area < end && control.used(area).load() == 0) ++area;
            if (area - begin >= least) found.emplace_back(begin, area);
        }
        return found;
    }

    HeapShape shape;
    SharedPages memory;
    Control<> control;
};

// Compares in random ranges of these areas, for random lengths.
void compare_runs(test::Random& random, const Areas& areas) {
    const std::uint32_t count = areas.shape.areas;
    for (std::uint32_t i = 0; i < 20; ++i) {
        const auto first = static_cast<std::uint32_t>(random.below(count));
        const auto end = first + 1 + static_cast<std::uint32_t>(random.below(count - first));
        const auto least = 1 + static_cast<std::uint32_t>(random.below(130));
        SCOPED_TRACE(testing::Message()
                     << count << " areas: " << first << " to " << end << ", " << least);
        EXPECT_EQ(areas.runs(first, end, least), areas.runs_by_every_place(first, end, least));
    }
}

TEST(FreeAreas, runs_are_those_that_a_test_of_every_place_finds) {
    test::Random random(7);
    for (const std::uint32_t count : {1U, 63U, 64U, 65U, 200U, 700U}) {
        for (std::uint32_t i = 0; i < 15; ++i) {
            const Areas areas(count);
            areas.use_some(random, 250 * (i % 5), 1 + 10 * (i / 5));
            compare_runs(random, areas);
        }
    }
}

TEST(FreeAreas, no_run_is_visited_after_one_that_is_taken) {
    const Areas areas(300);
    for (const std::uint32_t used : {10U, 20U, 150U}) areas.use(used, all);
    std::uint32_t visits = 0;
    FreeAreas<>(areas.control).visit_runs(0, 300, 5, [&](std::uint32_t, std::uint32_t) {
        return ++visits == 2;
    });
    EXPECT_EQ(visits, 2U);
}

// Whether a run of `units` units that begins with an area, at a multiple of `apart` areas, is free.
bool has_run(const Control<>& control, std::uint32_t units, std::uint32_t apart) {
    const std::uint32_t areas = control.shape().areas;
    for (std::uint32_t begin = 0; begin < areas; begin += apart) {
        std::uint32_t free = 0;
        const auto is_free = [&](std::uint32_t unit) {
            return unit < control.shape().units() &&
                   (control.used(unit / area_units).load() >> (unit % area_units) & 1) == 0;
        };
        while (free < units && is_free(begin * area_units + free)) ++free;
        if (free == units) return true;
    }
    return false;
}

// Claims a random run in a random heap. Whether there was one.
bool claims_a_run_if_there_is_one(test::Random& random) {
    const auto count = 1 + static_cast<std::uint32_t>(random.below(300));
    const Areas areas(count);
    areas.use_some(random, static_cast<std::uint32_t>(random.below(800)),
                   1 + static_cast<std::uint32_t>(random.below(40)));
    const Units<> units(areas.control, keeps_memory);
    ThreadCache cache(0);
    const auto most = random.below(2) == 0 ? 6 * area_units : count * area_units;
    const auto asked = area_units + 1 + static_cast<std::uint32_t>(random.below(most));
    const std::uint32_t apart = 1U << random.below(4);
    cache.search_from(asked) = static_cast<std::uint32_t>(random.below(count));
    const bool is_there = has_run(areas.control, asked, apart);
    const std::uint32_t head = units.claim(cache, asked, apart * area_units, no_size_class);
    EXPECT_EQ(head != no_unit, is_there)
        << asked << " units of " << count << " areas, " << apart << " apart";
    if (head == no_unit) return is_there;
    EXPECT_EQ(head % (apart * area_units), 0U);
    std::uint32_t end = head + 1;
    while (end < head + asked && units.word(end).state == UnitState::claimed) ++end;
    EXPECT_EQ(end, head + asked);
    return is_there;
}

TEST(FreeAreas, a_run_of_units_is_claimed_exactly_where_there_is_one) {
    test::Random random(11);
    std::uint32_t claimed = 0;
    for (std::uint32_t i = 0; i < 3'000; ++i) {
        SCOPED_TRACE(i);
        claimed += claims_a_run_if_there_is_one(random) ? 1U : 0U;
    }
    EXPECT_GT(claimed, 300U);
    EXPECT_LT(claimed, 2'700U);
}

}  // namespace
}  // namespace acp::heap
