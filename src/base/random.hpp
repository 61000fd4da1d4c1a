// SPDX-License-Identifier: BSD-3-Clause
// A small, fast generator of pseudo-random numbers for tests, benchmarks, back-off and probes: same
// seed, same sequence, on every machine. Not for keys. Reads no clock and no entropy: the seed is
// an argument. One object belongs to one thread. Tests: tests/unit/base/random_test.cpp.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace acp::base {

// One step of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a good 64-bit mix of a counter. Also a
// hash.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t value) noexcept {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

// xoshiro256** (Blackman, Vigna, ACM TOMS 2021), seeded by splitmix64. Satisfies
// std::uniform_random_bit_generator, so the distributions of <random> and std::shuffle take it.
class Random {
public:
    using result_type = std::uint64_t;

    //   seed  any value; 0 is as good as others
    explicit constexpr Random(std::uint64_t seed) noexcept {
        for (std::uint64_t& word : state_) {
            word = mix64(seed);
            seed += 0x9e3779b97f4a7c15U;
        }
    }

    [[nodiscard]] static constexpr std::uint64_t min() noexcept { return 0; }

    [[nodiscard]] static constexpr std::uint64_t max() noexcept {
        return std::numeric_limits<std::uint64_t>::max();
    }

    // The next 64 bits.
    constexpr std::uint64_t operator()() noexcept {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // A number 0 .. bound-1, each equally likely.   bound  >= 1
    constexpr std::uint64_t below(std::uint64_t bound) noexcept {
        // Numbers beyond the last whole multiple of bound are drawn again: at most one in two.
        const std::uint64_t surplus = (max() % bound + 1) % bound;
        std::uint64_t value = (*this)();
        while (value > max() - surplus) value = (*this)();
        return value % bound;
    }

private:
    std::array<std::uint64_t, 4> state_{};
};

}  // namespace acp::base
