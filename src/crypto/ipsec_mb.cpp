// SPDX-License-Identifier: BSD-3-Clause
// Loads the library and finds the best of its variants that this processor can run.
#include "crypto/ipsec_mb.hpp"

#include <array>
#include <string>

#include "os/cpu.hpp"

namespace acp::crypto {

namespace {

struct Variant {
    os::AesUnit needs;
    const char* name;
};

// The variants of the library's functions, best first.
constexpr std::array<Variant, 5> variants = {{{os::AesUnit::vaes, "vaes_avx512"},
                                              {os::AesUnit::avx512, "avx512"},
                                              {os::AesUnit::avx2, "avx_gen4"},
                                              {os::AesUnit::avx, "avx_gen2"},
                                              {os::AesUnit::plain, "sse"}}};

}  // namespace

Result<std::shared_ptr<const IpsecMb>> IpsecMb::load(std::span<const char* const> names) {
    const os::AesUnit unit = os::aes_unit();
    if (unit == os::AesUnit::none) {
        return base::Status(base::Code::unsupported,
                            "libipsec-mb: this processor has no instructions for AES, which it "
                            "needs; ask for libcrypto");
    }
    auto library = os::SharedLibrary::open(names);
    if (!library.is_ok()) {
        return base::Status(base::Code::unsupported,
                            "libipsec-mb: " + std::string(library.failure().message()) +
                                "; install it (Debian: apt-get install libipsec-mb1) or ask for "
                                "libcrypto");
    }
    std::shared_ptr<IpsecMb> loaded(new IpsecMb(std::move(library).value()));
    for (const Variant& variant : variants) {
        if (variant.needs <= unit && loaded->find_variant(variant.name)) {
            return std::shared_ptr<const IpsecMb>(std::move(loaded));
        }
    }
    return base::Status(base::Code::unsupported,
                        loaded->library_.name() +
                            " has no functions for single messages of AES-128-GCM; version 1.3 "
                            "does. Or ask for libcrypto");
}

bool IpsecMb::find_variant(const char* variant) {
    const std::string suffix = std::string("_128_") + variant;
    variant_ = variant;
    // Only a few bytes are hashed now and then, so the plainest SHA-256 will do.
    return library_.find(("aes_gcm_pre" + suffix).c_str(), expand_key) &&
           library_.find(("aes_gcm_enc" + suffix).c_str(), encrypt) &&
           library_.find(("aes_gcm_dec" + suffix).c_str(), decrypt) &&
           library_.find(("aes_gcm_init" + suffix).c_str(), begin) &&
           library_.find((std::string("aes_gcm_enc_128_update_") + variant).c_str(),
                         encrypt_piece) &&
           library_.find((std::string("aes_gcm_enc_128_finalize_") + variant).c_str(),
                         end_encryption) &&
           library_.find("sha256_sse", sha256);
}

}  // namespace acp::crypto
