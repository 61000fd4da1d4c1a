// SPDX-License-Identifier: BSD-3-Clause
// acp_copy_v and acp_copy_strided: every range arrives and no other byte is written, from and to
// memory of both kinds on any rank; the one handle, the orders before and after it, failing ranges,
// and wrong arguments.
#include <algorithm>
#include <atomic>
#include <vector>

#include "support/kind_test.hpp"

namespace acp::test {
namespace {

constexpr std::byte untouched{0x5a};

class ListTest : public KindTest {};

// Sizes of all classes in a fixed order, `count` of them.
std::vector<std::size_t> some_sizes(std::size_t count) {
    constexpr std::size_t classes[] = {8, 1, 24, 300, 4, 4096, 0, 17, 64, 5000};
    std::vector<std::size_t> sizes(count);
    for (std::size_t i = 0; i < count; ++i) sizes[i] = classes[i % std::size(classes)];
    return sizes;
}

TEST_P(ListTest, copies_every_range_and_nothing_else) {
    constexpr std::size_t half = 200'000;
    const Arena arena(GetParam(), 2 * half);
    std::ranges::fill(arena.local(), untouched);
    fill_pattern(arena.local().first(half), 1, rank_);
    std::vector<std::byte> expected(half, untouched);
    std::vector<std::byte> source(half);
    fill_pattern(source, 1, previous());
    std::vector<acp_copy_range_t> ranges;
    std::size_t to = 3;
    std::size_t from = half;
    for (const std::size_t size : some_sizes(150)) {
        from -= size + 5;
        ranges.push_back({arena.at(next(), half + to), arena.at(rank_, from), size});
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        to += size + 11;
    }
    ASSERT_LT(to, half);
    sync_ranks();
    if (reaches(next())) {
        expect_done(acp_copy_v(ranges.data(), ranges.size(), ACP_HANDLE_NULL));
    }
    sync_ranks();
    if (reaches(rank_) && reaches(next())) {
        EXPECT_TRUE(std::ranges::equal(arena.local().subspan(half), expected));
    }
    sync_ranks();
}

// The strided copy that loops over a plain array would make.
struct Shape {
    std::size_t size;
    std::vector<std::size_t> counts;
    std::vector<std::ptrdiff_t> to;
    std::vector<std::ptrdiff_t> from;
};

void copy_by_loops(const Shape& shape,
                   std::size_t dimension,
                   std::byte* to,
                   const std::byte* from) {
    if (dimension == 0) {
        std::copy_n(from, shape.size, to);
        return;
    }
    for (std::size_t i = 0; i < shape.counts[dimension - 1]; ++i) {
        const auto times = static_cast<std::ptrdiff_t>(i);
        copy_by_loops(shape, dimension - 1, to + times * shape.to[dimension - 1],
                      from + times * shape.from[dimension - 1]);
    }
}

TEST_P(ListTest, copies_blocks_of_arrays_of_any_dimension) {
    constexpr std::size_t half = 60'000;
    constexpr std::size_t middle = half / 2;
    const std::vector<Shape> shapes = {
        {700, {}, {}, {}},
        {8,
         {60},
         {
             24,
         },
         {96}},
        {16, {1, 1}, {16, 16}, {16, 16}},
        {8, {5, 4, 3}, {8, 40, 160}, {200, 1000, 8}},
        {8, {20}, {-64}, {32}},
        {1,
         {3, 3, 3, 3, 3, 3, 2, 2},
         {1, 3, 9, 27, 81, 243, 729, 1458},
         {2, 6, 18, 54, 162, 486, 1458, 2916}},
        {64, {4, 0, 7}, {64, 256, 256}, {64, 256, 256}},
    };
    const Arena arena(GetParam(), 2 * half);
    std::vector<std::byte> source(half);
    fill_pattern(source, 2, previous());
    for (const Shape& shape : shapes) {
        std::ranges::fill(arena.local(), untouched);
        fill_pattern(arena.local().first(half), 2, rank_);
        sync_ranks();
        if (reaches(next())) {
            expect_done(acp_copy_strided(arena.at(next(), half + middle), shape.to.data(),
                                         arena.at(rank_, 100), shape.from.data(), shape.size,
                                         shape.counts.data(), static_cast<int>(shape.counts.size()),
                                         ACP_HANDLE_NULL));
        }
        sync_ranks();
        std::vector<std::byte> expected(half, untouched);
        copy_by_loops(shape, shape.counts.size(), expected.data() + middle, source.data() + 100);
        if (reaches(next())) {
            EXPECT_TRUE(std::ranges::equal(arena.local().subspan(half), expected))
                << shape.size << " bytes, " << shape.counts.size() << " dimensions";
        }
        sync_ranks();
    }
}

// A list of copies, then a flag ordered after it in each of the ways: a rank that reads the flag
// finds all of the data.
TEST_P(ListTest, what_is_ordered_behind_a_list_follows_all_of_it) {
    constexpr std::size_t count = 200;
    constexpr std::size_t flag = 8 * count * 2;
    const Arena arena(GetParam(), flag + 64);
    arena.word<std::uint64_t>(flag) = 0;
    for (std::uint64_t round = 1; round <= 30; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            arena.word<std::uint64_t>(16 * i + 8) = round * 1000 + i;
        }
        sync_ranks();
        if (reaches(next())) {
            std::vector<acp_copy_range_t> ranges;
            for (std::size_t i = 0; i < count; ++i) {
                ranges.push_back({arena.at(next(), 16 * i), arena.at(rank_, 16 * i + 8), 8});
            }
            const acp_handle_t all = acp_copy_v(ranges.data(), count, ACP_HANDLE_NULL);
            const acp_handle_t order = round % 3 == 0   ? all
                                       : round % 3 == 1 ? ACP_HANDLE_CONT
                                                        : ACP_HANDLE_ALL;
            const acp_handle_t flagged = acp_add8(ACP_GA_NULL, arena.at(next(), flag), 1, order);
            std::atomic_ref<std::uint64_t> seen(arena.word<std::uint64_t>(flag));
            while (seen.load(std::memory_order_acquire) != round) {
                EXPECT_EQ(acp_inquire(flagged) & ~1, 0);
            }
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < count; ++i) {
                wrong += arena.word<std::uint64_t>(16 * i) != round * 1000 + i ? 1U : 0U;
            }
            EXPECT_EQ(wrong, 0U) << "round " << round;
            expect_done(flagged);
        }
        sync_ranks();
    }
}

TEST_P(ListTest, a_list_follows_its_order) {
    constexpr std::size_t count = 50;
    const Arena arena(GetParam(), 8 * count * 3);
    for (const acp_handle_t link : {ACP_HANDLE_ALL, ACP_HANDLE_CONT, acp_handle_t{0}}) {
        std::vector<std::uint64_t> sent(count);
        for (std::size_t i = 0; i < count; ++i)
            sent[i] = 31 * i + static_cast<std::uint64_t>(rank_);
        if (reaches(next())) {
            acp_handle_t last = acp_put(arena.at(next()), sent.data(), 8 * count, ACP_HANDLE_NULL);
            const auto order = [&] { return link == 0 ? last : link; };
            std::vector<acp_copy_range_t> there;
            std::vector<acp_copy_range_t> on;
            // Each list of copies reverses the words.
            for (std::size_t i = 0; i < count; ++i) {
                there.push_back(
                    {arena.at(next(), 8 * (count + i)), arena.at(next(), 8 * (count - 1 - i)), 8});
                on.push_back({arena.at(next(), 8 * (2 * count + i)),
                              arena.at(next(), 8 * (2 * count - 1 - i)), 8});
            }
            last = acp_copy_v(there.data(), count, order());
            last = acp_copy_v(on.data(), count, order());
            std::vector<std::uint64_t> seen(count);
            expect_done(acp_get(seen.data(), arena.at(next(), 16 * count), 8 * count, order()));
            EXPECT_EQ(seen, sent);
        }
        sync_ranks();
    }
}

TEST_P(ListTest, more_ranges_than_may_be_outstanding) {
    constexpr std::size_t count = 35'000;
    const Arena arena(GetParam(), 8 * count * 3);
    for (std::size_t i = 0; i < count; ++i) arena.word<std::uint64_t>(8 * i) = i;
    sync_ranks();
    if (reaches(next())) {  // every range twice, into two places
        const std::ptrdiff_t to[] = {8, 8 * count};
        const std::ptrdiff_t from[] = {8, 0};
        const std::size_t counts[] = {count, 2};
        expect_done(acp_copy_strided(arena.at(next(), 8 * count), to, arena.at(rank_), from, 8,
                                     counts, 2, ACP_HANDLE_NULL));
    }
    sync_ranks();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 2 * count && reaches(next()); ++i) {
        wrong += arena.word<std::uint64_t>(8 * (count + i)) != i % count ? 1U : 0U;
    }
    EXPECT_EQ(wrong, 0U);
    sync_ranks();
}

// Both ends belong to one rank, so the node that runs the copy checks both addresses.
TEST_P(ListTest, the_message_of_a_range_names_the_address_at_fault) {
    const Arena arena(GetParam(), 4096);
    if (reaches(next())) {
        const acp_ga_t good = arena.at(next(), 64);
        const acp_ga_t bad = arena.at(next()) + (acp_ga_t{1} << 34);
        for (const bool is_target : {true, false}) {
            const acp_copy_range_t range{is_target ? bad : good, is_target ? good : bad, 8};
            const acp_handle_t handle = acp_copy_v(&range, 1, ACP_HANDLE_NULL);
            expect_failure(handle, ACP_ERR_ADDRESS,
                           {is_target ? "the target is " : "the source is ", hexadecimal(bad)});
            expect_failure(handle, ACP_ERR_ORDER,
                           {"acp_copy_v by rank ", ": its one range failed"});
        }
    }
    sync_ranks();
}

TEST_P(ListTest, ranges_that_fail_leave_the_others_alone) {
    const Arena arena(GetParam(), 4096);
    std::ranges::fill(arena.local(), untouched);
    arena.word<std::uint64_t>(0) = 77;
    sync_ranks();
    if (reaches(next())) {
        const acp_copy_range_t ranges[] = {
            {arena.at(next(), 64), arena.at(rank_), 8}, {ACP_GA_NULL, arena.at(rank_), 8},
            {arena.at(next(), 72), arena.at(rank_), 8}, {arena.at(next(), 80), ACP_GA_NULL, 8},
            {arena.at(next(), 88), arena.at(rank_), 8},
        };
        const acp_handle_t handle = acp_copy_v(ranges, std::size(ranges), ACP_HANDLE_NULL);
        const acp_handle_t behind = acp_copy(arena.at(next(), 96), arena.at(rank_), 8, handle);
        const acp_handle_t next_one =
            acp_copy(arena.at(next(), 104), arena.at(rank_), 8, ACP_HANDLE_NULL);
        expect_failure(handle, ACP_ERR_ADDRESS);
        expect_failure(handle, ACP_ERR_ADDRESS);
        expect_failure(handle, ACP_ERR_ORDER,
                       {"acp_copy_v by rank ", ": some of its 5 ranges failed"});
        expect_failure(behind, ACP_ERR_ORDER);
        expect_done(next_one);
        const acp_copy_range_t late[] = {{arena.at(next(), 112), arena.at(rank_), 8},
                                         {arena.at(next(), 120), arena.at(rank_), 8}};
        const acp_handle_t bad = acp_copy(ACP_GA_NULL, arena.at(rank_), 8, ACP_HANDLE_NULL);
        const acp_handle_t unrun = acp_copy_v(late, 2, bad);
        expect_failure(bad, ACP_ERR_ADDRESS);
        expect_failure(unrun, ACP_ERR_ORDER, {"acp_copy_v by rank ", ": not run"});
        expect_done(unrun);  // one failure for the whole list
    }
    sync_ranks();
    if (reaches(next())) {
        for (const std::size_t place : {64U, 72U, 88U, 104U}) {
            EXPECT_EQ(arena.word<std::uint64_t>(place), 77U) << place;
        }
        for (const std::size_t place : {80U, 96U, 112U, 120U}) {
            EXPECT_NE(arena.word<std::uint64_t>(place), 77U) << place;
        }
    }
    sync_ranks();
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         ListTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

class BadListTest : public RankedTest {};

TEST_F(BadListTest, nothing_is_a_list_too) {
    expect_done(acp_copy_v(nullptr, 0, ACP_HANDLE_NULL));
    expect_done(acp_copy_v(nullptr, 0, ACP_HANDLE_ALL));
    expect_done(acp_copy_v(nullptr, 0, ACP_HANDLE_CONT));
    const std::ptrdiff_t stride = 8;
    const std::size_t none = 0;
    expect_done(
        acp_copy_strided(ACP_GA_NULL, &stride, ACP_GA_NULL, &stride, 8, &none, 1, ACP_HANDLE_NULL));
}

TEST_F(BadListTest, wrong_arguments_are_named) {
    expect_failure(acp_copy_v(nullptr, 3, ACP_HANDLE_NULL), ACP_ERR_ARGUMENT,
                   {"acp_copy_v", "ranges is NULL, and count is 3"});
    const std::ptrdiff_t stride = 8;
    const std::size_t count = 1;
    for (const int dimensions : {-1, 9}) {
        expect_failure(acp_copy_strided(ACP_GA_NULL, &stride, ACP_GA_NULL, &stride, 8, &count,
                                        dimensions, ACP_HANDLE_NULL),
                       ACP_ERR_ARGUMENT,
                       {"acp_copy_strided", std::to_string(dimensions) + " dimensions", "0 .. 8"});
    }
    const std::vector<std::size_t> many(3, std::size_t{1} << 31);
    const std::vector<std::ptrdiff_t> strides(3, 8);
    expect_failure(acp_copy_strided(ACP_GA_NULL, strides.data(), ACP_GA_NULL, strides.data(), 8,
                                    many.data(), 3, ACP_HANDLE_NULL),
                   ACP_ERR_ARGUMENT, {"acp_copy_strided", "2^64"});
    expect_failure(
        acp_copy_strided(ACP_GA_NULL, nullptr, ACP_GA_NULL, &stride, 8, &count, 1, ACP_HANDLE_NULL),
        ACP_ERR_ARGUMENT, {"strides are NULL"});
}

}  // namespace
}  // namespace acp::test
