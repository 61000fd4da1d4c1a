// SPDX-License-Identifier: BSD-3-Clause
// OpenSSL's libcrypto, 1.1.1 or 3, loaded at run time: the functions used, declared by hand, and
// the cipher suites made of them. The expanded key of a cipher lies in the library's own memory,
// which the library wipes when the cipher is freed. Any thread may load it; a suite belongs to one
// thread.
// Tests: tests/unit/crypto/suite_test.cpp.
#pragma once

#include <memory>
#include <span>

#include "base/status.hpp"
#include "crypto/choose.hpp"
#include "datagram/cipher.hpp"
#include "os/shared_library.hpp"

namespace acp::crypto {

using datagram::Bytes;
using datagram::MutableBytes;

// The library's opaque types.
struct EvpCipher;
struct EvpCipherContext;
struct Engine;
struct EvpKey;
struct EvpKeyContext;

// Room for the library's SHA256_CTX of 112 bytes.
struct alignas(16) Sha256Context {
    std::byte state[256];
};

// The library's functions; find_all() says which is which. 1 means success.
struct LibcryptoFunctions {
    EvpCipherContext* (*new_context)() = nullptr;
    void (*free_context)(EvpCipherContext*) = nullptr;
    int (*encrypt_init)(EvpCipherContext*,
                        const EvpCipher*,
                        Engine*,
                        const unsigned char* key,
                        const unsigned char* nonce) = nullptr;
    int (*encrypt_update)(EvpCipherContext*,
                          unsigned char* out,
                          int* out_bytes,
                          const unsigned char* in,
                          int bytes) = nullptr;
    int (*encrypt_final)(EvpCipherContext*, unsigned char* out, int* out_bytes) = nullptr;
    decltype(encrypt_init) decrypt_init = nullptr;
    decltype(encrypt_update) decrypt_update = nullptr;
    decltype(encrypt_final) decrypt_final = nullptr;
    int (*control)(EvpCipherContext*, int command, int argument, void* pointer) = nullptr;
    const EvpCipher* (*aes_128_gcm)() = nullptr;
    const EvpCipher* (*chacha20_poly1305)() = nullptr;
    // SHA-256 by the low-level functions: those of EVP allocate memory for each hash, and a failure
    // of that could not be reported.
    int (*sha256_init)(Sha256Context*) = nullptr;
    int (*sha256_update)(Sha256Context*, const void* data, std::size_t bytes) = nullptr;
    int (*sha256_final)(unsigned char* out, Sha256Context*) = nullptr;

    // Key agreement.
    EvpKey* (*new_private_key)(int type,
                               Engine*,
                               const unsigned char* key,
                               std::size_t bytes) = nullptr;
    decltype(new_private_key) new_public_key = nullptr;
    void (*free_key)(EvpKey*) = nullptr;
    int (*get_public_key)(const EvpKey*, unsigned char* out, std::size_t* bytes) = nullptr;
    EvpKeyContext* (*new_key_context)(EvpKey*, Engine*) = nullptr;
    void (*free_key_context)(EvpKeyContext*) = nullptr;
    int (*begin_derivation)(EvpKeyContext*) = nullptr;
    int (*set_derivation_peer)(EvpKeyContext*, EvpKey*) = nullptr;
    int (*derive)(EvpKeyContext*, unsigned char* out, std::size_t* bytes) = nullptr;
    // Initialisation. initialize() returns 0 on failure. get_default_context() exists in version 3
    // only and returns nullptr on failure.
    int (*initialize)(std::uint64_t options, const void* settings) = nullptr;
    void* (*get_default_context)() = nullptr;
    int (*set_error_mark)() = nullptr;
    int (*pop_to_error_mark)() = nullptr;
};

class Libcrypto : public LibcryptoFunctions {
public:
    // Loads the first library that exists and binds its functions. Errors: unsupported (no library
    // was found, or it lacks a function; says what to install), memory.
    static Result<std::shared_ptr<const Libcrypto>> load(std::span<const char* const> names);

private:
    explicit Libcrypto(os::SharedLibrary library) noexcept : library_(std::move(library)) {}

    [[nodiscard]] const char* find_all() noexcept;

    os::SharedLibrary library_;
};

// Makes a suite. Errors: memory, unsupported (this build of the library refuses the cipher).
//   cipher  not automatic
Result<std::unique_ptr<datagram::CipherSuite>> make_suite(std::shared_ptr<const Libcrypto> library,
                                                          CipherWish cipher);

}  // namespace acp::crypto
