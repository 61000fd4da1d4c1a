// SPDX-License-Identifier: BSD-3-Clause
// A small seeded generator, the same on every machine, so that a printed seed repeats a test. Knows
// no clock; fresh_seed() is the one place that asks the system for chance. One generator per
// thread.
#pragma once

#include <cstdint>
#include <random>

namespace acp::test {

class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

    // Uniform in 0 .. 2^64-1.
    [[nodiscard]] std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
        return mixed ^ (mixed >> 31);
    }

    // Nearly uniform in 0 .. bound-1.   bound  1 .. 2^32
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept {
        return ((next() >> 32) * bound) >> 32;
    }

    // In low .. high, both included.
    [[nodiscard]] std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept {
        return low + below(high - low + 1);
    }

    // True in `percent` of 100 cases.
    [[nodiscard]] bool chance(unsigned percent) noexcept { return below(100) < percent; }

private:
    std::uint64_t state_;
};

// A seed from the system's random device.
[[nodiscard]] inline std::uint64_t fresh_seed() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace acp::test
