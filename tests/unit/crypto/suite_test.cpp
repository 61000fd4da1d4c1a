// SPDX-License-Identifier: BSD-3-Clause
// Every cipher by every library: published vectors, tampering with each bit, and the libraries
// against each other.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"

#include "unit/crypto/hex.hpp"
#include "unit/crypto/suites.hpp"

namespace acp::crypto::test {
namespace {

struct Vector {
    std::string_view key;
    std::string_view nonce;
    std::string_view additional;
    std::string_view plain;
    std::string_view sealed;  // includes the tag
};

constexpr std::string_view sixty_bytes =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b5"
    "25"
    "b16aedf5aa0de657ba637b39";

// Cases 1 to 4 of the paper that proposed GCM to NIST (McGrew and Viega, "The Galois/Counter Mode
// of Operation"), which NIST SP 800-38D is checked with.
constexpr Vector aes_vectors[] = {
    {"00000000000000000000000000000000", "000000000000000000000000", "", "",
     "58e2fccefa7e3061367f1d57a4e7455a"},
    {"00000000000000000000000000000000", "000000000000000000000000", "",
     "00000000000000000000000000000000",
     "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"},
    {"feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", "",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b"
     "525"
     "b16aedf5aa0de657ba637b391aafd255",
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84a"
     "a05"
     "1ba30b396a0aac973d58e091473f59854d5c2af327cd64a62cf35abd2ba6fab4"},
    {"feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2", sixty_bytes,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84a"
     "a05"
     "1ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47"}};

// RFC 8439, section 2.8.2: "Ladies and Gentlemen of the class of '99: ...".
constexpr Vector chacha_vectors[] = {
    {"808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f", "070000004041424344454647",
     "50515253c0c1c2c3c4c5c6c7",
     "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a20496620492"
     "063"
     "6f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220746865206675747572652c2073756"
     "e73"
     "637265656e20776f756c642062652069742e",
     "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da927"
     "28b"
     "1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d"
     "7bc"
     "3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691"}};

datagram::Nonce nonce_of(const ByteVector& bytes) {
    datagram::Nonce nonce{};
    std::copy(bytes.begin(), bytes.end(), nonce.begin());
    return nonce;
}

ByteVector random_bytes(base::Random& random, std::size_t count) {
    ByteVector bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 17);
    return bytes;
}

ByteVector seal(datagram::Aead& aead,
                const ByteVector& nonce,
                const ByteVector& additional,
                const ByteVector& plain) {
    ByteVector sealed(plain.size() + datagram::tag_bytes);
    aead.seal(nonce_of(nonce), additional, plain, sealed);
    return sealed;
}

// Returns the plain text; a single byte ff if the seal is wrong.
ByteVector open(datagram::Aead& aead,
                const ByteVector& nonce,
                const ByteVector& additional,
                ByteVector sealed) {
    if (!aead.open(nonce_of(nonce), additional, sealed)) return {std::byte{0xff}};
    return {sealed.begin(), sealed.end() - static_cast<std::ptrdiff_t>(datagram::tag_bytes)};
}

const ByteVector unopened = {std::byte{0xff}};

class AeadTest : public SuiteTest {
protected:
    std::unique_ptr<datagram::Aead> make(const ByteVector& key) {
        EXPECT_EQ(key.size(), suite_->key_bytes());
        auto aead = suite_->make(key);
        EXPECT_NE(aead, nullptr);
        return aead;
    }

    std::unique_ptr<datagram::Aead> make() { return make(counted(1, suite_->key_bytes())); }
};

TEST_P(AeadTest, seals_and_opens_the_published_vectors) {
    const bool is_aes = GetParam().cipher == CipherWish::aes_128_gcm;
    for (const Vector& vector :
         is_aes ? std::span<const Vector>(aes_vectors) : std::span<const Vector>(chacha_vectors)) {
        auto aead = make(from_hex(vector.key));
        const ByteVector nonce = from_hex(vector.nonce);
        const ByteVector additional = from_hex(vector.additional);
        const ByteVector plain = from_hex(vector.plain);
        EXPECT_EQ(to_hex(seal(*aead, nonce, additional, plain)), vector.sealed);
        EXPECT_EQ(to_hex(open(*aead, nonce, additional, from_hex(vector.sealed))), vector.plain);
    }
}

// Three pieces of various sizes, the last of them already at its place.
TEST_P(AeadTest, seals_pieces_as_the_whole) {
    base::Random random(3);
    auto aead = make();
    const ByteVector nonce = random_bytes(random, datagram::nonce_bytes);
    const ByteVector additional = random_bytes(random, 16);
    for (int round = 0; round < 500; ++round) {
        const std::size_t first = random() % 100;
        const std::size_t second = round % 2 == 0 ? random() % 40 : random() % 9000;
        const std::size_t third = round % 3 == 0 ? 0 : random() % 70;
        const ByteVector plain = random_bytes(random, first + second + third);
        const datagram::Bytes whole = plain;
        ByteVector sealed(plain.size() + datagram::tag_bytes);
        std::copy(plain.begin() + static_cast<std::ptrdiff_t>(first + second), plain.end(),
                  sealed.begin() + static_cast<std::ptrdiff_t>(first + second));
        const datagram::Bytes pieces[] = {whole.first(first), whole.subspan(first, second),
                                          datagram::Bytes(sealed).subspan(first + second, third)};
        aead->seal_pieces(nonce_of(nonce), additional, pieces, sealed);
        ASSERT_TRUE(sealed == seal(*aead, nonce, additional, plain))
            << first << " + " << second << " + " << third << " bytes";
    }
}

TEST_P(AeadTest, opens_what_it_sealed_at_every_size) {
    base::Random random(1);
    auto sender = make();
    auto receiver = make();
    for (std::size_t size = 0; size <= 600; ++size) {
        const ByteVector nonce = random_bytes(random, datagram::nonce_bytes);
        const ByteVector additional = random_bytes(random, size % 41);
        const ByteVector plain = random_bytes(random, size);
        const ByteVector sealed = seal(*sender, nonce, additional, plain);
        EXPECT_EQ(open(*receiver, nonce, additional, sealed), plain) << size;
    }
    for (const std::size_t size : {std::size_t{1456}, std::size_t{8956}, std::size_t{65'491}}) {
        const ByteVector nonce = random_bytes(random, datagram::nonce_bytes);
        const ByteVector plain = random_bytes(random, size);
        EXPECT_EQ(open(*receiver, nonce, {}, seal(*sender, nonce, {}, plain)), plain) << size;
    }
}

TEST_P(AeadTest, seals_and_opens_in_turns_with_one_key) {
    auto aead = make();
    const ByteVector nonce(datagram::nonce_bytes, std::byte{3});
    const ByteVector first = seal(*aead, nonce, {}, from_text("first"));
    EXPECT_EQ(open(*aead, nonce, {}, first), from_text("first"));
    EXPECT_EQ(open(*aead, nonce, {}, ByteVector(20)), unopened);
    EXPECT_EQ(seal(*aead, nonce, {}, from_text("first")), first) << "after a failure as before";
    EXPECT_EQ(open(*aead, nonce, {}, first), from_text("first"));
}

TEST_P(AeadTest, opens_nothing_with_any_bit_changed) {
    auto aead = make();
    const ByteVector nonce = counted(9, datagram::nonce_bytes);
    const ByteVector additional = counted(50, 24);
    const ByteVector sealed = seal(*aead, nonce, additional, counted(0, 61));
    for (const std::size_t length : {nonce.size(), additional.size(), sealed.size()}) {
        ASSERT_GT(length, 0U);
    }
    const auto flipped = [](ByteVector bytes, std::size_t bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        return bytes;
    };
    for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
        EXPECT_EQ(open(*aead, nonce, additional, flipped(sealed, bit)), unopened) << bit;
    }
    for (std::size_t bit = 0; bit < additional.size() * 8; ++bit) {
        EXPECT_EQ(open(*aead, nonce, flipped(additional, bit), sealed), unopened) << bit;
    }
    for (std::size_t bit = 0; bit < nonce.size() * 8; ++bit) {
        EXPECT_EQ(open(*aead, flipped(nonce, bit), additional, sealed), unopened) << bit;
    }
    EXPECT_EQ(open(*aead, nonce, additional, sealed), counted(0, 61));
}

TEST_P(AeadTest, opens_nothing_that_was_shortened_or_lengthened) {
    auto aead = make();
    const ByteVector nonce = counted(9, datagram::nonce_bytes);
    const ByteVector sealed = seal(*aead, nonce, counted(0, 8), counted(0, 40));
    for (std::size_t size = 0; size < sealed.size(); ++size) {
        const ByteVector shorter(sealed.begin(),
                                 sealed.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_EQ(open(*aead, nonce, counted(0, 8), shorter), unopened) << size;
    }
    ByteVector longer = sealed;
    longer.push_back(std::byte{0});
    EXPECT_EQ(open(*aead, nonce, counted(0, 8), longer), unopened);
    EXPECT_EQ(open(*aead, nonce, counted(0, 7), sealed), unopened);
    EXPECT_EQ(open(*aead, nonce, counted(0, 9), sealed), unopened);
}

TEST_P(AeadTest, opens_nothing_of_another_key) {
    auto aead = make();
    auto other = make(counted(2, suite_->key_bytes()));
    const ByteVector nonce = counted(9, datagram::nonce_bytes);
    const ByteVector sealed = seal(*aead, nonce, {}, from_text("secret"));
    EXPECT_EQ(open(*other, nonce, {}, sealed), unopened);
}

TEST_P(AeadTest, authenticates_without_encrypting_when_all_is_additional) {
    auto aead = make();
    const ByteVector nonce = counted(9, datagram::nonce_bytes);
    ByteVector message = counted(0, 1400);
    const ByteVector tag = seal(*aead, nonce, message, {});
    ASSERT_EQ(tag.size(), datagram::tag_bytes);
    EXPECT_EQ(open(*aead, nonce, message, tag), ByteVector{});
    message[700] ^= std::byte{1};
    EXPECT_EQ(open(*aead, nonce, message, tag), unopened);
}

TEST_P(AeadTest, writes_no_byte_behind_the_tag) {
    auto aead = make();
    ByteVector sealed(100 + datagram::tag_bytes + 64, std::byte{0xee});
    aead->seal(datagram::Nonce{}, {}, counted(0, 100), sealed);
    EXPECT_EQ(std::count(sealed.begin() + 100 + datagram::tag_bytes, sealed.end(), std::byte{0xee}),
              64);
}

TEST_P(AeadTest, lives_beside_many_others_and_longer_than_its_suite) {
    std::vector<std::unique_ptr<datagram::Aead>> many;
    const ByteVector nonce(datagram::nonce_bytes);
    std::vector<ByteVector> sealed;
    for (unsigned i = 0; i < 100; ++i) {
        many.push_back(make(counted(i, suite_->key_bytes())));
        sealed.push_back(seal(*many.back(), nonce, {}, from_text("same")));
    }
    for (std::size_t i = 0; i < many.size(); i += 3) many[i].reset();
    auto late = make(counted(200, suite_->key_bytes()));
    suite_.reset();
    for (std::size_t i = 0; i < many.size(); ++i) {
        if (many[i] != nullptr) {
            EXPECT_EQ(open(*many[i], nonce, {}, sealed[i]), from_text("same")) << i;
        }
    }
    EXPECT_EQ(open(*late, nonce, {}, sealed[0]), unopened);
}

INSTANTIATE_TEST_SUITE_P(All, AeadTest, testing::ValuesIn(kinds), name_of);

class BackendsTest : public testing::TestWithParam<CipherWish> {};

TEST_P(BackendsTest, seal_alike_and_open_each_other_at_random_sizes) {
    auto one = choose(GetParam(), BackendWish::libcrypto);
    auto two = choose(GetParam(), BackendWish::ipsec_mb);
    if (!one.is_ok()) GTEST_SKIP() << one.failure().message();
    if (!two.is_ok()) GTEST_SKIP() << two.failure().message();
    constexpr std::uint64_t seed = 20'240'601;
    base::Random random(seed);
    for (int round = 0; round < 2000; ++round) {
        const ByteVector key = random_bytes(random, one.value()->key_bytes());
        auto first = one.value()->make(key);
        auto second = two.value()->make(key);
        const ByteVector nonce = random_bytes(random, datagram::nonce_bytes);
        const ByteVector additional = random_bytes(random, random.below(70));
        const std::uint64_t size_max = round % 10 == 0 ? 9000 : 300;
        const ByteVector plain = random_bytes(random, random.below(size_max));
        const ByteVector sealed = seal(*first, nonce, additional, plain);
        ASSERT_EQ(to_hex(seal(*second, nonce, additional, plain)), to_hex(sealed))
            << "seed " << seed << " round " << round;
        ASSERT_EQ(open(*second, nonce, additional, sealed), plain) << round;
        ASSERT_EQ(open(*first, nonce, additional, sealed), plain) << round;
        std::array<std::array<std::byte, 16>, 2> macs{};
        one.value()->authenticate(key, plain, macs[0]);
        two.value()->authenticate(key, plain, macs[1]);
        ASSERT_EQ(macs[0], macs[1]) << round;
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         BackendsTest,
                         testing::Values(CipherWish::aes_128_gcm, CipherWish::chacha20_poly1305),
                         [](const testing::TestParamInfo<CipherWish>& cipher) {
                             return cipher.param == CipherWish::aes_128_gcm ? "aes" : "chacha";
                         });

}  // namespace
}  // namespace acp::crypto::test
