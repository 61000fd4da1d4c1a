// SPDX-License-Identifier: BSD-3-Clause
// Draws the key pair and instance of an endpoint, and derives the keys of a connection. One thread.
#include "datagram/credentials.hpp"

#include <array>
#include <new>

namespace acp::datagram {

Credentials::Credentials(const Settings& settings,
                         CipherSuite& suite,
                         Entropy& entropy,
                         EndpointCounters& counters)
    : settings_(settings),
      suite_(suite),
      counters_(counters),
      secrets_(settings.job_key, settings.job_id, suite) {
    if (settings_.security != base::Security::off) {
        agreement_ = suite_.make_agreement(entropy);
        if (agreement_ == nullptr) throw std::bad_alloc();
    }
    std::array<std::byte, 8> drawn{};
    while (instance_ == 0) {
        entropy.fill(drawn);
        instance_ = load<std::uint64_t>(drawn.data());
    }
}

Features Credentials::features() const noexcept {
    const bool is_on = settings_.security != base::Security::off;
    return {static_cast<std::uint8_t>(settings_.security),
            static_cast<std::uint8_t>(settings_.key_packets_log2),
            is_on ? suite_.number() : std::uint8_t{0}, is_on ? std::uint8_t{1} : std::uint8_t{0}};
}

bool Credentials::agree(NodeId node,
                        const Parties& parties,
                        const PublicKey& other,
                        ConnectionKeys& keys) noexcept {
    SecretPointer<Secret> shared = make_in_secret_memory<Secret>(suite_);
    keys.secret = make_in_secret_memory<Secret>(suite_);
    if (shared == nullptr || keys.secret == nullptr) {
        ++counters_.no_memory;
        return false;
    }
    if (agreement_ != nullptr && !agreement_->agree(other, *shared)) {
        ++counters_.weak_key;
        return false;
    }
    // With security off there is no key pair: the connection's secret then depends on the job key
    // and nonces alone.
    const Bytes agreed = agreement_ == nullptr ? Bytes{} : Bytes(*shared);
    derive_connection_secret(secrets_.traffic, agreed, parties, suite_, *keys.secret);
    if (!keys.receive.begin(*keys.secret, node, 0, suite_) ||
        !make_direction_key(*keys.secret, settings_.node, 0, suite_, keys.send)) {
        ++counters_.no_memory;
        return false;
    }
    return true;
}

}  // namespace acp::datagram
