// SPDX-License-Identifier: BSD-3-Clause
// Derives keys. Every derivation has a label of its own, so that no two share an input.
#include "datagram/key_schedule.hpp"

#include <algorithm>
#include <cstring>

#include "datagram/wire.hpp"

namespace acp::datagram {
namespace {

// Builds the `info` argument of HKDF: a label, then fields of fixed length.
class Info {
public:
    explicit Info(const char* label) noexcept {
        const std::size_t bytes = std::strlen(label);
        std::memcpy(bytes_.data(), label, bytes);
        used_ = bytes;
    }

    template <typename T>
    Info& with(const T& value) noexcept {
        store(bytes_.data() + used_, value);
        used_ += sizeof value;
        return *this;
    }

    [[nodiscard]] Bytes bytes() const noexcept { return Bytes(bytes_).first(used_); }

private:
    std::array<std::byte, 64> bytes_{};
    std::size_t used_ = 0;
};

}  // namespace

void wipe(MutableBytes secret) noexcept {
    volatile std::byte* bytes = secret.data();
    for (std::size_t i = 0; i < secret.size(); ++i) bytes[i] = std::byte{};
}

JobSecrets::JobSecrets(Bytes job_key, std::uint64_t job, CipherSuite& suite)
    : pair_(make_in_secret_memory<Pair>(suite)),
      handshake((pair_ == nullptr ? throw std::bad_alloc() : *pair_).handshake),
      traffic(pair_->traffic) {
    // WIRE-34
    std::array<std::byte, 8> salt{};
    store(salt.data(), job);
    suite.derive(job_key, salt, Info("acp1 handshake").bytes(), handshake);
    suite.derive(job_key, salt, Info("acp1 traffic").bytes(), traffic);
}

void derive_connection_secret(const Secret& traffic,
                              Bytes shared,
                              const Parties& parties,
                              CipherSuite& suite,
                              Secret& out) noexcept {
    // WIRE-35: the input is the traffic secret, which proves knowledge of the job key, and the
    // Diffie-Hellman result, which only these two can compute.
    std::array<std::byte, 64> secret{};
    std::copy(traffic.begin(), traffic.end(), secret.begin());
    std::copy(shared.begin(), shared.end(), secret.begin() + 32);
    std::array<std::byte, 96> salt{};
    std::copy(parties.initiator_nonce.begin(), parties.initiator_nonce.end(), salt.begin());
    std::copy(parties.responder_nonce.begin(), parties.responder_nonce.end(), salt.begin() + 16);
    std::copy(parties.initiator_key.begin(), parties.initiator_key.end(), salt.begin() + 32);
    std::copy(parties.responder_key.begin(), parties.responder_key.end(), salt.begin() + 64);
    suite.derive(Bytes(secret).first(32 + shared.size()), salt,
                 Info("acp2 connection")
                     .with(parties.job)
                     .with(parties.initiator)
                     .with(parties.responder)
                     .bytes(),
                 out);
    wipe(secret);
}

Nonce DirectionKey::nonce(std::uint64_t number) const noexcept {
    Nonce nonce;
    std::copy(salt.begin(), salt.end(), nonce.begin());
    store(nonce.data() + 4, number);
    return nonce;
}

bool make_direction_key(const Secret& connection,
                        NodeId from,
                        std::uint64_t epoch,
                        CipherSuite& suite,
                        DirectionKey& key) noexcept {
    // WIRE-36
    std::array<std::byte, key_bytes_max + 4> material{};
    const std::size_t bytes = std::min(suite.key_bytes(), key_bytes_max);
    suite.derive(connection, {}, Info("acp1 key").with(from).with(epoch).bytes(),
                 MutableBytes(material).first(bytes + 4));
    key.aead = suite.make(Bytes(material).first(bytes));
    std::copy_n(material.begin() + static_cast<std::ptrdiff_t>(bytes), 4, key.salt.begin());
    key.epoch = epoch;
    wipe(material);
    return key.aead != nullptr;
}

bool ReceiveKeys::begin(const Secret& connection,
                        NodeId from,
                        std::uint64_t epoch,
                        CipherSuite& suite) noexcept {
    from_ = from;
    previous_ = {};
    later_ = {};
    return make_direction_key(connection, from, epoch, suite, current_);
}

DirectionKey* ReceiveKeys::find(Time now,
                                const Secret& connection,
                                std::uint64_t epoch,
                                CipherSuite& suite) noexcept {
    // WIRE-38
    if (epoch == current_.epoch) return &current_;
    if (epoch < current_.epoch) {
        return previous_.aead != nullptr && epoch == previous_.epoch ? &previous_ : nullptr;
    }
    if (later_.aead != nullptr && epoch == later_.epoch) return &later_;
    // Keys beyond the next epoch are rarely needed, so they are rationed.
    if (epoch != current_.epoch + 1) {
        if (now < may_skip_) return nullptr;
        may_skip_ = now + skip_every_ns;
    }
    return make_direction_key(connection, from_, epoch, suite, later_) ? &later_ : nullptr;
}

void ReceiveKeys::confirm(Time now, std::uint64_t epoch) noexcept {
    if (epoch <= current_.epoch || later_.aead == nullptr || epoch != later_.epoch) return;
    previous_ = std::move(current_);
    current_ = std::move(later_);
    later_ = {};
    advanced_ = now;
}

void ReceiveKeys::retire(Time now, Time keep_ns) noexcept {
    if (previous_.aead != nullptr && now - advanced_ >= keep_ns) previous_ = {};
}

}  // namespace acp::datagram
