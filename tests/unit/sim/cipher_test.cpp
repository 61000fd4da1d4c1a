// SPDX-License-Identifier: BSD-3-Clause
// The checking cipher opens what it sealed and nothing else, and its ledger sees a nonce used
// twice. Main thread only.
#include "sim/cipher.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace acp::sim {
namespace {

constexpr std::size_t plain_bytes = 61;

class CipherTest : public ::testing::Test {
protected:
    CipherTest() {
        for (std::size_t i = 0; i < plain_.size(); ++i) plain_[i] = static_cast<std::byte>(i * 3);
        key_.fill(std::byte{7});
        other_key_.fill(std::byte{8});
        nonce_[3] = std::byte{1};
    }

    std::vector<std::byte> sealed(datagram::Aead& aead) {
        std::vector<std::byte> out(plain_.size() + datagram::tag_bytes);
        aead.seal(nonce_, header_, plain_, out);
        return out;
    }

    NonceLedger ledger_;
    Judge judge_;
    CheckingSuite suite_{ledger_, judge_};
    std::array<std::byte, 16> key_{};
    std::array<std::byte, 16> other_key_{};
    datagram::Nonce nonce_{};
    std::array<std::byte, 16> header_{};
    std::array<std::byte, plain_bytes> plain_{};
};

TEST_F(CipherTest, opens_what_was_sealed_with_the_same_key_by_another_endpoint) {
    const auto a = suite_.make(key_);
    const auto b = suite_.make(key_);
    std::vector<std::byte> bytes = sealed(*a);
    EXPECT_NE(std::memcmp(bytes.data(), plain_.data(), plain_.size()), 0);
    ASSERT_TRUE(b->open(nonce_, header_, bytes));
    EXPECT_EQ(std::memcmp(bytes.data(), plain_.data(), plain_.size()), 0);
    EXPECT_FALSE(judge_.has_failed());
}

TEST_F(CipherTest, refuses_a_datagram_of_which_any_bit_was_changed) {
    const auto aead = suite_.make(key_);
    const std::vector<std::byte> good = sealed(*aead);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        std::vector<std::byte> bad = good;
        bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        EXPECT_FALSE(aead->open(nonce_, header_, bad)) << bit;
    }
}

TEST_F(CipherTest, refuses_another_key_nonce_header_or_length) {
    const auto aead = suite_.make(key_);
    const std::vector<std::byte> good = sealed(*aead);
    std::vector<std::byte> bytes = good;
    EXPECT_FALSE(suite_.make(other_key_)->open(nonce_, header_, bytes));
    bytes = good;
    datagram::Nonce nonce = nonce_;
    nonce[0] ^= std::byte{1};
    EXPECT_FALSE(aead->open(nonce, header_, bytes));
    bytes = good;
    auto header = header_;
    header[15] ^= std::byte{128};
    EXPECT_FALSE(aead->open(nonce_, header, bytes));
    for (std::size_t length = 0; length < good.size(); ++length) {
        bytes.assign(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
        EXPECT_FALSE(aead->open(nonce_, header_, bytes)) << length;
    }
}

TEST_F(CipherTest, accuses_a_key_and_a_nonce_that_seal_twice_even_by_two_endpoints) {
    sealed(*suite_.make(key_));
    EXPECT_FALSE(judge_.has_failed());
    sealed(*suite_.make(other_key_));
    EXPECT_FALSE(judge_.has_failed());
    sealed(*suite_.make(key_));
    EXPECT_TRUE(judge_.has_failed());
}

TEST_F(CipherTest, remembers_every_nonce_of_a_long_run) {
    for (std::uint64_t nonce = 0; nonce < 20'000; ++nonce) ASSERT_TRUE(ledger_.add(1, nonce));
    for (std::uint64_t nonce = 0; nonce < 20'000; ++nonce) ASSERT_FALSE(ledger_.add(1, nonce));
    EXPECT_EQ(ledger_.size(), 20'000U);
}

TEST_F(CipherTest, derives_other_bytes_for_other_words) {
    std::array<std::byte, 40> a{};
    std::array<std::byte, 40> b{};
    suite_.derive(key_, header_, plain_, a);
    suite_.derive(key_, header_, plain_, b);
    EXPECT_EQ(a, b);
    suite_.derive(key_, header_, std::span(plain_).first(60), b);
    EXPECT_NE(a, b);
    suite_.derive(other_key_, header_, plain_, b);
    EXPECT_NE(a, b);
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
