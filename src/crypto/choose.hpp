// SPDX-License-Identifier: BSD-3-Clause
// Chooses the cipher that protects the datagrams and the library that computes it. Libraries are
// loaded at run time; nothing is linked. All nodes of a job must use the same cipher; each may use
// another library. Knows no protocol. Any thread may call; a suite belongs to one thread. Tests:
// tests/unit/crypto.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/config.hpp"
#include "base/status.hpp"
#include "datagram/cipher.hpp"

namespace acp::crypto {

using base::Result;

enum class CipherWish : std::uint8_t { automatic, aes_128_gcm, chacha20_poly1305 };
enum class BackendWish : std::uint8_t { automatic, libcrypto, ipsec_mb };

// Whether the processor has instructions for AES and for GCM's multiplication. Without them AES-GCM
// is slow, and ChaCha20-Poly1305 is the better choice.
[[nodiscard]] bool has_aes_hardware() noexcept;

// What `automatic` means on this machine; never `automatic`. The process that starts a job resolves
// it once, for all nodes.
[[nodiscard]] CipherWish resolve(CipherWish wish) noexcept;

// The file names under which the libraries are searched; the first one that exists is loaded. Tests
// pass others.
struct LibraryNames {
    std::span<const char* const> libcrypto;
    std::span<const char* const> ipsec_mb;
};

[[nodiscard]] LibraryNames usual_library_names() noexcept;

// Loads the libraries and makes a suite. libcrypto is always needed, for key agreement. The
// automatic backend is libipsec-mb if it is installed and supports this processor (for
// ChaCha20-Poly1305 only its version 1.3), otherwise libcrypto. Errors: unsupported (a library is
// missing or lacks something; the message names it and the package to install), memory.
Result<std::unique_ptr<datagram::CipherSuite>> choose(
    CipherWish cipher, BackendWish backend, const LibraryNames& names = usual_library_names());

// The suite of a job: choose(), or with security off a ClearSuite, which needs no library and
// agrees on no key. Errors: those of choose().
Result<std::unique_ptr<datagram::CipherSuite>> suite_for(
    base::Security security,
    CipherWish cipher,
    BackendWish backend,
    const LibraryNames& names = usual_library_names());

// Random bytes from the kernel.
class SystemEntropy final : public datagram::Entropy {
public:
    void fill(datagram::MutableBytes out) noexcept override;
};

}  // namespace acp::crypto
