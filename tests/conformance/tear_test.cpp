// SPDX-License-Identifier: BSD-3-Clause
// Indivisibility: no aligned copy of 1, 2, 4 or 8 bytes is torn. One rank flips a word between two
// values by copies, the others read it by copies, and its owner also by plain loads.
#include <atomic>
#include <tuple>

#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

using Case = std::tuple<Kind, std::size_t>;

class TearTest : public RankedTest, public ::testing::WithParamInterface<Case> {};

constexpr std::size_t word_place = 64;  // the contended word
constexpr std::size_t first_value = 128;
constexpr std::size_t second_value = 136;
constexpr std::size_t seen_value = 192;
constexpr std::size_t stop_flag = 256;

// Loads the low `width` bytes of the word at an offset by one instruction.
std::uint64_t load_word(const Arena& arena, std::size_t offset, std::size_t width) {
    switch (width) {
        case 1:
            return std::atomic_ref(arena.word<std::uint8_t>(offset))
                .load(std::memory_order_acquire);
        case 2:
            return std::atomic_ref(arena.word<std::uint16_t>(offset))
                .load(std::memory_order_acquire);
        case 4:
            return std::atomic_ref(arena.word<std::uint32_t>(offset))
                .load(std::memory_order_acquire);
        default:
            return std::atomic_ref(arena.word<std::uint64_t>(offset))
                .load(std::memory_order_acquire);
    }
}

bool is_whole(std::uint64_t value, std::size_t width) {
    const std::uint64_t mask = width == 8 ? ~0ULL : (1ULL << (8 * width)) - 1;
    return value == 0 || value == (0x5aa55aa55aa55aa5ULL & mask) ||
           value == (0xa55aa55aa55aa55aULL & mask);
}

void flip(const Arena& word, const Arena& values, int owner, std::size_t width) {
    const int rank = acp_rank();
    values.word<std::uint64_t>(first_value) = 0x5aa55aa55aa55aa5ULL;
    values.word<std::uint64_t>(second_value) = 0xa55aa55aa55aa55aULL;
    const int flips = mode().is_slow() ? 500 : 20'000;
    for (int count = 0; count < flips; ++count) {
        const std::size_t from = count % 2 == 0 ? first_value : second_value;
        const acp_handle_t handle =
            acp_copy(word.at(owner, word_place), values.at(rank, from), width, ACP_HANDLE_NULL);
        acp_complete(handle);
    }
}

TEST_P(TearTest, never_shows_half_a_word) {
    const auto [kind, width] = GetParam();
    if (procs_ < 2 || (kind == Kind::registered && !mode().reaches_private_memory())) {
        GTEST_SKIP() << "needs a second rank that reaches the memory";
    }
    const Arena word(kind, 512);
    const Arena values(Kind::starter, 512, 512);
    const int owner = 0;
    const int writer = 1;
    std::ranges::fill(values.local(), std::byte{0});
    std::ranges::fill(word.local(), std::byte{0});
    sync_ranks();
    std::uint64_t torn = 0;
    if (rank_ == writer) {
        flip(word, values, owner, width);
        for (int rank = 0; rank < procs_; ++rank) {
            acp_add8(values.at(writer, 0), values.at(rank, stop_flag), 1, ACP_HANDLE_NULL);
        }
        expect_done(ACP_HANDLE_ALL);
    } else {
        while (load_word(values, stop_flag, 8) == 0 && torn == 0) {
            acp_complete(acp_copy(values.at(rank_, seen_value), word.at(owner, word_place), width,
                                  ACP_HANDLE_NULL));
            const std::uint64_t seen = load_word(values, seen_value, width);
            torn = is_whole(seen, width) ? 0 : seen;
            if (rank_ == owner && !is_whole(load_word(word, word_place, width), width)) {
                torn = load_word(word, word_place, width);
            }
        }
    }
    EXPECT_EQ(torn, 0U) << "half a word of width " << width << " was seen";
    sync_ranks();
}

INSTANTIATE_TEST_SUITE_P(widths,
                         TearTest,
                         ::testing::Combine(::testing::Values(Kind::starter, Kind::registered),
                                            ::testing::Values(1U, 2U, 4U, 8U)),
                         [](const ::testing::TestParamInfo<Case>& each) {
                             return std::string(name_of(std::get<0>(each.param))) + "_" +
                                    std::to_string(std::get<1>(each.param));
                         });

}  // namespace
}  // namespace acp::test
