// SPDX-License-Identifier: BSD-3-Clause
// The suite of a job with ACP_SECURITY=off: no library, no key agreement and no secrecy. Its keys
// and MACs are XXH3 hashes, which detect datagrams of another job and damaged ones; a third party
// can forge them. Its AEAD passes nothing, because the datagram layer calls none with security off.
// One thread. Tests: tests/unit/crypto/clear_suite_test.cpp.
#pragma once

#include <memory>

#include "crypto/storing_suite.hpp"
#include "datagram/cipher.hpp"

namespace acp::crypto {

class ClearSuite final : public StoringSuite {
public:
    [[nodiscard]] const char* name() const noexcept override { return "none"; }

    [[nodiscard]] std::size_t key_bytes() const noexcept override { return 16; }

    // The number of no cipher, which security off announces in the handshake.
    [[nodiscard]] std::uint8_t number() const noexcept override { return 0; }

    // Returns nullptr: with security off the datagram layer makes no key pair.
    [[nodiscard]] std::unique_ptr<datagram::KeyAgreement> make_agreement(
        datagram::Entropy& entropy) override;

    [[nodiscard]] std::unique_ptr<datagram::Aead> make(datagram::Bytes key) noexcept override;

    // Fills `out` with hashes of all three inputs.
    void derive(datagram::Bytes secret,
                datagram::Bytes salt,
                datagram::Bytes info,
                datagram::MutableBytes out) noexcept override;

    void authenticate(datagram::Bytes key,
                      datagram::Bytes message,
                      std::span<std::byte, 16> mac) noexcept override;
};

}  // namespace acp::crypto
