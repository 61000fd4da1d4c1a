// SPDX-License-Identifier: BSD-3-Clause
// Keys and values of 32 bytes for the experiments on maps, and which key comes next: each equally
// often, or by Zipf's law with exponent 0.99, as YCSB draws them. Knows no table. An object belongs
// to one thread.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace acp::bench {

inline constexpr std::size_t map_key_bytes = 32;

struct MapKey {
    std::uint64_t words[map_key_bytes / sizeof(std::uint64_t)];

    bool operator==(const MapKey&) const = default;
};

// Stafford's 13th variant of MurmurHash3's finalizer.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

// The key of a number: random bytes, never all zero.
[[nodiscard]] constexpr MapKey key_of(std::uint64_t number) {
    MapKey key{};
    std::uint64_t seed = number * 4 + 1;
    for (std::uint64_t& word : key.words) word = mixed(seed++) | 1U;
    return key;
}

// Random numbers, Weyl's sequence through the mixer.
class MapRandom {
public:
    explicit MapRandom(std::uint64_t seed) : state_(mixed(seed)) {}

    std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15U); }

    //   bound  1 .. 2^32; the result is 0 .. bound-1
    std::uint64_t below(std::uint64_t bound) { return ((next() >> 32U) * bound) >> 32U; }

    double fraction() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

private:
    std::uint64_t state_;
};

// Numbers 0 .. count-1 by Zipf's law, 0 the most frequent one. Source: Gray and others, "Quickly
// generating billion-record synthetic databases", SIGMOD 1994, as YCSB does it.
class Zipf {
public:
    explicit Zipf(std::uint64_t count) : count_(static_cast<double>(count)) {
        for (std::uint64_t i = 1; i <= count; ++i)
            zeta_ += 1 / std::pow(static_cast<double>(i), theta);
        const double zeta_2 = 1 + std::pow(0.5, theta);
        eta_ = (1 - std::pow(2 / count_, 1 - theta)) / (1 - zeta_2 / zeta_);
    }

    std::uint64_t draw(MapRandom& random) const {
        const double u = random.fraction();
        const double at = u * zeta_;
        if (at < 1) return 0;
        if (at < 1 + std::pow(0.5, theta)) return 1;
        const double drawn = count_ * std::pow(eta_ * u - eta_ + 1, 1 / (1 - theta));
        return static_cast<std::uint64_t>(std::fmin(drawn, count_ - 1));
    }

private:
    static constexpr double theta = 0.99;

    double count_;
    double zeta_ = 0;
    double eta_ = 0;
};

}  // namespace acp::bench
