// SPDX-License-Identifier: BSD-3-Clause
// Intel's libipsec-mb, looked for at run time: its functions for single messages of AES-128-GCM in the variant
// that fits the processor, declared by hand, and the cipher suite made of them. Expanded keys lie in secret
// memory. x86-64 only: elsewhere the library does not exist. Loading: any thread; a suite: one. Tests:
// tests/unit/crypto/suite_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "crypto/choose.hpp"
#include "crypto/libcrypto.hpp"
#include "datagram/cipher.hpp"
#include "os/shared_library.hpp"

namespace acp::crypto {

class IpsecMb {
public:
    // What the library keeps of a key, and of a message under way: 1024 and 96 bytes in the versions known,
    // and room for more.
    static constexpr std::size_t key_data_bytes = 2048;
    static constexpr std::size_t message_data_bytes = 512;

    // Errors: unsupported (none of these libraries is there, or it lacks a function, or the processor has no
    // instructions for AES; what to do).
    static Result<std::shared_ptr<const IpsecMb>> load(std::span<const char* const> names);

    void (*expand_key)(const void* key, void* key_data) = nullptr;
    void (*encrypt)(const void* key_data,
                    void* message_data,
                    std::uint8_t* out,
                    const std::uint8_t* in,
                    std::uint64_t bytes,
                    const std::uint8_t* nonce,
                    const std::uint8_t* additional,
                    std::uint64_t additional_bytes,
                    std::uint8_t* tag,
                    std::uint64_t tag_bytes) = nullptr;
    decltype(encrypt) decrypt = nullptr;
    // The same by pieces.
    void (*begin)(const void* key_data,
                  void* message_data,
                  const std::uint8_t* nonce,
                  const std::uint8_t* additional,
                  std::uint64_t additional_bytes) = nullptr;
    void (*encrypt_piece)(const void* key_data,
                          void* message_data,
                          std::uint8_t* out,
                          const std::uint8_t* in,
                          std::uint64_t bytes) = nullptr;
    void (*end_encryption)(const void* key_data,
                           void* message_data,
                           std::uint8_t* tag,
                           std::uint64_t tag_bytes) = nullptr;
    void (*sha256)(const void* data, std::uint64_t bytes, void* digest) = nullptr;

    // "vaes_avx512", "avx512", "avx_gen4", "avx_gen2", "sse"
    [[nodiscard]] const char* variant() const noexcept { return variant_; }

    [[nodiscard]] const os::SharedLibrary& file() const noexcept { return library_; }

private:
    explicit IpsecMb(os::SharedLibrary library) noexcept : library_(std::move(library)) {}

    [[nodiscard]] bool find_variant(const char* variant);

    os::SharedLibrary library_;
    const char* variant_ = "";
};

// AES-128-GCM. Errors: memory.
Result<std::unique_ptr<datagram::CipherSuite>> make_suite(
    std::shared_ptr<const IpsecMb> library, std::shared_ptr<const Libcrypto> agreement);

}  // namespace acp::crypto
