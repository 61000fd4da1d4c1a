// SPDX-License-Identifier: BSD-3-Clause
// What the protocol asks of cryptography: authenticated encryption of one datagram, key derivation, agreement on a
// secret, memory for secrets and random bytes. Knows no library: crypto/ implements it with real ones, the simulator with one that checks instead that
// no key and nonce are used twice. An Aead belongs to one thread; a CipherSuite and Entropy too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/status.hpp"

namespace acp::datagram {

inline constexpr std::size_t tag_bytes = 16;
inline constexpr std::size_t nonce_bytes = 12;
inline constexpr std::size_t key_bytes_max = 32;

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;
using Nonce = std::array<std::byte, nonce_bytes>;

// A text of several pieces, one behind another. Into one place it goes piece by piece, and a piece may lie at its own
// place there already; else it does not overlap.
using Pieces = std::span<const Bytes>;

inline std::size_t bytes_of(Pieces pieces) noexcept {
    std::size_t bytes = 0;
    for (const Bytes piece : pieces) bytes += piece.size();
    return bytes;
}

inline void gather(Pieces pieces, std::byte* into) noexcept {
    for (const Bytes piece : pieces) {
        if (!piece.empty() && piece.data() != into) std::memcpy(into, piece.data(), piece.size());
        into += piece.size();
    }
}

// One key of one direction. Seals at most 2^23 datagrams: the owner changes the key before.
class Aead {
public:
    Aead() = default;
    virtual ~Aead() = default;  // wipes the key
    Aead(const Aead&) = delete;
    Aead& operator=(const Aead&) = delete;

    // Writes plain.size() + tag_bytes bytes to sealed. The two begin at the same place or do not overlap. Never fails.
    virtual void seal(const Nonce& nonce,
                      Bytes additional,
                      Bytes plain,
                      MutableBytes sealed) noexcept = 0;

    // As seal() of the pieces one behind another. Saves the copying where the library takes pieces.
    virtual void seal_pieces(const Nonce& nonce,
                             Bytes additional,
                             Pieces plain,
                             MutableBytes sealed) noexcept {
        gather(plain, sealed.data());
        seal(nonce, additional, sealed.first(bytes_of(plain)), sealed);
    }

    // Opens in place: sealed includes the tag; on true its first size - tag_bytes bytes are the plain text. On
    // false its bytes are unspecified and must not be used.
    [[nodiscard]] virtual bool open(const Nonce& nonce,
                                    Bytes additional,
                                    MutableBytes sealed) noexcept = 0;
};

// Random bytes fit for keys and nonces.
class Entropy {
public:
    Entropy() = default;
    virtual ~Entropy() = default;
    Entropy(const Entropy&) = delete;
    Entropy& operator=(const Entropy&) = delete;
    virtual void fill(MutableBytes out) noexcept = 0;
};

inline constexpr std::size_t public_key_bytes = 32;
using PublicKey = std::array<std::byte, public_key_bytes>;

// One side's key pair of a Diffie-Hellman exchange (X25519, RFC 7748): what two of them agree on cannot be computed
// from all that was sent, whatever else becomes known later.
class KeyAgreement {
public:
    KeyAgreement() = default;
    virtual ~KeyAgreement() = default;  // wipes the private key
    KeyAgreement(const KeyAgreement&) = delete;
    KeyAgreement& operator=(const KeyAgreement&) = delete;

    [[nodiscard]] virtual const PublicKey& public_key() const noexcept = 0;

    // What this side and the owner of the other key share. Costs about a tenth of a millisecond.
    //   out  written on true only; the caller wipes it
    // false: nothing secret can be agreed on with that key (RFC 7748, 6.1), or no memory is left.
    [[nodiscard]] virtual bool agree(const PublicKey& other,
                                     std::span<std::byte, 32> out) noexcept = 0;
};

// Numbers of ciphers in the features of a handshake (WIRE-10).
inline constexpr std::uint8_t number_of_aes_128_gcm = 1;
inline constexpr std::uint8_t number_of_chacha20_poly1305 = 2;

// A cipher and the functions that go with it.
class CipherSuite {
public:
    CipherSuite() = default;
    virtual ~CipherSuite() = default;
    CipherSuite(const CipherSuite&) = delete;
    CipherSuite& operator=(const CipherSuite&) = delete;

    [[nodiscard]] virtual const char* name() const noexcept = 0;  // "aes-128-gcm/libcrypto"
    [[nodiscard]] virtual std::size_t key_bytes() const noexcept = 0;

    // Which cipher this is, whoever computes it; both sides' must be equal.
    [[nodiscard]] virtual std::uint8_t number() const noexcept = 0;

    // A fresh key pair. nullptr when no memory is left.
    [[nodiscard]] virtual std::unique_ptr<KeyAgreement> make_agreement(Entropy& entropy) = 0;

    // Memory for secrets, kept out of core dumps where the platform can: zeroed, aligned to 64 bytes; empty when none
    // is left. To be given back before the suite ends, which wipes it.
    [[nodiscard]] virtual MutableBytes take_secret_memory(std::size_t bytes) noexcept = 0;
    virtual void give_back_secret_memory(MutableBytes memory) noexcept = 0;

    // nullptr when no memory is left.   key.size() == key_bytes()
    [[nodiscard]] virtual std::unique_ptr<Aead> make(Bytes key) noexcept = 0;

    // HKDF with SHA-256 (RFC 5869): extract with salt, expand with info into out, out.size() <= 255 * 32.
    virtual void derive(Bytes secret, Bytes salt, Bytes info, MutableBytes out) noexcept = 0;

    // HMAC with SHA-256, cut to 16 bytes: cookies and handshake messages.
    virtual void authenticate(Bytes key, Bytes message, std::span<std::byte, 16> mac) noexcept = 0;
};

}  // namespace acp::datagram
