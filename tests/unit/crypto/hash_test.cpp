// SPDX-License-Identifier: BSD-3-Clause
// HMAC and HKDF by every library: the vectors of RFC 4231 and RFC 5869, and the limits.
#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "support/refuse_memory.hpp"
#include "unit/crypto/hex.hpp"
#include "unit/crypto/suites.hpp"

namespace acp::crypto::test {
namespace {

using HashTest = SuiteTest;

std::string mac_of(datagram::CipherSuite& suite, const ByteVector& key, const ByteVector& message) {
    std::array<std::byte, 16> mac{};
    suite.authenticate(key, message, mac);
    return to_hex(ByteVector(mac.begin(), mac.end()));
}

TEST_P(HashTest, authenticates_as_rfc_4231_does) {
    EXPECT_EQ(mac_of(*suite_, ByteVector(20, std::byte{0x0b}), from_text("Hi There")),
              "b0344c61d8db38535ca8afceaf0bf12b");
    EXPECT_EQ(mac_of(*suite_, from_text("Jefe"), from_text("what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c7");
    EXPECT_EQ(mac_of(*suite_, ByteVector(20, std::byte{0xaa}), ByteVector(50, std::byte{0xdd})),
              "773ea91e36800e46854db8ebd09181a7");
    EXPECT_EQ(mac_of(*suite_, ByteVector(20, std::byte{0x0c}), from_text("Test With Truncation")),
              "a3b6167473100ee06e0c796c2955552b");
    EXPECT_EQ(mac_of(*suite_, ByteVector(131, std::byte{0xaa}),
                     from_text("Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f");
}

TEST_P(HashTest, authenticates_nothing_and_the_longest_datagram) {
    EXPECT_EQ(mac_of(*suite_, {}, {}), "b613679a0814d9ec772f95d778c35fc5");
    const std::string longest = mac_of(*suite_, counted(0, 32), ByteVector(65'536, std::byte{1}));
    ByteVector changed(65'536, std::byte{1});
    changed.back() = std::byte{2};
    EXPECT_NE(mac_of(*suite_, counted(0, 32), changed), longest);
    EXPECT_EQ(mac_of(*suite_, counted(0, 32), ByteVector(65'536, std::byte{1})), longest);
}

// A key is derived when a connection is made, and that call cannot report a failed allocation.
TEST_P(HashTest, takes_no_memory) {
    const ByteVector key(20, std::byte{0x0b});
    const ByteVector message = from_text("Hi There");
    std::array<std::byte, 16> mac{};
    std::uint64_t requests = 0;
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        suite_->authenticate(key, message, mac);
        requests = acp::test::Refusal::seen();
    }
    EXPECT_EQ(requests, 0U);
    EXPECT_EQ(to_hex(ByteVector(mac.begin(), mac.end())), "b0344c61d8db38535ca8afceaf0bf12b");
}

struct Derivation {
    ByteVector secret;
    ByteVector salt;
    ByteVector info;
    std::string_view expected;
};

TEST_P(HashTest, derives_as_rfc_5869_does) {
    const Derivation derivations[] = {
        {ByteVector(22, std::byte{0x0b}), counted(0, 13), counted(0xf0, 10),
         "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
        {counted(0, 80), counted(0x60, 80), counted(0xb0, 80),
         "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c6"
         "5e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"},
        {ByteVector(22, std::byte{0x0b}),
         {},
         {},
         "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"}};
    for (const Derivation& derivation : derivations) {
        ByteVector out(derivation.expected.size() / 2);
        suite_->derive(derivation.secret, derivation.salt, derivation.info, out);
        EXPECT_EQ(to_hex(out), derivation.expected);
    }
}

TEST_P(HashTest, derives_up_to_255_blocks_of_which_each_is_new) {
    ByteVector out(std::size_t{255} * 32);
    suite_->derive(counted(0, 32), {}, from_text("label"), out);
    ByteVector part(100);
    suite_->derive(counted(0, 32), {}, from_text("label"), part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), out.begin())) << "a shorter one is a prefix";
    for (std::size_t i = 32; i < out.size(); i += 32) {
        const auto block = out.begin() + static_cast<std::ptrdiff_t>(i);
        EXPECT_FALSE(std::equal(block, block + 32, block - 32)) << i;
    }
    suite_->derive(counted(0, 32), {}, {}, {});
}

TEST_P(HashTest, derives_differently_from_any_other_secret_salt_and_label) {
    const auto derive = [&](const ByteVector& secret, const ByteVector& salt, const char* info) {
        ByteVector out(32);
        suite_->derive(secret, salt, from_text(info), out);
        return out;
    };
    const ByteVector first = derive(counted(0, 32), counted(7, 8), "a");
    EXPECT_EQ(derive(counted(0, 32), counted(7, 8), "a"), first);
    EXPECT_NE(derive(counted(1, 32), counted(7, 8), "a"), first);
    EXPECT_NE(derive(counted(0, 32), counted(8, 8), "a"), first);
    EXPECT_NE(derive(counted(0, 32), counted(7, 8), "b"), first);
}

INSTANTIATE_TEST_SUITE_P(All, HashTest, testing::ValuesIn(kinds), name_of);

}  // namespace
}  // namespace acp::crypto::test
