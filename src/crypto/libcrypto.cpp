// SPDX-License-Identifier: BSD-3-Clause
// Loads the library and binds its functions.
#include "crypto/libcrypto.hpp"

#include <string>

namespace acp::crypto {

namespace {

constexpr const char* advice =
    "; install OpenSSL's library (Debian: apt-get install libssl3; Fedora: dnf install "
    "openssl-libs)";

}  // namespace

Result<std::shared_ptr<const Libcrypto>> Libcrypto::load(std::span<const char* const> names) {
    auto library = os::SharedLibrary::open(names);
    if (!library.is_ok() && library.failure().code() != base::Code::unsupported) {
        return std::move(library).failure().within("libcrypto");
    }
    if (!library.is_ok()) {
        return base::Status(base::Code::unsupported,
                            "libcrypto: " + std::string(library.failure().message()) + advice);
    }
    std::shared_ptr<Libcrypto> loaded(new Libcrypto(std::move(library).value()));
    if (const char* missing = loaded->find_all(); missing != nullptr) {
        return base::Status(
            base::Code::unsupported,
            loaded->library_.name() + " has no " + missing + "; 1.1.1 or newer does" + advice);
    }
    // The library's other functions assume that initialisation succeeded, and would use what is
    // missing if it did not.
    if (loaded->initialize(0, nullptr) == 0 ||
        (loaded->get_default_context != nullptr && loaded->get_default_context() == nullptr)) {
        return base::Status(base::Code::memory,
                            loaded->library_.name() + " could not be set up: no memory for it");
    }
    return std::shared_ptr<const Libcrypto>(std::move(loaded));
}

// Binds all functions. Returns the name of one that is missing; nullptr if all are there.
const char* Libcrypto::find_all() noexcept {
    const char* missing = nullptr;
    const auto find = [&](const char* symbol, auto*& function) {
        if (!library_.find(symbol, function) && missing == nullptr) missing = symbol;
    };
    find("EVP_CIPHER_CTX_new", new_context);
    find("EVP_CIPHER_CTX_free", free_context);
    find("EVP_EncryptInit_ex", encrypt_init);
    find("EVP_EncryptUpdate", encrypt_update);
    find("EVP_EncryptFinal_ex", encrypt_final);
    find("EVP_DecryptInit_ex", decrypt_init);
    find("EVP_DecryptUpdate", decrypt_update);
    find("EVP_DecryptFinal_ex", decrypt_final);
    find("EVP_CIPHER_CTX_ctrl", control);
    find("EVP_aes_128_gcm", aes_128_gcm);
    find("EVP_chacha20_poly1305", chacha20_poly1305);
    find("SHA256_Init", sha256_init);
    find("SHA256_Update", sha256_update);
    find("SHA256_Final", sha256_final);
    find("EVP_PKEY_new_raw_private_key", new_private_key);
    find("EVP_PKEY_new_raw_public_key", new_public_key);
    find("EVP_PKEY_free", free_key);
    find("EVP_PKEY_get_raw_public_key", get_public_key);
    find("EVP_PKEY_CTX_new", new_key_context);
    find("EVP_PKEY_CTX_free", free_key_context);
    find("EVP_PKEY_derive_init", begin_derivation);
    find("EVP_PKEY_derive_set_peer", set_derivation_peer);
    find("EVP_PKEY_derive", derive);
    find("OPENSSL_init_crypto", initialize);
    find("ERR_set_mark", set_error_mark);
    find("ERR_pop_to_mark", pop_to_error_mark);
    if (!library_.find("OSSL_LIB_CTX_get0_global_default", get_default_context)) {
        get_default_context = nullptr;
    }
    return missing;
}

}  // namespace acp::crypto
