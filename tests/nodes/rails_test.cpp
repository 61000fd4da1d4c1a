// SPDX-License-Identifier: BSD-3-Clause
// Jobs whose nodes several rails connect (acprun --rails): there are as many colours, each rank's
// memory has an address in every colour, bytes of all colours are right, and a command ordered
// after a copy of another colour runs after it. TEST_RAILS is the number of rails.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/arena.hpp"
#include "support/nodes.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t row_bytes = 96 * 1024;

class RailsTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(600);
        ASSERT_GT(nodes_of_job(), 1) << "this test is about several nodes: acprun --nodes";
        const char* rails = std::getenv("TEST_RAILS");
        ASSERT_NE(rails, nullptr);
        colors_ = static_cast<std::size_t>(std::atoi(rails));
        ASSERT_EQ(acp_colors(), static_cast<int>(colors_));
        memory_.resize(colors_ * row_bytes);
        for (std::size_t color = 0; color < colors_; ++color) {
            keys_.push_back(
                acp_register_memory(memory_.data(), memory_.size(), static_cast<int>(color)));
            ASSERT_NE(keys_.back(), ACP_ATKEY_NULL) << acp_error_message();
            addresses_.push_back(exchange(acp_query_ga(keys_.back(), memory_.data())));
        }
        sync_ranks();
    }

    void TearDown() override {
        sync_ranks();
        for (const acp_atkey_t key : keys_) EXPECT_EQ(acp_unregister_memory(key), 0);
        RankedTest::TearDown();
    }

    // The address of a rank's memory in a colour.
    [[nodiscard]] acp_ga_t at(int rank, std::size_t color, std::size_t offset = 0) const {
        return addresses_[color][static_cast<std::size_t>(rank)] + offset;
    }

    [[nodiscard]] std::span<std::byte> row(std::size_t color) {
        return std::span(memory_).subspan(color * row_bytes, row_bytes);
    }

    std::size_t colors_ = 0;
    std::vector<std::byte> memory_;
    std::vector<acp_atkey_t> keys_;
    // By colour and rank.
    std::vector<std::vector<std::uint64_t>> addresses_;
};

TEST_F(RailsTest, every_colour_brings_every_byte) {
    const Arena source(Kind::starter, row_bytes);
    const Companions mine = companions_of(rank_, 0);
    for (std::uint64_t round = 1; round <= 3; ++round) {
        fill_pattern(source.local(), round, rank_);
        std::ranges::fill(memory_, std::byte{0xee});
        sync_ranks();
        for (std::size_t color = 0; color < colors_; ++color) {
            EXPECT_EQ(acp_query_color(at(mine.partner, color)), static_cast<int>(color));
            ASSERT_STREQ(acp_path(at(mine.partner, color), source.at(rank_)).name, "remote");
            // Copies the first half by one copy, the second by short ones.
            const std::size_t half = row_bytes / 2;
            acp_copy(at(mine.partner, color, color * row_bytes), source.at(rank_), half,
                     ACP_HANDLE_NULL);
            for (std::size_t offset = half; offset < row_bytes; offset += 1024) {
                acp_copy(at(mine.partner, color, color * row_bytes + offset),
                         source.at(rank_, offset), 1024, ACP_HANDLE_NULL);
            }
        }
        expect_done(ACP_HANDLE_ALL);
        sync_ranks();
        int sender = 0;
        while (companions_of(sender, 0).partner != rank_) ++sender;
        for (std::size_t color = 0; color < colors_; ++color) {
            for (std::size_t offset = 0; offset < row_bytes; ++offset) {
                ASSERT_EQ(row(color)[offset], pattern(round, sender, offset))
                    << "byte " << offset << " of colour " << color << " in round " << round;
            }
        }
        sync_ranks();
    }
}

// A word is written after a row by another rail: a rank that sees the word sees the row.
TEST_F(RailsTest, what_is_ordered_after_a_copy_of_another_colour_comes_after_it) {
    const Arena source(Kind::starter, row_bytes + 64);
    const Arena flag(Kind::registered, 64);
    auto& seen = flag.word<std::uint64_t>();
    seen = 0;
    const int partner = companions_of(rank_, 0).partner;
    int sender = 0;
    while (companions_of(sender, 0).partner != rank_) ++sender;
    // Addresses of the partner's word, by colour.
    std::vector<acp_ga_t> flags;
    std::vector<acp_atkey_t> keys;
    for (std::size_t color = 0; color < colors_; ++color) {
        keys.push_back(acp_register_memory(&seen, sizeof seen, static_cast<int>(color)));
        flags.push_back(
            exchange(acp_query_ga(keys.back(), &seen))[static_cast<std::size_t>(partner)]);
    }
    std::uint64_t round = 0;
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{4096}, row_bytes}) {
        for (std::size_t pair = 0; pair < colors_ * colors_; ++pair) {
            ++round;
            const std::size_t of_row = pair % colors_;
            const std::size_t of_flag = pair / colors_;
            fill_pattern(source.local().first(bytes), round, rank_);
            source.word<std::uint64_t>(row_bytes) = round;
            const acp_handle_t copied =
                acp_copy(at(partner, of_row), source.at(rank_), bytes, ACP_HANDLE_NULL);
            const acp_handle_t told =
                acp_copy(flags[of_flag], source.at(rank_, row_bytes), sizeof round, copied);
            while (std::atomic_ref(seen).load(std::memory_order_acquire) != round) {
                (void)acp_inquire(told);
            }
            for (std::size_t offset = 0; offset < bytes; ++offset) {
                ASSERT_EQ(memory_[offset], pattern(round, sender, offset))
                    << "byte " << offset << " of " << bytes << ", colours " << of_row << " and "
                    << of_flag;
            }
            expect_done(told);
            sync_ranks();
        }
    }
    for (const acp_atkey_t key : keys) EXPECT_EQ(acp_unregister_memory(key), 0);
}

// Each old value of a counter is returned once, over all rails.
TEST_F(RailsTest, atomics_of_all_colours_on_one_word_are_exact) {
    constexpr std::size_t adds = 50;
    const Arena olds(Kind::starter, 8 * adds * colors_);
    std::ranges::fill(memory_, std::byte{0});
    sync_ranks();
    const int partner = companions_of(rank_, 0).partner;
    for (std::size_t i = 0; i < adds * colors_; ++i) {
        acp_add8(olds.at(rank_, 8 * i), at(partner, i % colors_), 1, ACP_HANDLE_NULL);
    }
    expect_done(ACP_HANDLE_ALL);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < adds * colors_; ++i) sum += olds.word<std::uint64_t>(8 * i);
    const std::uint64_t count = adds * colors_;
    EXPECT_EQ(sum, count * (count - 1) / 2);
    sync_ranks();
    EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(memory_.data()), count);
}

}  // namespace
}  // namespace acp::test
