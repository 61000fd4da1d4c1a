// SPDX-License-Identifier: BSD-3-Clause
// The key schedule: two secrets from the job key; one secret per connection, from the nonces and
// public keys of both sides; and from that one key per direction and epoch. No key ever seals two
// datagrams under one nonce, also after restarts: handshake nonces are random, and packet numbers
// only grow. Knows no packet. One thread. Specification: docs/spec/wire.md. Tests:
// tests/unit/datagram/key_schedule_test.cpp.
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

// A deleter that returns an object to the suite's memory for secrets, which wipes it.
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

// Makes an object in the suite's memory for secrets; nullptr if there is none left.
template <typename T>
[[nodiscard]] SecretPointer<T> make_in_secret_memory(CipherSuite& suite) noexcept {
    static_assert(alignof(T) <= 64);
    const MutableBytes memory = suite.take_secret_memory(sizeof(T));
    if (memory.empty()) return nullptr;
    return SecretPointer<T>(new (memory.data()) T(), GiveBackSecret{&suite, memory.size()});
}

// Overwrites a secret with zeros in a way that the compiler cannot remove.
void wipe(MutableBytes secret) noexcept;

// WIRE-34: the two secrets that an endpoint keeps instead of the job key, in memory for secrets.
// They are wiped on destruction.
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
    Secret& traffic;    // the secrets of connections are derived from it
};

// The two sides of a handshake and what each contributed; equal on both sides.
struct Parties {
    std::uint64_t job = 0;
    NodeId initiator = 0;
    NodeId responder = 0;
    Random16 initiator_nonce{};
    Random16 responder_nonce{};
    PublicKey initiator_key{};
    PublicKey responder_key{};
};

// WIRE-35: derives the secret of one connection.
//   shared  the Diffie-Hellman result of the two key pairs; empty with security off
//   out     must lie in memory for secrets
void derive_connection_secret(const Secret& traffic,
                              Bytes shared,
                              const Parties& parties,
                              CipherSuite& suite,
                              Secret& out) noexcept;

// The key of one direction of a connection in one epoch, ready for use.
struct DirectionKey {
    std::unique_ptr<Aead> aead;  // nullptr: there is no key
    std::array<std::byte, 4> salt{};
    std::uint64_t epoch = 0;

    // WIRE-37: the nonce of a datagram: salt, then packet number.
    [[nodiscard]] Nonce nonce(std::uint64_t number) const noexcept;
};

// WIRE-36: derives the key of a direction and epoch. Returns false if there is no memory.
//   from  the node that seals with the key
[[nodiscard]] bool make_direction_key(const Secret& connection,
                                      NodeId from,
                                      std::uint64_t epoch,
                                      CipherSuite& suite,
                                      DirectionKey& key) noexcept;

// The keys that a receiver may need at a time: of the current epoch, of the one before it for
// reordered datagrams, and of a later one. Keys change like in QUIC's key update (RFC 9001, 6), but
// the epoch follows from the packet number.
class ReceiveKeys {
public:
    static constexpr Time skip_every_ns = 1'000'000;

    ReceiveKeys() = default;

    // Derives the first key. Returns false if there is no memory.
    //   from  the node whose datagrams are opened
    [[nodiscard]] bool begin(const Secret& connection,
                             NodeId from,
                             std::uint64_t epoch,
                             CipherSuite& suite) noexcept;

    // Returns the key for a packet's epoch; nullptr if that is neither the current epoch, nor the
    // one before (as long as its key is kept), nor a later one. Derives a later key when it is
    // first asked for. A key beyond the next epoch is derived at most once in skip_every_ns, which
    // bounds the work that a forger can cause.
    [[nodiscard]] DirectionKey* find(Time now,
                                     const Secret& connection,
                                     std::uint64_t epoch,
                                     CipherSuite& suite) noexcept;

    // Notes that a packet of an epoch was authentic: if the epoch is a later one, it becomes the
    // current one.
    void confirm(Time now, std::uint64_t epoch) noexcept;

    // WIRE-39: drops the key of the epoch before once it has been kept for keep_ns.
    //   keep_ns  three probe timeouts
    void retire(Time now, Time keep_ns) noexcept;

    [[nodiscard]] std::uint64_t epoch() const noexcept { return current_.epoch; }

    [[nodiscard]] bool has_previous() const noexcept { return previous_.aead != nullptr; }

private:
    NodeId from_ = 0;
    Time advanced_ = 0;  // when the current epoch began
    Time may_skip_ = 0;  // when a key beyond the next epoch may be derived
    DirectionKey previous_;
    DirectionKey current_;
    DirectionKey later_;  // usually of the next epoch
};

}  // namespace acp::datagram
