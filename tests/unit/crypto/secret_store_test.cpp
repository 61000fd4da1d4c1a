// SPDX-License-Identifier: BSD-3-Clause
// Pieces of secret memory of any size: they do not overlap, are zeroed, and are reused.
#include "crypto/secret_store.hpp"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "support/refuse_memory.hpp"

namespace acp::crypto {
namespace {

TEST(SecretStore, pieces_of_all_sizes_are_apart_zeroed_and_aligned) {
    SecretStore store;
    std::vector<std::span<std::byte>> taken;
    for (const std::size_t bytes : {1U, 32U, 64U, 65U, 4096U, 27'000U, 32U, 65U}) {
        const auto piece = store.take(bytes);
        ASSERT_EQ(piece.size(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.data()) % 64, 0U);
        EXPECT_EQ(static_cast<std::size_t>(std::count(piece.begin(), piece.end(), std::byte{0})),
                  bytes);
        std::fill(piece.begin(), piece.end(), std::byte{0x5a});
        taken.push_back(piece);
    }
    for (const auto piece : taken) {
        EXPECT_EQ(static_cast<std::size_t>(std::count(piece.begin(), piece.end(), std::byte{0x5a})),
                  piece.size());
    }
    for (const auto piece : taken) store.give_back(piece);
    const auto again = store.take(64);
    EXPECT_EQ(std::count(again.begin(), again.end(), std::byte{0}), 64);
    store.give_back(again);
}

TEST(SecretStore, gives_nothing_where_there_is_no_memory_and_more_when_there_is) {
    for (const std::size_t bytes : {32U, 4096U}) {
        for (std::uint64_t first = 1; first <= 8; ++first) {
            SecretStore store;
            std::span<std::byte> piece;
            {
                const acp::test::Refusal refusal(first, acp::test::all_from_there);
                piece = store.take(bytes);
            }
            EXPECT_TRUE(piece.empty() || piece.size() == bytes);
            const auto another = store.take(bytes);
            ASSERT_EQ(another.size(), bytes);
            store.give_back(another);
            if (!piece.empty()) store.give_back(piece);
        }
    }
}

}  // namespace
}  // namespace acp::crypto
