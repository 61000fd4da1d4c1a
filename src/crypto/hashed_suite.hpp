// SPDX-License-Identifier: BSD-3-Clause
// HMAC and HKDF over a SHA-256 that a library computes: RFC 2104 and RFC 5869. What is secret between the steps
// is wiped after them. Knows no library. One thread. Tests:
// tests/unit/crypto/hash_test.cpp.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>

#include "datagram/cipher.hpp"
#include "os/secret_memory.hpp"

namespace acp::crypto {

using datagram::Bytes;
using datagram::MutableBytes;

inline constexpr std::size_t hash_bytes = 32;
inline constexpr std::size_t hash_block_bytes = 64;
inline constexpr std::size_t message_bytes_max =
    65'536;  // of all parts together: more than any datagram

using Digest = std::span<std::byte, hash_bytes>;

class HashedSuite : public datagram::CipherSuite {
public:
    // Memory for the constructor. Errors: memory, unsupported.
    static base::Result<os::SecretMemory> make_scratch();

    explicit HashedSuite(os::SecretMemory scratch) noexcept : scratch_(std::move(scratch)) {}

    void derive(Bytes secret, Bytes salt, Bytes info, MutableBytes out) noexcept final;
    void authenticate(Bytes key, Bytes message, std::span<std::byte, 16> mac) noexcept final;

protected:
    virtual void sha256(Bytes data, Digest digest) noexcept = 0;

private:
    void mac(Bytes key, std::initializer_list<Bytes> parts, Digest result) noexcept;

    os::SecretMemory scratch_;
};

}  // namespace acp::crypto
