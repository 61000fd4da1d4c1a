// SPDX-License-Identifier: BSD-3-Clause
// What this endpoint is to others, and what it proves that by: node, instance, the job's keys, its key pair and the
// features it must share with them. Signs and checks the messages of a handshake, and computes what two sides agree on.
// Keeps nothing of any peer. One thread. Tests: tests/unit/datagram/endpoint_bad_handshake_test.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "datagram/cipher.hpp"
#include "datagram/counters.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"
#include "datagram/key_schedule.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

// What a handshake agrees on.
struct ConnectionKeys {
    SecretPointer<Secret> secret;
    ReceiveKeys receive;
    DirectionKey send;
};

class Credentials {
public:
    // Draws a key pair and the instance. All arguments outlive it; the job key is not read later.
    //   counters  what a failed check or agreement is counted in
    // Throws std::bad_alloc.
    Credentials(const Settings& settings,
                CipherSuite& suite,
                Entropy& entropy,
                EndpointCounters& counters);

    [[nodiscard]] NodeId node() const noexcept { return settings_.node; }

    [[nodiscard]] std::uint64_t job() const noexcept { return settings_.job_id; }

    // Of this endpoint's life: another one on the same node has another instance. Never 0.
    [[nodiscard]] std::uint64_t instance() const noexcept { return instance_; }

    [[nodiscard]] Features features() const noexcept;

    // Zero with security off.
    [[nodiscard]] PublicKey public_key() const noexcept {
        return agreement_ == nullptr ? PublicKey{} : agreement_->public_key();
    }

    [[nodiscard]] OuterHeader outer_of(PacketType type) const noexcept {
        return {wire_version, static_cast<std::uint8_t>(type), 0, settings_.node, 0};
    }

    // Fills in the length and the MAC.
    template <typename Packet>
    void sign(Packet& packet) const noexcept {
        datagram::sign(packet, secrets_.handshake, suite_);
    }

    // WIRE-6 WIRE-15: length, then MAC, then what every message has. false: the first that is wrong was counted.
    template <typename Packet>
    [[nodiscard]] bool check(Bytes datagram, Packet& packet) noexcept {
        if (datagram.size() != sizeof(Packet)) {
            ++counters_.wrong_length;
            return false;
        }
        packet = load<Packet>(datagram.data());
        if (!is_signed(packet, secrets_.handshake, suite_)) {
            ++counters_.wrong_mac;
            return false;
        }
        if (packet.job != settings_.job_id) {
            ++counters_.wrong_job;
            return false;
        }
        if (packet.target != settings_.node) {
            ++counters_.wrong_target;
            return false;
        }
        return true;
    }

    // The secret of a connection and the keys of both its directions. false: nothing can be agreed on with the other
    // side's public key (WIRE-96), or there is no memory; both are counted.
    //   node, other  the other side and its public key
    [[nodiscard]] bool agree(NodeId node,
                             const Parties& parties,
                             const PublicKey& other,
                             ConnectionKeys& keys) noexcept;

private:
    const Settings& settings_;
    CipherSuite& suite_;
    EndpointCounters& counters_;
    JobSecrets secrets_;
    std::unique_ptr<KeyAgreement> agreement_;  // nullptr with security off
    std::uint64_t instance_ = 0;
};

}  // namespace acp::datagram
