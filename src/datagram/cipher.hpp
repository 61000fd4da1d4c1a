// SPDX-License-Identifier: BSD-3-Clause
// What the protocol needs from cryptography: an AEAD cipher for datagrams, key derivation,
// Diffie-Hellman key agreement, memory for secrets, and random bytes. Knows no library: crypto/
// implements it with real ones; the simulator implements it with one that checks that no key and
// nonce are used twice. Each object belongs to one thread.
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

// A text in several pieces, in order. It is assembled in one place piece by piece. A piece may lie
// already where it belongs in the result; otherwise no piece may overlap the result.
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

// An AEAD cipher with the key of one direction of a connection. It seals at most 2^23 datagrams:
// the owner changes the key before (WIRE-30). The owner never passes the same nonce twice to
// seal().
class Aead {
public:
    Aead() = default;
    virtual ~Aead() = default;  // wipes the key
    Aead(const Aead&) = delete;
    Aead& operator=(const Aead&) = delete;

    // Writes plain.size() + tag_bytes bytes to `sealed`. Never fails.
    //   nonce           never used before with this key
    //   additional      authenticated, but not encrypted
    //   plain, sealed   begin at the same place, or do not overlap
    virtual void seal(const Nonce& nonce,
                      Bytes additional,
                      Bytes plain,
                      MutableBytes sealed) noexcept = 0;

    // Seals the concatenation of the pieces. Spares the copy if the library accepts pieces; this
    // fallback makes it.
    virtual void seal_pieces(const Nonce& nonce,
                             Bytes additional,
                             Pieces plain,
                             MutableBytes sealed) noexcept {
        gather(plain, sealed.data());
        seal(nonce, additional, sealed.first(bytes_of(plain)), sealed);
    }

    // Verifies and decrypts in place. `sealed` includes the tag. On true its first size - tag_bytes
    // bytes are the plain text. On false its bytes are unspecified and must not be used.
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

// One side's key pair of a Diffie-Hellman exchange (X25519, RFC 7748). Pairs live no longer than an
// endpoint, so the secrets agreed on cannot be computed later, even by someone who recorded all
// traffic and then learns the job key (forward secrecy).
class KeyAgreement {
public:
    KeyAgreement() = default;
    virtual ~KeyAgreement() = default;  // wipes the private key
    KeyAgreement(const KeyAgreement&) = delete;
    KeyAgreement& operator=(const KeyAgreement&) = delete;

    [[nodiscard]] virtual const PublicKey& public_key() const noexcept = 0;

    // Computes the secret that this side shares with the owner of the other key. Takes about a
    // tenth of a millisecond.
    //   out  written on true only; the caller must wipe it
    // Returns false if the result would be all zero, so not secret (RFC 7748, 6.1), or if there is
    // no memory.
    [[nodiscard]] virtual bool agree(const PublicKey& other,
                                     std::span<std::byte, 32> out) noexcept = 0;
};

// Numbers of the ciphers in a handshake's features (WIRE-10).
inline constexpr std::uint8_t number_of_aes_128_gcm = 1;
inline constexpr std::uint8_t number_of_chacha20_poly1305 = 2;

// A cipher suite: an AEAD, and the key derivation and MAC that go with it.
class CipherSuite {
public:
    CipherSuite() = default;
    virtual ~CipherSuite() = default;
    CipherSuite(const CipherSuite&) = delete;
    CipherSuite& operator=(const CipherSuite&) = delete;

    [[nodiscard]] virtual const char* name() const noexcept = 0;  // "aes-128-gcm/libcrypto"
    [[nodiscard]] virtual std::size_t key_bytes() const noexcept = 0;

    // The number of the cipher, which does not depend on the library that computes it. Both sides
    // of a connection must have the same.
    [[nodiscard]] virtual std::uint8_t number() const noexcept = 0;

    // Makes a fresh key pair; nullptr if there is no memory.
    [[nodiscard]] virtual std::unique_ptr<KeyAgreement> make_agreement(Entropy& entropy) = 0;

    // Takes memory for secrets, which is kept out of core dumps where the platform allows it:
    // zeroed and aligned to 64 bytes; empty if there is none. It must be given back before the
    // suite is destroyed; giving it back wipes it.
    [[nodiscard]] virtual MutableBytes take_secret_memory(std::size_t bytes) noexcept = 0;
    virtual void give_back_secret_memory(MutableBytes memory) noexcept = 0;

    // Makes an AEAD with this key; nullptr if there is no memory.
    //   key  key_bytes() long
    [[nodiscard]] virtual std::unique_ptr<Aead> make(Bytes key) noexcept = 0;

    // HKDF with SHA-256 (RFC 5869): extracts with `salt`, then expands with `info` to out.size() <=
    // 255 * 32 bytes.
    virtual void derive(Bytes secret, Bytes salt, Bytes info, MutableBytes out) noexcept = 0;

    // HMAC with SHA-256, truncated to 16 bytes; used for cookies and handshake messages.
    virtual void authenticate(Bytes key, Bytes message, std::span<std::byte, 16> mac) noexcept = 0;
};

}  // namespace acp::datagram
