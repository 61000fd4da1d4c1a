// SPDX-License-Identifier: BSD-3-Clause
// The CRC by PCLMULQDQ, which multiplies two polynomials of 64 bits (Gopal, Ozturk et al., "Fast
// CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel 2009). Up to 128 bytes every word
// is multiplied by the remainder of the power of x that stands for its place: no product waits for
// another, so a key takes the time of three multiplications in a row, however long it is. Of more,
// eight lanes of 16 bytes are moved on by 128 bytes a step, and the last eight lanes are 128 bytes
// again. Compiled for every x86-64 processor: only the functions below use those instructions, and
// crc64.cpp asks first.
#include <array>
#include <immintrin.h>

#include "hash/crc64_ways.hpp"
#include "os/cpu.hpp"

// What os::has_carryless_multiply() promises.
#define ACP_TARGET [[gnu::target("pclmul,ssse3")]]

namespace acp::hash {

namespace {

constexpr std::size_t lane_bytes = 16;
constexpr std::size_t lanes = 8;
constexpr std::size_t step_bytes = lanes * lane_bytes;

// powers[k]: the remainder of x^(64 + 64k). A lane is multiplied by two neighbours; the last two
// move a lane on by a step.
constexpr std::array<std::uint64_t, 2 * lanes + 1> make_powers() noexcept {
    std::array<std::uint64_t, 2 * lanes + 1> powers{};
    powers[0] = crc64_polynomial;
    for (std::size_t k = 1; k < powers.size(); ++k) {
        powers[k] = powers[k - 1];
        for (int bit = 0; bit < 64; ++bit) powers[k] = crc64_times_x(powers[k]);
    }
    return powers;
}

constexpr std::array<std::uint64_t, 2 * lanes + 1> powers = make_powers();

// x^128 divided by P(x), without the quotient's x^64.
constexpr std::uint64_t make_inverse() noexcept {
    std::uint64_t quotient = 0;
    std::uint64_t rest = crc64_polynomial;
    for (int bit = 0; bit < 64; ++bit) {
        quotient = quotient << 1 | rest >> 63;
        rest = crc64_times_x(rest);
    }
    return quotient;
}

constexpr std::uint64_t inverse = make_inverse();

// From place 16 - n on: the order that turns the first n bytes of a lane round and puts zeros in
// front.
constexpr std::array<std::uint8_t, 2 * lane_bytes> turn = {
    15,   14,   13,   12,   11,   10,   9,    8,    7,    6,    5,    4,    3,    2,    1,    0,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

__m128i load(const void* place) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(place));
}

std::uint64_t lower(__m128i words) noexcept {
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(words));
}

// A word as the lower one of a lane.
__m128i in_lane(std::uint64_t value) noexcept {
    return _mm_cvtsi64_si128(static_cast<long long>(value));
}

// The first `count` bytes (0 .. 16) of the 16 at a place, as a lane: the first byte most
// significant, zeros in front.
ACP_TARGET __m128i lane(const std::byte* place, std::size_t count = lane_bytes) noexcept {
    return _mm_shuffle_epi8(load(place), load(turn.data() + lane_bytes - count));
}

// Both words of a lane times x^(64 + 64k) and x^(128 + 64k).
ACP_TARGET __m128i times_power(__m128i words, std::size_t k) noexcept {
    const __m128i pair = load(powers.data() + k);
    return _mm_xor_si128(_mm_clmulepi64_si128(words, pair, 0x00),
                         _mm_clmulepi64_si128(words, pair, 0x11));
}

// The remainder of a polynomial of 128 bits (Barrett): of its upper word times x^64, and the lower
// word is added.
ACP_TARGET std::uint64_t remainder_of(__m128i sum) noexcept {
    const __m128i constants =
        _mm_set_epi64x(static_cast<long long>(crc64_polynomial), static_cast<long long>(inverse));
    const __m128i quotient = _mm_xor_si128(_mm_clmulepi64_si128(sum, constants, 0x01), sum);
    return lower(_mm_xor_si128(_mm_clmulepi64_si128(quotient, constants, 0x11), sum));
}

// At most 128 bytes.
ACP_TARGET std::uint64_t crc64_of_few(const std::byte* bytes, std::size_t count) noexcept {
    if (count <= 8) return remainder_of(_mm_slli_si128(in_lane(few_bytes(bytes, count)), 8));
    if (count < lane_bytes) {
        const std::uint64_t front = eight_bytes(bytes) >> 8 * (lane_bytes - count);
        const std::uint64_t back = eight_bytes(bytes + count - 8);
        return remainder_of(times_power(_mm_unpacklo_epi64(in_lane(back), in_lane(front)), 0));
    }
    // Folds the lanes from the last to the first. The bytes in front of them, fewer than a lane,
    // come last.
    __m128i sum = _mm_setzero_si128();
    std::size_t k = 0;
    std::size_t rest = count;
    for (; rest >= lane_bytes; rest -= lane_bytes, k += 2) {
        sum = _mm_xor_si128(sum, times_power(lane(bytes + rest - lane_bytes), k));
    }
    if (rest > 0) sum = _mm_xor_si128(sum, times_power(lane(bytes, rest), k));
    return remainder_of(sum);
}

}  // namespace

bool has_crc64_by_multiplication() noexcept {
    return os::has_carryless_multiply();
}

ACP_TARGET std::uint64_t crc64_by_multiplication(std::span<const std::byte> bytes) noexcept {
    const std::byte* at = bytes.data();
    if (bytes.size() == 2 * lane_bytes) [[likely]] {
        return remainder_of(
            _mm_xor_si128(times_power(lane(at + lane_bytes), 0), times_power(lane(at), 2)));
    }
    // Most keys: the last lane, and what is in front of it.
    if (bytes.size() - lane_bytes <= lane_bytes) {
        const std::size_t front = bytes.size() - lane_bytes;
        return remainder_of(
            _mm_xor_si128(times_power(lane(at + front), 0), times_power(lane(at, front), 2)));
    }
    const std::size_t odd = bytes.size() <= step_bytes ? bytes.size() : bytes.size() % step_bytes;
    const std::uint64_t crc = crc64_of_few(at, odd);
    if (odd == bytes.size()) return crc;

    const std::byte* const end = at + bytes.size();
    at += odd;
    __m128i state[lanes];
    for (std::size_t i = 0; i < lanes; ++i) state[i] = lane(at + i * lane_bytes);
    // The CRC of what stands in front is added to the eight bytes that follow it.
    state[0] = _mm_xor_si128(state[0], _mm_slli_si128(in_lane(crc), 8));
    for (at += step_bytes; at < end; at += step_bytes) {
        for (std::size_t i = 0; i < lanes; ++i) {
            state[i] =
                _mm_xor_si128(times_power(state[i], 2 * lanes - 1), lane(at + i * lane_bytes));
        }
    }
    __m128i sum = _mm_setzero_si128();
    for (std::size_t i = 0; i < lanes; ++i) {
        sum = _mm_xor_si128(sum, times_power(state[i], 2 * (lanes - 1 - i)));
    }
    return remainder_of(sum);
}

}  // namespace acp::hash
