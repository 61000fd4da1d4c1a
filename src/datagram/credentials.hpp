// SPDX-License-Identifier: BSD-3-Clause
// The identity of this endpoint: node, instance, the keys of the job, its key pair, and the
// features that both sides must share. Signs and checks handshake messages, and derives the keys of
// a connection. Keeps no state of any peer. One thread.
// Tests: tests/unit/datagram/endpoint_bad_handshake_test.cpp.
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

// The keys that result from a handshake: the connection's secret, and the first key of each
// direction.
struct ConnectionKeys {
    SecretPointer<Secret> secret;
    ReceiveKeys receive;
    DirectionKey send;
};

class Credentials {
public:
    // Draws the key pair and the instance. All arguments must outlive it; the job key in `settings`
    // is read only here.
    //   counters  where failed checks and agreements are counted
    // Throws std::bad_alloc.
    Credentials(const Settings& settings,
                CipherSuite& suite,
                Entropy& entropy,
                EndpointCounters& counters);

    [[nodiscard]] NodeId node() const noexcept { return settings_.node; }

    [[nodiscard]] std::uint64_t job() const noexcept { return settings_.job_id; }

    // A random number that identifies this endpoint: a gateway that restarts on the same node has
    // another one. Never 0.
    [[nodiscard]] std::uint64_t instance() const noexcept { return instance_; }

    [[nodiscard]] Features features() const noexcept;

    // The public key of this endpoint; zero with security off.
    [[nodiscard]] PublicKey public_key() const noexcept {
        return agreement_ == nullptr ? PublicKey{} : agreement_->public_key();
    }

    // The outer header of a message from this node; the caller sets length and number.
    [[nodiscard]] OuterHeader outer_of(PacketType type) const noexcept {
        return {wire_version, static_cast<std::uint8_t>(type), 0, settings_.node, 0};
    }

    // Fills in the length and the MAC of a handshake message.
    template <typename Packet>
    void sign(Packet& packet) const noexcept {
        datagram::sign(packet, secrets_.handshake, suite_);
    }

    // WIRE-6 WIRE-15: checks length, then MAC, then the fields that all handshake messages share.
    // On false the first failed check is counted.
    //   packet  written from the datagram unless the length is wrong; to be used on true only
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

    // Derives the secret of a connection and the first keys of both directions. Returns false if no
    // secret can be agreed on with the other side's public key (WIRE-96), or if there is no memory;
    // both are counted.
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
