// SPDX-License-Identifier: BSD-3-Clause
// What sealing and opening one datagram costs, by cipher, library and size, as nanoseconds and as
// multiples of copying the same bytes; and what an agreement on keys costs. The ways take turns in
// short rounds, so that a noisy machine disturbs all alike.
//   cipher_cost
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "crypto/choose.hpp"
#include "os/clock.hpp"

namespace {

using namespace acp;

constexpr int rounds = 41;
constexpr int datagrams = 500;  // per round
constexpr std::size_t header_bytes = 32;
constexpr std::array<std::size_t, 5> sizes = {64, 256, 1472, 8972, 65'000};

struct Way {
    std::string name;
    std::unique_ptr<datagram::CipherSuite> suite;
    std::unique_ptr<datagram::Aead> aead;
    std::vector<double> seal_ns;
    std::vector<double> open_ns;
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + rounds / 2, values.end());
    return values[rounds / 2];
}

double spread(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[rounds * 3 / 4] - values[rounds / 4];
}

void add(std::vector<Way>& ways, crypto::CipherWish cipher, crypto::BackendWish backend) {
    auto suite = crypto::choose(cipher, backend);
    if (!suite.is_ok()) {
        std::printf("left out: %s\n", std::string(suite.failure().message()).c_str());
        return;
    }
    const std::array<std::byte, datagram::key_bytes_max> key{};
    Way way;
    way.name = suite.value()->name();
    way.aead = suite.value()->make(datagram::Bytes(key).first(suite.value()->key_bytes()));
    way.suite = std::move(suite).value();
    ways.push_back(std::move(way));
}

// One round of a way (of memcpy when it has no cipher): seals into a ring of buffers, then opens
// them.
void run(Way& way,
         std::size_t size,
         std::vector<std::byte>& plain,
         std::vector<std::byte>& sealed) {
    const std::size_t sealed_bytes = size + datagram::tag_bytes;
    const auto at = [&](int i) {
        return std::span(sealed).subspan(static_cast<std::size_t>(i % 8) * sealed_bytes,
                                         sealed_bytes);
    };
    const datagram::Bytes header = datagram::Bytes(plain).first(header_bytes);
    const datagram::Bytes text = datagram::Bytes(plain).first(size);
    datagram::Nonce nonce{};
    std::uint64_t seal_ns = 0;
    std::uint64_t open_ns = 0;
    for (int i = 0; i < datagrams; i += 8) {
        std::uint64_t before = os::now_ns();
        for (int j = i; j < i + 8; ++j) {
            std::memcpy(nonce.data(), &j, sizeof j);
            if (way.aead != nullptr) way.aead->seal(nonce, header, text, at(j));
            if (way.aead == nullptr) std::memcpy(at(j).data(), text.data(), size);
        }
        seal_ns += os::now_ns() - before;
        before = os::now_ns();
        for (int j = i; j < i + 8; ++j) {
            std::memcpy(nonce.data(), &j, sizeof j);
            if (way.aead != nullptr && !way.aead->open(nonce, header, at(j))) std::abort();
            if (way.aead == nullptr) std::memcpy(plain.data(), at(j).data(), size);
        }
        open_ns += os::now_ns() - before;
    }
    const int done = (datagrams + 7) / 8 * 8;
    way.seal_ns.push_back(static_cast<double>(seal_ns) / done);
    way.open_ns.push_back(static_cast<double>(open_ns) / done);
}

// What two gateways pay once per pair and side, and what each pays when it starts.
void measure_agreement() {
    auto suite = crypto::choose(crypto::CipherWish::automatic, crypto::BackendWish::automatic);
    if (!suite.is_ok()) return;
    crypto::SystemEntropy entropy;
    const auto other = suite.value()->make_agreement(entropy);
    if (other == nullptr) return;
    std::vector<double> draw_ns;
    std::vector<double> agree_ns;
    std::array<std::byte, 32> shared{};
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t before = os::now_ns();
        const auto own = suite.value()->make_agreement(entropy);
        const std::uint64_t between = os::now_ns();
        if (own == nullptr || !own->agree(other->public_key(), shared)) std::abort();
        draw_ns.push_back(static_cast<double>(between - before));
        agree_ns.push_back(static_cast<double>(os::now_ns() - between));
    }
    std::printf("x25519: a key pair %.0f ns +- %.0f, an agreement %.0f ns +- %.0f\n",
                median(draw_ns), spread(draw_ns), median(agree_ns), spread(agree_ns));
}

}  // namespace

int main() {
    measure_agreement();
    std::vector<Way> ways(1);
    ways[0].name = "memcpy";
    add(ways, crypto::CipherWish::aes_128_gcm, crypto::BackendWish::ipsec_mb);
    add(ways, crypto::CipherWish::aes_128_gcm, crypto::BackendWish::libcrypto);
    add(ways, crypto::CipherWish::chacha20_poly1305, crypto::BackendWish::ipsec_mb);
    add(ways, crypto::CipherWish::chacha20_poly1305, crypto::BackendWish::libcrypto);
    std::printf(
        "%-28s %7s %10s %8s %10s %8s %8s   (median of %d rounds and quartile distance, ns)\n", "",
        "bytes", "seal", "+-", "open", "+-", "GB/s", rounds);
    for (const std::size_t size : sizes) {
        std::vector<std::byte> plain(size + header_bytes);
        std::vector<std::byte> sealed(8 * (size + datagram::tag_bytes));
        for (Way& way : ways) {
            way.seal_ns.clear();
            way.open_ns.clear();
        }
        for (int round = 0; round < rounds; ++round) {
            for (Way& way : ways) run(way, size, plain, sealed);
        }
        for (const Way& way : ways) {
            const double seal = median(way.seal_ns);
            std::printf("%-28s %7zu %10.1f %8.1f %10.1f %8.1f %8.2f\n", way.name.c_str(), size,
                        seal, spread(way.seal_ns), median(way.open_ns), spread(way.open_ns),
                        static_cast<double>(size) / seal);
        }
    }
    return 0;
}
