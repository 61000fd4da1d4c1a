// SPDX-License-Identifier: BSD-3-Clause
// A cipher suite for tests: fast, deterministic, keyed, worthless as a cipher. A wrong key, nonce,
// header or bit makes opening fail as with a real one. It can note every key and nonce sealed with
// and count those used twice. One thread per suite.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "base/random.hpp"
#include "datagram/cipher.hpp"
#include "sim/unprotected_suite.hpp"

namespace acp::test {

class TestSuite final : public sim::UnprotectedSuite {
public:
    // Noting takes memory and time: for tests that ask for it.
    explicit TestSuite(bool notes_nonces = false) noexcept : notes_nonces_(notes_nonces) {}

    [[nodiscard]] const char* name() const noexcept override { return "test"; }

    [[nodiscard]] std::size_t key_bytes() const noexcept override { return 16; }

    [[nodiscard]] std::uint8_t number() const noexcept override { return number_; }

    // Makes the suite report the number of another cipher.
    void pretend(std::uint8_t number) noexcept { number_ = number; }

    [[nodiscard]] std::unique_ptr<datagram::KeyAgreement> make_agreement(
        datagram::Entropy& entropy) override;

    [[nodiscard]] std::uint64_t keys_made() const noexcept { return keys_made_; }

    [[nodiscard]] std::uint64_t agreed() const noexcept {
        return agreed_;
    }  // key agreements computed

    void note_agreed() noexcept { ++agreed_; }

    [[nodiscard]] std::unique_ptr<datagram::Aead> make(datagram::Bytes key) noexcept override;
    void derive(datagram::Bytes secret,
                datagram::Bytes salt,
                datagram::Bytes info,
                datagram::MutableBytes out) noexcept override;
    void authenticate(datagram::Bytes key,
                      datagram::Bytes message,
                      std::span<std::byte, 16> mac) noexcept override;

    // Called by its ciphers.
    void note(std::uint64_t key, const datagram::Nonce& nonce);

    [[nodiscard]] std::uint64_t nonces_repeated() const noexcept { return repeated_; }

    [[nodiscard]] std::uint64_t nonces_seen() const noexcept { return seen_.size(); }

    // Makes the next `count` calls of make() fail for lack of memory.
    void starve(int count) noexcept { starved_ = count; }

private:
    bool notes_nonces_;
    int starved_ = 0;
    std::uint8_t number_ = datagram::number_of_aes_128_gcm;
    std::uint64_t keys_made_ = 0;
    std::uint64_t agreed_ = 0;
    std::uint64_t repeated_ = 0;
    std::unordered_set<std::uint64_t>
        seen_;  // hashes: a collision would be one in 2^40 for 2^12 of them
};

// Worthless, too: multiplication modulo 2^64. An eavesdropper who has both public keys can compute
// the shared secret.
inline constexpr std::uint64_t agreement_base = 0x9e3779b97f4a7c15U;  // odd
void share(const datagram::PublicKey& one,
           const datagram::PublicKey& other,
           std::span<std::byte, 32> out) noexcept;

// Random bytes from a seed.
class TestEntropy final : public datagram::Entropy {
public:
    explicit TestEntropy(std::uint64_t seed) noexcept : random_(seed) {}

    void fill(datagram::MutableBytes out) noexcept override {
        for (std::byte& byte : out) byte = static_cast<std::byte>(random_() >> 32);
    }

private:
    base::Random random_;
};

}  // namespace acp::test
