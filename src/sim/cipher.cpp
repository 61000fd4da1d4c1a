// SPDX-License-Identifier: BSD-3-Clause
// The checking cipher. A tag is two lanes of a multiply-and-mix over eight bytes at a time. Each
// step is invertible, so one changed word always changes the tag. It resists bit flips and no
// cleverer attacker. One thread.
#include "sim/cipher.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <new>

namespace acp::sim {

namespace {

constexpr std::uint64_t odd_a = 0x9e3779b97f4a7c15U;
constexpr std::uint64_t odd_b = 0xd6e8feb86659fd93U;

struct Lanes {
    std::uint64_t a = odd_a;
    std::uint64_t b = odd_b;

    void take(std::uint64_t word) noexcept {
        a = std::rotl((a ^ word) * odd_b, 29);
        b = (b + word) * odd_a ^ (a >> 7);
    }

    void take(datagram::Bytes bytes) noexcept {
        std::size_t at = 0;
        for (; at + 8 <= bytes.size(); at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data() + at, 8);
            take(word);
        }
        std::uint64_t word = bytes.size();  // the length comes last, with the bytes left over
        std::uint64_t rest = 0;
        if (at < bytes.size()) std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
        take(rest);
        take(word);
    }

    void store(std::byte* out) const noexcept {
        const std::uint64_t words[2] = {base::mix64(a ^ std::rotl(b, 32)), base::mix64(b)};
        std::memcpy(out, words, sizeof words);
    }

    [[nodiscard]] std::uint64_t hash() const noexcept {
        return base::mix64(a ^ std::rotl(b, 32)) ^ b;
    }
};

// XORs bytes with a stream derived from key and nonce, from `from` to `to` (which may be equal).
void cover(std::uint64_t stream, const std::byte* from, std::byte* to, std::size_t bytes) noexcept {
    std::size_t at = 0;
    for (; at + 8 <= bytes; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, from + at, 8);
        word ^= stream;
        stream += odd_a;
        std::memcpy(to + at, &word, 8);
    }
    for (; at < bytes; ++at, stream >>= 8) to[at] = from[at] ^ static_cast<std::byte>(stream);
}

class CheckingAead final : public datagram::Aead {
public:
    CheckingAead(std::uint64_t key, NonceLedger& ledger, Judge& judge) noexcept
        : key_(key), ledger_(&ledger), judge_(&judge) {}

    void seal(const datagram::Nonce& nonce,
              datagram::Bytes additional,
              datagram::Bytes plain,
              datagram::MutableBytes sealed) noexcept override {
        const std::uint64_t short_nonce = shortened(nonce);
        if (!ledger_->add(key_, short_nonce)) {
            judge_->fail("a key and a nonce sealed twice");
        }
        if (sealed.size() < plain.size() + datagram::tag_bytes) {
            judge_->fail("too little room for a sealed datagram");
            return;
        }
        const Lanes tag = tag_of(short_nonce, additional, plain);
        cover(base::mix64(key_ ^ short_nonce), plain.data(), sealed.data(), plain.size());
        tag.store(sealed.data() + plain.size());
    }

    [[nodiscard]] bool open(const datagram::Nonce& nonce,
                            datagram::Bytes additional,
                            datagram::MutableBytes sealed) noexcept override {
        if (sealed.size() < datagram::tag_bytes) return false;
        const std::uint64_t short_nonce = shortened(nonce);
        const datagram::MutableBytes plain = sealed.first(sealed.size() - datagram::tag_bytes);
        cover(base::mix64(key_ ^ short_nonce), plain.data(), plain.data(), plain.size());
        std::byte expected[datagram::tag_bytes];
        tag_of(short_nonce, additional, plain).store(expected);
        return std::memcmp(expected, plain.data() + plain.size(), sizeof expected) == 0;
    }

private:
    static std::uint64_t shortened(const datagram::Nonce& nonce) noexcept {
        Lanes lanes;
        lanes.take(datagram::Bytes(nonce));
        return lanes.hash();
    }

    [[nodiscard]] Lanes tag_of(std::uint64_t nonce,
                               datagram::Bytes additional,
                               datagram::Bytes plain) const noexcept {
        Lanes lanes;
        lanes.take(key_);
        lanes.take(nonce);
        lanes.take(additional);
        lanes.take(plain);
        return lanes;
    }

    std::uint64_t key_;
    NonceLedger* ledger_;
    Judge* judge_;
};

// A key agreement by multiplication modulo 2^64: both sides compute the same number, and so could
// any eavesdropper.
class CheckingAgreement final : public datagram::KeyAgreement {
public:
    explicit CheckingAgreement(std::uint64_t drawn) noexcept : own_(drawn | 1U) {
        const std::uint64_t number = own_ * odd_a;
        std::memcpy(public_key_.data(), &number, sizeof number);
    }

    [[nodiscard]] const datagram::PublicKey& public_key() const noexcept override {
        return public_key_;
    }

    [[nodiscard]] bool agree(const datagram::PublicKey& other,
                             std::span<std::byte, 32> out) noexcept override {
        std::uint64_t number = 0;
        std::memcpy(&number, other.data(), sizeof number);
        if (number == 0) return false;
        base::Random stream(number * own_);
        for (std::size_t at = 0; at < out.size(); at += 8) {
            const std::uint64_t word = stream();
            std::memcpy(out.data() + at, &word, sizeof word);
        }
        return true;
    }

private:
    std::uint64_t own_;
    datagram::PublicKey public_key_{};
};

}  // namespace

NonceLedger::NonceLedger() : cells_(64) {}

bool NonceLedger::add(std::uint64_t key, std::uint64_t nonce) {
    if (size_ * 2 >= cells_.size()) grow();
    const std::uint64_t hash = base::mix64(key ^ std::rotl(nonce, 17)) | 1U;
    std::size_t at = (hash >> 8) & (cells_.size() - 1);
    for (; cells_[at] != 0; at = (at + 1) & (cells_.size() - 1)) {
        if (cells_[at] == hash) return false;
    }
    cells_[at] = hash;
    ++size_;
    return true;
}

void NonceLedger::grow() {
    std::vector<std::uint64_t> old(cells_.size() * 8);
    old.swap(cells_);
    for (const std::uint64_t hash : old) {
        if (hash == 0) continue;
        std::size_t at = (hash >> 8) & (cells_.size() - 1);
        while (cells_[at] != 0) at = (at + 1) & (cells_.size() - 1);
        cells_[at] = hash;
    }
}

std::unique_ptr<datagram::Aead> CheckingSuite::make(datagram::Bytes key) noexcept {
    Lanes lanes;
    lanes.take(key);
    ++made_;
    return std::unique_ptr<datagram::Aead>(new (std::nothrow)
                                               CheckingAead(lanes.hash(), *ledger_, *judge_));
}

std::unique_ptr<datagram::KeyAgreement> CheckingSuite::make_agreement(datagram::Entropy& entropy) {
    std::array<std::byte, 8> drawn{};
    entropy.fill(drawn);
    return std::make_unique<CheckingAgreement>(std::bit_cast<std::uint64_t>(drawn));
}

void CheckingSuite::derive(datagram::Bytes secret,
                           datagram::Bytes salt,
                           datagram::Bytes info,
                           datagram::MutableBytes out) noexcept {
    Lanes lanes;
    lanes.take(secret);
    lanes.take(salt);
    lanes.take(info);
    base::Random random(lanes.hash());
    for (std::size_t at = 0; at < out.size(); at += 8) {
        const std::uint64_t word = random();
        std::memcpy(out.data() + at, &word, std::min<std::size_t>(8, out.size() - at));
    }
}

void CheckingSuite::authenticate(datagram::Bytes key,
                                 datagram::Bytes message,
                                 std::span<std::byte, 16> mac) noexcept {
    Lanes lanes;
    lanes.take(key);
    lanes.take(message);
    lanes.store(mac.data());
}

void SeededEntropy::fill(datagram::MutableBytes out) noexcept {
    for (std::size_t at = 0; at < out.size(); at += 8) {
        const std::uint64_t word = random_();
        std::memcpy(out.data() + at, &word, std::min<std::size_t>(8, out.size() - at));
    }
}

}  // namespace acp::sim
