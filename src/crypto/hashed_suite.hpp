// SPDX-License-Identifier: BSD-3-Clause
// The base of the suites with secrecy: HMAC and HKDF (RFC 2104 and RFC 5869) over a SHA-256 that a
// library computes, and key agreement by libcrypto. Secret intermediate values lie in the scratch
// memory and are wiped after use. One thread.
// Tests: tests/unit/crypto/hash_test.cpp.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>

#include "crypto/libcrypto.hpp"
#include "crypto/storing_suite.hpp"
#include "datagram/cipher.hpp"
#include "os/secret_memory.hpp"

namespace acp::crypto {

inline constexpr std::size_t hash_bytes = 32;
inline constexpr std::size_t hash_block_bytes = 64;
// The most bytes of a message, all parts together: more than any datagram.
inline constexpr std::size_t message_bytes_max = 65'536;

using Digest = std::span<std::byte, hash_bytes>;

class HashedSuite : public StoringSuite {
public:
    // Allocates the scratch memory for the constructor. Errors: memory, unsupported.
    static base::Result<os::SecretMemory> make_scratch();

    //   agreement  the library that computes key agreement
    HashedSuite(os::SecretMemory scratch, std::shared_ptr<const Libcrypto> agreement) noexcept
        : scratch_(std::move(scratch)), agreement_(std::move(agreement)) {}

    void derive(Bytes secret, Bytes salt, Bytes info, MutableBytes out) noexcept final;
    void authenticate(Bytes key, Bytes message, std::span<std::byte, 16> mac) noexcept final;
    [[nodiscard]] std::unique_ptr<datagram::KeyAgreement> make_agreement(
        datagram::Entropy& entropy) final;

protected:
    // Computes SHA-256 of a contiguous message.
    virtual void sha256(Bytes data, Digest digest) noexcept = 0;

private:
    void mac(Bytes key, std::initializer_list<Bytes> parts, Digest result) noexcept;

    os::SecretMemory scratch_;
    std::shared_ptr<const Libcrypto> agreement_;
};

}  // namespace acp::crypto
