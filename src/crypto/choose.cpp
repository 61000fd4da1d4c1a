// SPDX-License-Identifier: BSD-3-Clause
// Chooses a cipher suite from the user's wish, the processor's features and the libraries
// installed.
#include "crypto/choose.hpp"

#include <array>
#include <utility>

#include "crypto/clear_suite.hpp"
#include "crypto/ipsec_mb.hpp"
#include "crypto/ipsec_mb_jobs.hpp"
#include "crypto/libcrypto.hpp"
#include "os/cpu.hpp"
#include "os/random_bytes.hpp"

namespace acp::crypto {

namespace {

constexpr std::array<const char*, 2> libcrypto_names = {"libcrypto.so.3", "libcrypto.so.1.1"};
constexpr std::array<const char*, 1> ipsec_mb_names = {"libIPSec_MB.so.1"};

Result<std::unique_ptr<datagram::CipherSuite>> choose_ipsec_mb(
    CipherWish cipher, const LibraryNames& names, std::shared_ptr<const Libcrypto> agreement) {
    auto library = IpsecMb::load(names.ipsec_mb);
    if (!library.is_ok()) return std::move(library).failure();
    if (cipher == CipherWish::aes_128_gcm)
        return make_suite(std::move(library).value(), std::move(agreement));
    auto jobs = IpsecMbJobs::open(std::move(library).value());
    if (!jobs.is_ok()) return std::move(jobs).failure();
    return make_suite(std::move(jobs).value(), std::move(agreement));
}

}  // namespace

bool has_aes_hardware() noexcept {
    return os::aes_unit() != os::AesUnit::none;
}

CipherWish resolve(CipherWish wish) noexcept {
    if (wish != CipherWish::automatic) return wish;
    return has_aes_hardware() ? CipherWish::aes_128_gcm : CipherWish::chacha20_poly1305;
}

LibraryNames usual_library_names() noexcept {
    return {libcrypto_names, ipsec_mb_names};
}

Result<std::unique_ptr<datagram::CipherSuite>> choose(CipherWish cipher,
                                                      BackendWish backend,
                                                      const LibraryNames& names) {
    cipher = resolve(cipher);
    // Key agreement needs libcrypto, whichever library computes the cipher.
    auto library = Libcrypto::load(names.libcrypto);
    if (!library.is_ok()) return std::move(library).failure();
    if (backend != BackendWish::libcrypto) {
        auto suite = choose_ipsec_mb(cipher, names, library.value());
        if (suite.is_ok() || backend == BackendWish::ipsec_mb) return suite;
    }
    return make_suite(std::move(library).value(), cipher);
}

Result<std::unique_ptr<datagram::CipherSuite>> suite_for(base::Security security,
                                                         CipherWish cipher,
                                                         BackendWish backend,
                                                         const LibraryNames& names) {
    if (security != base::Security::off) return choose(cipher, backend, names);
    return std::unique_ptr<datagram::CipherSuite>(std::make_unique<ClearSuite>());
}

void SystemEntropy::fill(datagram::MutableBytes out) noexcept {
    os::fill_random(out);
}

}  // namespace acp::crypto
