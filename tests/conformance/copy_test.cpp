// SPDX-License-Identifier: BSD-3-Clause
// acp_copy between every arrangement of ranks and kinds of memory, in every size class and
// alignment.
#include <tuple>

#include "conformance/copy_plan.hpp"
#include "support/mode.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

using Kinds = std::tuple<Kind, Kind>;

class CopyTest : public RankedTest, public ::testing::WithParamInterface<Kinds> {
protected:
    // Runs a plan for every arrangement of ranks that the mode reaches.
    static void run_everywhere(std::size_t bytes, const std::vector<Piece>& pieces) {
        const auto [target_kind, source_kind] = GetParam();
        const Arena target(target_kind, bytes);
        const Arena source(source_kind, bytes, bytes);
        for (const Roles& roles : all_roles(acp_procs())) {
            if (is_reachable(roles, target_kind, source_kind)) {
                SCOPED_TRACE(describe(roles, target_kind, source_kind));
                run_copies(roles, target, source, pieces);
            }
        }
    }
};

// One piece per size and pair of alignments, one guard byte apart at least.
std::vector<Piece> small_pieces(std::size_t size_low,
                                std::size_t size_high,
                                std::size_t align_step) {
    constexpr std::size_t alignments = 16;
    std::vector<Piece> pieces;
    std::size_t place = 0;
    for (std::size_t size = size_low; size <= size_high; ++size) {
        for (std::size_t target = 0; target < alignments; target += align_step) {
            const std::size_t source = (target * 5 + size) % alignments;
            pieces.push_back({place + target, (place * 3) % 4096 + source, size});
            place += (size + 2 * alignments) / alignments * alignments;
        }
    }
    return pieces;
}

TEST_P(CopyTest, moves_every_size_to_300_at_every_alignment) {
    const std::size_t align_step = mode().is_slow() ? 5 : 1;
    constexpr std::size_t sizes_per_plan = 60;
    constexpr std::size_t arena_bytes = 420 * 1024;
    for (std::size_t size = 0; size <= 300; size += sizes_per_plan + 1) {
        allow_seconds(90);
        run_everywhere(arena_bytes, small_pieces(size, size + sizes_per_plan, align_step));
    }
}

TEST_P(CopyTest, moves_whole_pages_and_sizes_around_them) {
    std::vector<Piece> pieces;
    std::size_t place = 1;
    for (const std::size_t size : {4095U, 4096U, 4097U, 8191U, 65535U, 65536U, 65537U}) {
        pieces.push_back({place, 300000 - place, size});
        place += size + 3;
    }
    run_everywhere(512 * 1024, pieces);
}

TEST_P(CopyTest, moves_sizes_around_the_inline_limit_and_a_mebibyte) {
    constexpr std::size_t kib = 1024;
    std::vector<Piece> pieces;
    std::size_t place = 0;
    for (const std::size_t size :
         {256 * kib - 1, 256 * kib, 256 * kib + 1, 1024 * kib, 1024 * kib + 3}) {
        pieces.push_back({place, place / 2 + 5, size});
        place += size + 64;
    }
    run_everywhere(3 * 1024 * kib, pieces);
}

TEST_P(CopyTest, moves_the_first_and_the_last_byte_of_the_memory) {
    constexpr std::size_t bytes = 8192;
    run_everywhere(bytes, {{0, bytes - 1, 1}, {bytes - 1, 0, 1}});
}

TEST_P(CopyTest, moves_nothing_when_the_size_is_zero) {
    constexpr std::size_t bytes = 4096;
    run_everywhere(bytes, {{0, 0, 0}, {17, 100, 0}, {bytes, bytes, 0}, {200, 300, 1}});
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         CopyTest,
                         ::testing::Combine(::testing::Values(Kind::starter, Kind::registered),
                                            ::testing::Values(Kind::starter, Kind::registered)),
                         [](const ::testing::TestParamInfo<Kinds>& each) {
                             return std::string(name_of(std::get<1>(each.param))) + "_to_" +
                                    name_of(std::get<0>(each.param));
                         });

class CopyOntoItselfTest : public RankedTest, public ::testing::WithParamInterface<Kind> {};

TEST_P(CopyOntoItselfTest, leaves_the_memory_as_it_is) {
    constexpr std::size_t bytes = 100'000;
    const Arena arena(GetParam(), bytes);
    fill_pattern(arena.local(), 7, rank_);
    const std::vector<std::byte> before(arena.local().begin(), arena.local().end());
    sync_ranks();
    const int owner = mode().reaches_private_memory() ? (rank_ + 1) % procs_ : rank_;
    expect_done(acp_copy(arena.at(owner), arena.at(owner), bytes, ACP_HANDLE_NULL));
    sync_ranks();
    EXPECT_TRUE(std::equal(before.begin(), before.end(), arena.local().begin()));
}

TEST_P(CopyOntoItselfTest, moves_between_neighbouring_ranges_of_one_segment) {
    constexpr std::size_t bytes = 1000;
    const Arena arena(GetParam(), 2 * bytes);
    fill_pattern(arena.local().first(bytes), 11, rank_);
    const int owner = mode().reaches_private_memory() ? (rank_ + 1) % procs_ : rank_;
    sync_ranks();
    expect_done(acp_copy(arena.at(owner, bytes), arena.at(owner), bytes, ACP_HANDLE_NULL));
    sync_ranks();
    EXPECT_TRUE(std::equal(arena.local().begin(), arena.local().begin() + bytes,
                           arena.local().begin() + bytes));
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         CopyOntoItselfTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

using UnsupportedTest = RankedTest;

TEST_F(UnsupportedTest, refuses_memory_that_the_mode_cannot_reach_as_unsupported) {
    if (mode().reaches_private_memory() || procs_ < 2) {
        GTEST_SKIP() << "this mode reaches all memory";
    }
    const Arena own(Kind::starter, 64);
    const Arena theirs(Kind::registered, 64);
    const int other = (rank_ + 1) % procs_;
    expect_failure(acp_copy(own.at(rank_), theirs.at(other), 8, ACP_HANDLE_NULL),
                   ACP_ERR_UNSUPPORTED, {"rank " + std::to_string(other)});
    expect_failure(acp_copy(theirs.at(other), own.at(rank_), 8, ACP_HANDLE_NULL),
                   ACP_ERR_UNSUPPORTED);
    expect_failure(acp_add8(own.at(rank_), theirs.at(other), 1, ACP_HANDLE_NULL),
                   ACP_ERR_UNSUPPORTED);
    sync_ranks();
    EXPECT_EQ(theirs.word<std::uint64_t>(), 0U);
    EXPECT_EQ(own.word<std::uint64_t>(), 0U);
}

}  // namespace
}  // namespace acp::test
