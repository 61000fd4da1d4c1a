// SPDX-License-Identifier: BSD-3-Clause
// The cipher that is chosen if a library is missing, and its message; and the memory for keys.
#include "crypto/choose.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "crypto/key_cells.hpp"

namespace acp::crypto {
namespace {

constexpr std::array<const char*, 1> missing = {"libno-such-library.so.77"};
constexpr std::array<const char*, 1> unfit = {"libc.so.6"};

std::string refusal_of(CipherWish cipher, BackendWish backend, const LibraryNames& names) {
    auto suite = choose(cipher, backend, names);
    if (suite.is_ok()) return std::string("chosen: ") + suite.value()->name();
    EXPECT_EQ(suite.failure().code(), base::Code::unsupported);
    return std::string(suite.failure().message());
}

bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

TEST(Choose, names_the_library_that_is_missing_and_how_to_get_it) {
    const LibraryNames none{missing, missing};
    for (const CipherWish cipher :
         {CipherWish::automatic, CipherWish::aes_128_gcm, CipherWish::chacha20_poly1305}) {
        const std::string text = refusal_of(cipher, BackendWish::automatic, none);
        EXPECT_TRUE(has(text, "libcrypto") && has(text, "libno-such-library.so.77") &&
                    has(text, "apt-get install libssl3"))
            << text;
    }
    if (!has_aes_hardware()) return;
    const LibraryNames one{usual_library_names().libcrypto, missing};
    const std::string text = refusal_of(CipherWish::automatic, BackendWish::ipsec_mb, one);
    EXPECT_TRUE(has(text, "libipsec-mb") && has(text, "apt-get install libipsec-mb1")) << text;
}

TEST(Choose, names_the_function_that_a_library_lacks) {
    const LibraryNames wrong{unfit, unfit};
    const std::string text = refusal_of(CipherWish::aes_128_gcm, BackendWish::libcrypto, wrong);
    EXPECT_TRUE(has(text, "libc.so.6 has no EVP_")) << text;
    if (!has_aes_hardware()) return;
    const LibraryNames one{usual_library_names().libcrypto, unfit};
    const std::string other = refusal_of(CipherWish::aes_128_gcm, BackendWish::ipsec_mb, one);
    EXPECT_TRUE(has(other, "libc.so.6 has no functions")) << other;
}

TEST(Choose, does_without_the_library_that_may_be_missing) {
    const LibraryNames names{usual_library_names().libcrypto, missing};
    auto suite = choose(CipherWish::aes_128_gcm, BackendWish::automatic, names);
    if (!suite.is_ok()) GTEST_SKIP() << suite.failure().message();
    EXPECT_STREQ(suite.value()->name(), "aes-128-gcm/libcrypto");
}

TEST(Choose, takes_libcrypto_for_chacha_where_the_other_library_is_missing) {
    const LibraryNames names{usual_library_names().libcrypto, missing};
    auto suite = choose(CipherWish::chacha20_poly1305, BackendWish::automatic, names);
    if (!suite.is_ok()) GTEST_SKIP() << suite.failure().message();
    EXPECT_STREQ(suite.value()->name(), "chacha20-poly1305/libcrypto");
    if (!has_aes_hardware()) return;
    const std::string text =
        refusal_of(CipherWish::chacha20_poly1305, BackendWish::ipsec_mb, names);
    EXPECT_TRUE(has(text, "ask for libcrypto")) << text;
}

TEST(Choose, gives_what_was_asked_for) {
    auto aes = choose(CipherWish::aes_128_gcm, BackendWish::libcrypto);
    if (!aes.is_ok()) GTEST_SKIP() << aes.failure().message();
    EXPECT_STREQ(aes.value()->name(), "aes-128-gcm/libcrypto");
    EXPECT_EQ(aes.value()->key_bytes(), 16U);
    auto chacha = choose(CipherWish::chacha20_poly1305, BackendWish::libcrypto);
    ASSERT_TRUE(chacha.is_ok()) << chacha.failure().message();
    EXPECT_STREQ(chacha.value()->name(), "chacha20-poly1305/libcrypto");
    EXPECT_EQ(chacha.value()->key_bytes(), 32U);
}

TEST(Resolve, goes_by_the_processor_only_when_nothing_is_wished_for) {
    EXPECT_EQ(resolve(CipherWish::aes_128_gcm), CipherWish::aes_128_gcm);
    EXPECT_EQ(resolve(CipherWish::chacha20_poly1305), CipherWish::chacha20_poly1305);
    EXPECT_EQ(resolve(CipherWish::automatic),
              has_aes_hardware() ? CipherWish::aes_128_gcm : CipherWish::chacha20_poly1305);
}

TEST(SystemEntropy, never_gives_the_same_twice) {
    SystemEntropy entropy;
    std::array<std::byte, 32> first{};
    std::array<std::byte, 32> second{};
    entropy.fill(first);
    entropy.fill(second);
    EXPECT_NE(first, second);
}

TEST(KeyCells, are_apart_aligned_zeroed_and_used_again) {
    constexpr std::size_t cell_bytes = 192;
    KeyCells cells(cell_bytes);
    std::set<std::byte*> starts;
    std::vector<std::span<std::byte>> taken;
    for (std::size_t i = 0; i < 3 * KeyCells::cells_per_piece; ++i) {
        const auto cell = cells.take();
        ASSERT_EQ(cell.size(), cell_bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cell.data()) % 64, 0U);
        for (std::byte* start : starts) {
            EXPECT_TRUE(cell.data() + cell_bytes <= start || start + cell_bytes <= cell.data());
        }
        std::fill(cell.begin(), cell.end(), std::byte{0x5a});
        starts.insert(cell.data());
        taken.push_back(cell);
    }
    for (const auto cell : taken) {
        cells.give_back(cell);
        EXPECT_EQ(std::count(cell.begin(), cell.end(), std::byte{0}), cell_bytes) << "wiped";
    }
    for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(starts.count(cells.take().data()), 1U);
    EXPECT_EQ(starts.count(cells.take().data()), 0U) << "a new one when all are taken";
}

}  // namespace
}  // namespace acp::crypto
