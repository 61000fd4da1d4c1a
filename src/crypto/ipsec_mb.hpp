// SPDX-License-Identifier: BSD-3-Clause
// Intel's libipsec-mb, loaded at run time: its functions for single messages of AES-128-GCM in the
// variant that fits the processor, declared by hand, and the cipher suite made of them. Expanded
// keys lie in secret memory. x86-64 only: elsewhere the library does not exist. Any thread may load
// it; a suite belongs to one thread.
// Tests: tests/unit/crypto/suite_test.cpp.
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
    // Sizes of the library's expanded key and of its state for a message in progress: 1024 and 96
    // bytes in the known versions, with room to spare.
    static constexpr std::size_t key_data_bytes = 2048;
    static constexpr std::size_t message_data_bytes = 512;

    // Loads the first library that exists and binds its functions. Errors: unsupported (no library
    // was found, it lacks a function, or the processor has no AES instructions; says what to do).
    static Result<std::shared_ptr<const IpsecMb>> load(std::span<const char* const> names);

    // The functions, bound by load(). Whatever is named key_data or message_data must have the
    // sizes above.
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
    // Encryption of a message piece by piece.
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

// Makes the suite AES-128-GCM. Errors: memory.
Result<std::unique_ptr<datagram::CipherSuite>> make_suite(
    std::shared_ptr<const IpsecMb> library, std::shared_ptr<const Libcrypto> agreement);

}  // namespace acp::crypto
