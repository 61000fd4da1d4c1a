// SPDX-License-Identifier: BSD-3-Clause
// Which cipher protects the datagrams and which library computes it. The libraries are looked for when the
// program runs; nothing is linked. The cipher must be the same on all nodes of a job, the library need not be.
// Knows nothing of protocols. Any thread; a suite belongs to one. Tests: tests/unit/crypto.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "datagram/cipher.hpp"

namespace acp::crypto {

using base::Result;

enum class CipherWish : std::uint8_t { automatic, aes_128_gcm, chacha20_poly1305 };
enum class BackendWish : std::uint8_t { automatic, libcrypto, ipsec_mb };

// Whether the processor has instructions for AES and for GCM's multiplication. Without them AES-GCM is slow, and
// ChaCha20-Poly1305 the better choice.
[[nodiscard]] bool has_aes_hardware() noexcept;

// What `automatic` means on this machine; never `automatic`. Whoever starts a job decides once, for all nodes.
[[nodiscard]] CipherWish resolve(CipherWish wish) noexcept;

// The files in which the libraries are looked for, the first that is there is taken; tests name others.
struct LibraryNames {
    std::span<const char* const> libcrypto;
    std::span<const char* const> ipsec_mb;
};

[[nodiscard]] LibraryNames usual_library_names() noexcept;

// libcrypto is always needed: by it gateways agree on keys. Automatic backend: libipsec-mb where it is installed and the processor is fit for it, for ChaCha20-Poly1305 in
// version 1.3 only; else libcrypto. Errors: unsupported (a library is missing, or has not what is needed; the message names it and the
// package that brings it), memory.
Result<std::unique_ptr<datagram::CipherSuite>> choose(
    CipherWish cipher, BackendWish backend, const LibraryNames& names = usual_library_names());

// Random bytes by the kernel.
class SystemEntropy final : public datagram::Entropy {
public:
    void fill(datagram::MutableBytes out) noexcept override;
};

}  // namespace acp::crypto
