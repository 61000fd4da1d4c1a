// SPDX-License-Identifier: BSD-3-Clause
// Everything is one 64-bit hash, run over bytes eight at a time.
#include "support/test_cipher.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace acp::test {
namespace {

using base::mix64;
using datagram::Bytes;
using datagram::MutableBytes;
using datagram::Nonce;

std::uint64_t word_at(const std::byte* bytes, std::size_t count) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, count);
    return word;
}

// One multiplication per eight bytes, so that the cipher takes little of a test's time.
std::uint64_t hash(std::uint64_t state, Bytes bytes) noexcept {
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        state = (state ^ word_at(bytes.data() + i, 8)) * 0x9fb21c651e98df25U;
        state ^= state >> 32;
    }
    if (i < bytes.size()) {
        state = (state ^ word_at(bytes.data() + i, bytes.size() - i)) * 0x9fb21c651e98df25U;
        state ^= state >> 32;
    }
    return mix64(state + bytes.size());
}

void put_tag(std::uint64_t state, std::byte* tag) noexcept {
    const std::uint64_t other = mix64(state ^ 0x5bd1e995U);
    std::memcpy(tag, &state, 8);
    std::memcpy(tag + 8, &other, 8);
}

class TestAead final : public datagram::Aead {
public:
    TestAead(TestSuite& suite, std::uint64_t key, bool notes) noexcept
        : suite_(suite), key_(key), notes_(notes) {}

    void seal(const Nonce& nonce,
              Bytes additional,
              Bytes plain,
              MutableBytes sealed) noexcept override {
        if (notes_) suite_.note(key_, nonce);
        const std::uint64_t stream = hash(key_, nonce);
        const std::uint64_t tag = hash(hash(stream, additional), plain);
        if (!plain.empty()) std::memcpy(sealed.data(), plain.data(), plain.size());
        mask(stream, sealed.first(plain.size()));
        put_tag(tag, sealed.data() + plain.size());
    }

    [[nodiscard]] bool open(const Nonce& nonce,
                            Bytes additional,
                            MutableBytes sealed) noexcept override {
        if (sealed.size() < datagram::tag_bytes) return false;
        const MutableBytes plain = sealed.first(sealed.size() - datagram::tag_bytes);
        const std::uint64_t stream = hash(key_, nonce);
        mask(stream, plain);
        std::byte tag[datagram::tag_bytes];
        put_tag(hash(hash(stream, additional), plain), tag);
        return std::memcmp(tag, sealed.data() + plain.size(), sizeof tag) == 0;
    }

private:
    static void mask(std::uint64_t stream, MutableBytes bytes) noexcept {
        std::size_t i = 0;
        for (; i + 8 <= bytes.size(); i += 8) {
            const std::uint64_t word = word_at(bytes.data() + i, 8) ^ (stream + i);
            std::memcpy(bytes.data() + i, &word, 8);
        }
        for (; i < bytes.size(); ++i) bytes[i] ^= static_cast<std::byte>(stream >> (8 * (i & 7)));
    }

    TestSuite& suite_;
    std::uint64_t key_;
    bool notes_;
};

std::uint64_t number_of(const datagram::PublicKey& key) noexcept {
    return word_at(key.data(), 8);
}

// The inverse of an odd number modulo 2^64: each step doubles the bits that are right.
constexpr std::uint64_t inverse(std::uint64_t odd) noexcept {
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
}

void fill_shared(std::uint64_t number, std::span<std::byte, 32> out) noexcept {
    for (std::size_t i = 0; i < out.size(); i += 8) {
        number = mix64(number);
        std::memcpy(out.data() + i, &number, 8);
    }
}

class TestAgreement final : public datagram::KeyAgreement {
public:
    TestAgreement(TestSuite& suite, std::uint64_t drawn) noexcept
        : suite_(suite), own_(drawn | 1U) {
        const std::uint64_t number = own_ * agreement_base;
        std::memcpy(public_key_.data(), &number, 8);
    }

    [[nodiscard]] const datagram::PublicKey& public_key() const noexcept override {
        return public_key_;
    }

    [[nodiscard]] bool agree(const datagram::PublicKey& other,
                             std::span<std::byte, 32> out) noexcept override {
        suite_.note_agreed();
        if (number_of(other) == 0) return false;
        fill_shared(number_of(other) * own_, out);
        return true;
    }

private:
    TestSuite& suite_;
    std::uint64_t own_;
    datagram::PublicKey public_key_{};
};

}  // namespace

void share(const datagram::PublicKey& one,
           const datagram::PublicKey& other,
           std::span<std::byte, 32> out) noexcept {
    fill_shared(number_of(one) * number_of(other) * inverse(agreement_base), out);
}

std::unique_ptr<datagram::KeyAgreement> TestSuite::make_agreement(datagram::Entropy& entropy) {
    std::array<std::byte, 8> drawn{};
    entropy.fill(drawn);
    return std::make_unique<TestAgreement>(*this, word_at(drawn.data(), 8));
}

std::unique_ptr<datagram::Aead> TestSuite::make(Bytes key) noexcept {
    if (starved_ > 0) {
        --starved_;
        return nullptr;
    }
    ++keys_made_;
    return std::unique_ptr<datagram::Aead>(new (std::nothrow)
                                               TestAead(*this, hash(1, key), notes_nonces_));
}

void TestSuite::derive(Bytes secret, Bytes salt, Bytes info, MutableBytes out) noexcept {
    std::uint64_t state = hash(hash(hash(2, secret), salt), info);
    for (std::size_t i = 0; i < out.size(); i += 8) {
        state = mix64(state);
        std::memcpy(out.data() + i, &state, std::min<std::size_t>(8, out.size() - i));
    }
}

void TestSuite::authenticate(Bytes key, Bytes message, std::span<std::byte, 16> mac) noexcept {
    put_tag(hash(hash(3, key), message), mac.data());
}

void TestSuite::note(std::uint64_t key, const Nonce& nonce) {
    if (!seen_.insert(hash(mix64(key), nonce)).second) ++repeated_;
}

}  // namespace acp::test
