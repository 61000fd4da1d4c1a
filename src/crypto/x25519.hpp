// SPDX-License-Identifier: BSD-3-Clause
// A key pair of X25519 (RFC 7748), computed by libcrypto. The private key lies in secret memory;
// the library has a copy only while it computes. One thread.
// Tests: tests/unit/crypto/x25519_test.cpp.
#pragma once

#include <memory>
#include <span>

#include "crypto/libcrypto.hpp"
#include "datagram/cipher.hpp"
#include "os/secret_memory.hpp"

namespace acp::crypto {

class X25519 final : public datagram::KeyAgreement {
public:
    // Makes a pair with this private key. Errors: memory, unsupported (this build of the library
    // refuses X25519).
    static Result<std::unique_ptr<X25519>> make(
        std::shared_ptr<const Libcrypto> library,
        std::span<const std::byte, datagram::public_key_bytes> private_key);

    // Makes a pair with a fresh private key. Errors: as make().
    static Result<std::unique_ptr<X25519>> draw(std::shared_ptr<const Libcrypto> library,
                                                datagram::Entropy& entropy);

    [[nodiscard]] const datagram::PublicKey& public_key() const noexcept override {
        return public_key_;
    }

    [[nodiscard]] bool agree(const datagram::PublicKey& other,
                             std::span<std::byte, 32> out) noexcept override;

private:
    X25519(std::shared_ptr<const Libcrypto> library, os::SecretMemory memory)
    noexcept : library_(std::move(library)), private_key_(std::move(memory)) {}

    // These return false if the library refuses the algorithm or a key, or if there is no memory.
    [[nodiscard]] bool compute_public_key() noexcept;
    [[nodiscard]] bool has_agreed();
    [[nodiscard]] bool derive(EvpKey* own,
                              EvpKey* other,
                              std::span<std::byte, 32> out) const noexcept;

    std::shared_ptr<const Libcrypto> library_;
    os::SecretMemory private_key_;
    datagram::PublicKey public_key_{};
};

}  // namespace acp::crypto
