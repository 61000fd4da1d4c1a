// SPDX-License-Identifier: BSD-3-Clause
// Pieces of secret memory of any size, apart from each other, zeroed, and used again.
#include "crypto/secret_store.hpp"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

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

}  // namespace
}  // namespace acp::crypto
