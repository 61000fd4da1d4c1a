// SPDX-License-Identifier: BSD-3-Clause
// Hashes in place of cryptography.
#include "crypto/clear_suite.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "hash/xxh3.hpp"

namespace acp::crypto {

using datagram::Bytes;
using datagram::MutableBytes;

namespace {

// Seals zeros and opens nothing: a caller that reaches it by mistake sends no plain text.
class NoAead final : public datagram::Aead {
public:
    void seal(const datagram::Nonce& /*nonce*/,
              Bytes /*additional*/,
              Bytes /*plain*/,
              MutableBytes sealed) noexcept override {
        std::fill(sealed.begin(), sealed.end(), std::byte{0});
    }

    [[nodiscard]] bool open(const datagram::Nonce& /*nonce*/,
                            Bytes /*additional*/,
                            MutableBytes /*sealed*/) noexcept override {
        return false;
    }
};

// Each 8 bytes are the hash of their place under the seed.
void expand(std::uint64_t seed, MutableBytes out) noexcept {
    for (std::uint64_t place = 0; place < out.size(); place += sizeof seed) {
        const std::uint64_t word = hash::xxh3(std::as_bytes(std::span(&place, 1)), seed);
        std::memcpy(out.data() + place, &word,
                    std::min<std::size_t>(sizeof word, out.size() - place));
    }
}

}  // namespace

std::unique_ptr<datagram::KeyAgreement> ClearSuite::make_agreement(datagram::Entropy& /*entropy*/) {
    return nullptr;
}

std::unique_ptr<datagram::Aead> ClearSuite::make(Bytes /*key*/) noexcept {
    return std::unique_ptr<datagram::Aead>(new (std::nothrow) NoAead);
}

void ClearSuite::derive(Bytes secret, Bytes salt, Bytes info, MutableBytes out) noexcept {
    expand(hash::xxh3(info, hash::xxh3(salt, hash::xxh3(secret, 0))), out);
}

void ClearSuite::authenticate(Bytes key, Bytes message, std::span<std::byte, 16> mac) noexcept {
    expand(hash::xxh3(message, hash::xxh3(key, 0)), mac);
}

}  // namespace acp::crypto
