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
#include <new>
#include <type_traits>

#include "datagram/cipher.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"

namespace acp::datagram {

using Secret = std::array<std::byte, 32>;

// Gives an object in the suite's memory for secrets back to it.
struct GiveBackSecret {
    CipherSuite* suite = nullptr;
    std::size_t bytes = 0;

    template <typename T>
    void operator()(T* object) const noexcept {
        static_assert(std::is_trivially_destructible_v<T>);
        suite->give_back_secret_memory({reinterpret_cast<std::byte*>(object), bytes});
    }
};

template <typename T>
using SecretPointer = std::unique_ptr<T, GiveBackSecret>;

// An object in the suite's memory for secrets; nullptr when none is left.
template <typename T>
[[nodiscard]] SecretPointer<T> make_in_secret_memory(CipherSuite& suite) noexcept {
    static_assert(alignof(T) <= 64);
    const MutableBytes memory = suite.take_secret_memory(sizeof(T));
    if (memory.empty()) return nullptr;
    return SecretPointer<T>(new (memory.data()) T(), GiveBackSecret{&suite, memory.size()});
}

// Overwrites it in a way the compiler cannot leave out.
void wipe(MutableBytes secret) noexcept;

// WIRE-34: what an endpoint keeps instead of the job key, in memory for secrets. Wiped when it goes.
class JobSecrets {
    struct Pair {
        Secret handshake{};
        Secret traffic{};
    };

    SecretPointer<Pair> pair_;

public:
    // Throws std::bad_alloc.
    JobSecrets(Bytes job_key, std::uint64_t job, CipherSuite& suite);

    Secret& handshake;  // signs INIT, COOKIE, RESPONSE, CLOSE
    Secret& traffic;    // secrets of connections come from it
};

// Who talks to whom, as both sides see it.
struct Parties {
    std::uint64_t job = 0;
    NodeId initiator = 0;
    NodeId responder = 0;
    Random16 initiator_nonce{};
    Random16 responder_nonce{};
    PublicKey initiator_key{};
    PublicKey responder_key{};
};

// WIRE-35: the secret of one connection.
//   shared  what the two key pairs agree on; empty with security off
//   out     written; in memory for secrets
void derive_connection_secret(const Secret& traffic,
                              Bytes shared,
                              const Parties& parties,
                              CipherSuite& suite,
                              Secret& out) noexcept;

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
                                      DirectionKey& key) noexcept;

// The keys a receiver may need at a time: of the epoch it is in, the one it was in before, one to come.
class ReceiveKeys {
public:
    static constexpr Time skip_every_ns = 1'000'000;

    ReceiveKeys() = default;

    // false when there is no memory for it.
    [[nodiscard]] bool begin(const Secret& connection,
                             NodeId from,
                             std::uint64_t epoch,
                             CipherSuite& suite) noexcept;

    // The key for a packet's epoch; nullptr when it is neither the current, the one before (as long as that is
    // kept) nor a later one. Makes a later one when first asked for it; beyond the next, once in skip_every_ns:
    // no more can a forger make it derive.
    [[nodiscard]] DirectionKey* find(Time now,
                                     const Secret& connection,
                                     std::uint64_t epoch,
                                     CipherSuite& suite) noexcept;

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
