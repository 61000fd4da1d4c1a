// SPDX-License-Identifier: BSD-3-Clause
// A cipher suite for the simulator: fast, and without cryptographic worth. But a changed bit makes
// open() fail, sealed bytes differ from the plain ones, and a ledger that all endpoints of a run
// share, also across restarts, detects a pair of key and nonce that seals twice. One thread.
// Tests: tests/unit/sim/cipher_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "datagram/cipher.hpp"
#include "sim/judge.hpp"
#include "sim/unprotected_suite.hpp"

namespace acp::sim {

// All pairs of key and nonce that were used to seal, as a set of 64-bit hashes. With 10^5 seals in
// a run two hashes collide, and the ledger reports a false reuse, in one of 10^9 runs.
class NonceLedger {
public:
    NonceLedger();
    // Adds a pair. Returns false if it was there already.
    bool add(std::uint64_t key, std::uint64_t nonce);

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

private:
    void grow();

    std::vector<std::uint64_t> cells_;  // hash table with open addressing; 0: empty
    std::uint64_t size_ = 0;
};

class CheckingSuite final : public UnprotectedSuite {
public:
    // Both arguments must outlive the suite and what it makes.
    CheckingSuite(NonceLedger& ledger, Judge& judge) noexcept : ledger_(&ledger), judge_(&judge) {}

    [[nodiscard]] const char* name() const noexcept override { return "checking"; }

    [[nodiscard]] std::size_t key_bytes() const noexcept override { return 16; }

    [[nodiscard]] std::uint8_t number() const noexcept override {
        return datagram::number_of_aes_128_gcm;
    }

    [[nodiscard]] std::unique_ptr<datagram::KeyAgreement> make_agreement(
        datagram::Entropy& entropy) override;
    [[nodiscard]] std::unique_ptr<datagram::Aead> make(datagram::Bytes key) noexcept override;
    void derive(datagram::Bytes secret,
                datagram::Bytes salt,
                datagram::Bytes info,
                datagram::MutableBytes out) noexcept override;
    void authenticate(datagram::Bytes key,
                      datagram::Bytes message,
                      std::span<std::byte, 16> mac) noexcept override;

    // Keys made so far: shows how much work a forger causes.
    [[nodiscard]] std::uint64_t made() const noexcept { return made_; }

private:
    NonceLedger* ledger_;
    Judge* judge_;
    std::uint64_t made_ = 0;
};

class SeededEntropy final : public datagram::Entropy {
public:
    explicit SeededEntropy(std::uint64_t seed) noexcept : random_(seed) {}

    void fill(datagram::MutableBytes out) noexcept override;

private:
    base::Random random_;
};

}  // namespace acp::sim
