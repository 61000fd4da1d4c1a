// SPDX-License-Identifier: BSD-3-Clause
// Key agreement: the vectors of RFC 7748, and public keys that allow no agreement.
#include "crypto/x25519.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "crypto/choose.hpp"

#include "support/refuse_memory.hpp"
#include "unit/crypto/hex.hpp"

namespace acp::crypto {
namespace {

class X25519Test : public testing::Test {
protected:
    void SetUp() override {
        auto library = Libcrypto::load(usual_library_names().libcrypto);
        if (!library.is_ok()) GTEST_SKIP() << library.failure().message();
        library_ = std::move(library).value();
    }

    [[nodiscard]] std::unique_ptr<X25519> with(const char* hex) const {
        const auto bytes = test::from_hex(hex);
        auto made = X25519::make(library_, std::span<const std::byte, 32>(bytes.data(), 32));
        if (!made.is_ok()) return nullptr;
        return std::move(made).value();
    }

    std::shared_ptr<const Libcrypto> library_;
};

datagram::PublicKey key_of(const char* hex) {
    const auto bytes = test::from_hex(hex);
    datagram::PublicKey key{};
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
}

// RFC 7748, 6.1
TEST_F(X25519Test, agrees_on_the_shared_secret_of_the_rfc) {
    const auto alice = with("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
    const auto bob = with("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
    ASSERT_TRUE(alice != nullptr && bob != nullptr);
    EXPECT_EQ(alice->public_key(),
              key_of("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"));
    EXPECT_EQ(bob->public_key(),
              key_of("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"));
    datagram::PublicKey shared{};
    ASSERT_TRUE(alice->agree(bob->public_key(), shared));
    EXPECT_EQ(shared, key_of("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"));
}

// Must run in a process without an earlier agreement, as ctest runs it: libcrypto allocates objects
// at its first agreement, and never again if that fails. Among its some 140 allocations, number 40
// and those after it are among these.
TEST_F(X25519Test, agrees_again_after_memory_was_refused_to_its_first_agreement) {
    SystemEntropy entropy;
    const auto own = X25519::draw(library_, entropy);
    const auto other = X25519::draw(library_, entropy);
    ASSERT_TRUE(own.is_ok() && other.is_ok());
    datagram::PublicKey shared{};
    {
        const acp::test::Refusal refusal(40, 10);
        (void)own.value()->agree(other.value()->public_key(), shared);
    }
    EXPECT_TRUE(own.value()->agree(other.value()->public_key(), shared));
    datagram::PublicKey also_shared{};
    EXPECT_TRUE(other.value()->agree(own.value()->public_key(), also_shared));
    EXPECT_EQ(shared, also_shared);
}

TEST_F(X25519Test, refuses_keys_of_small_order) {
    SystemEntropy entropy;
    auto own = X25519::draw(library_, entropy);
    ASSERT_TRUE(own.is_ok()) << own.failure().message();
    std::array<std::byte, 32> out{};
    // The points of order 1, 2, 4 and 8, and their twins beyond the prime.
    for (const char* weak : {"0000000000000000000000000000000000000000000000000000000000000000",
                             "0100000000000000000000000000000000000000000000000000000000000000",
                             "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                             "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                             "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                             "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                             "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
        EXPECT_FALSE(own.value()->agree(key_of(weak), out)) << weak;
    }
}

TEST_F(X25519Test, two_agree_and_a_third_does_not) {
    SystemEntropy entropy;
    auto one = X25519::draw(library_, entropy);
    auto other = X25519::draw(library_, entropy);
    auto third = X25519::draw(library_, entropy);
    ASSERT_TRUE(one.is_ok() && other.is_ok() && third.is_ok());
    std::array<std::byte, 32> ours{};
    std::array<std::byte, 32> theirs{};
    std::array<std::byte, 32> strange{};
    ASSERT_TRUE(one.value()->agree(other.value()->public_key(), ours));
    ASSERT_TRUE(other.value()->agree(one.value()->public_key(), theirs));
    ASSERT_TRUE(third.value()->agree(one.value()->public_key(), strange));
    EXPECT_EQ(ours, theirs);
    EXPECT_NE(ours, strange);
}

}  // namespace
}  // namespace acp::crypto
