// SPDX-License-Identifier: BSD-3-Clause
// Which keys there are and where they come from: two from the job key, one secret per connection from the nonces of
// both sides, and from that a key per direction and epoch. No key seals two datagrams under one nonce, whatever
// restarts: nonces are drawn anew, packet numbers only grow. Knows no packet. One thread. Specification:
// docs/spec/wire.md. Tests: tests/unit/datagram/key_schedule_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "datagram/cipher.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"

namespace acp::datagram {

using Secret = std::array<std::byte, 32>;

// Overwrites it in a way the compiler cannot leave out.
void wipe(MutableBytes secret) noexcept;

// WIRE-34: what an endpoint keeps instead of the job key. Wiped when it goes.
struct JobSecrets {
    Secret handshake{};  // signs INIT, COOKIE, RESPONSE, CLOSE
    Secret traffic{};    // secrets of connections come from it

    JobSecrets(Bytes job_key, std::uint64_t job, CipherSuite& suite) noexcept;
    ~JobSecrets();
    JobSecrets(const JobSecrets&) = delete;
    JobSecrets& operator=(const JobSecrets&) = delete;
};

// Who talks to whom, as both sides see it.
struct Parties {
    std::uint64_t job = 0;
    NodeId initiator = 0;
    NodeId responder = 0;
    Random16 initiator_nonce{};
    Random16 responder_nonce{};
};

// WIRE-35: the secret of one connection.
[[nodiscard]] Secret connection_secret(const Secret& traffic,
                                       const Parties& parties,
                                       CipherSuite& suite) noexcept;

// The key of one direction and epoch, ready for use.
struct DirectionKey {
    std::unique_ptr<Aead> aead;  // nullptr: none
    std::array<std::byte, 4> salt{};
    std::uint64_t epoch = 0;

    // WIRE-37: salt, then the packet number.
    [[nodiscard]] Nonce nonce(std::uint64_t number) const noexcept;
};

// WIRE-36: false when there is no memory for it.
//   from  node that seals with it
[[nodiscard]] bool make_direction_key(const Secret& connection,
                                      NodeId from,
                                      std::uint64_t epoch,
                                      CipherSuite& suite,
                                      DirectionKey& key);

// The keys a receiver may need at a time: of the epoch it is in, the one it was in before, one to come.
class ReceiveKeys {
public:
    static constexpr Time skip_every_ns = 1'000'000;

    ReceiveKeys() = default;

    // false when there is no memory for it.
    [[nodiscard]] bool begin(const Secret& connection,
                             NodeId from,
                             std::uint64_t epoch,
                             CipherSuite& suite);

    // The key for a packet's epoch; nullptr when it is neither the current, the one before (as long as that is
    // kept) nor a later one. Makes a later one when first asked for it; beyond the next, once in skip_every_ns:
    // no more can a forger make it derive.
    [[nodiscard]] DirectionKey* find(Time now,
                                     const Secret& connection,
                                     std::uint64_t epoch,
                                     CipherSuite& suite);

    // A packet of that epoch was found authentic: the current key advances when it is a later one's.
    void confirm(Time now, std::uint64_t epoch) noexcept;

    // WIRE-39: drops the one before when it has been kept long enough.
    //   keep_ns  three probe timeouts
    void retire(Time now, Time keep_ns) noexcept;

    [[nodiscard]] std::uint64_t epoch() const noexcept { return current_.epoch; }

    [[nodiscard]] bool has_previous() const noexcept { return previous_.aead != nullptr; }

private:
    NodeId from_ = 0;
    Time advanced_ = 0;
    Time may_skip_ = 0;  // when a key beyond the next may be made
    DirectionKey previous_;
    DirectionKey current_;
    DirectionKey later_;  // mostly the next
};

}  // namespace acp::datagram
