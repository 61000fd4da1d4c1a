// SPDX-License-Identifier: BSD-3-Clause
// The cipher suites that tests run over: every cipher by every library that computes it.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "crypto/choose.hpp"

namespace acp::crypto::test {

struct Kind {
    CipherWish cipher;
    BackendWish backend;
};

inline constexpr Kind kinds[] = {{CipherWish::aes_128_gcm, BackendWish::libcrypto},
                                 {CipherWish::aes_128_gcm, BackendWish::ipsec_mb},
                                 {CipherWish::chacha20_poly1305, BackendWish::libcrypto},
                                 {CipherWish::chacha20_poly1305, BackendWish::ipsec_mb}};

inline std::string name_of(const testing::TestParamInfo<Kind>& info) {
    return std::string(info.param.cipher == CipherWish::aes_128_gcm ? "aes" : "chacha") + "_" +
           (info.param.backend == BackendWish::libcrypto ? "libcrypto" : "ipsec_mb");
}

// A test over one suite; skipped, with the reason, where its library is not installed.
class SuiteTest : public testing::TestWithParam<Kind> {
protected:
    void SetUp() override {
        auto suite = choose(GetParam().cipher, GetParam().backend);
        if (!suite.is_ok()) GTEST_SKIP() << suite.failure().message();
        suite_ = std::move(suite).value();
    }

    std::unique_ptr<datagram::CipherSuite> suite_;
};

}  // namespace acp::crypto::test
