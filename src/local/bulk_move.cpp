// SPDX-License-Identifier: BSD-3-Clause
// The ways of x86-64. Elsewhere, and under sanitizers, which know no such stores, all moves are
// plain.
#include "local/bulk_move.hpp"

#include <array>
#include <atomic>
#include <cstring>

#include "local/direct.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define ACP_HAS_STREAMED_STORES 1
#include <emmintrin.h>
#else
#define ACP_HAS_STREAMED_STORES 0
#endif

namespace acp::local {

namespace {

constexpr std::uint64_t line_bytes = 64;
constexpr bool has_choice = ACP_HAS_STREAMED_STORES == 1;

#if ACP_HAS_STREAMED_STORES

// A value that the first caller determines. Several threads may determine it at the same time: none
// waits for another one, because a signal handler may be the second caller of its thread.
template <typename Find>
std::uint64_t found_once(std::atomic<std::uint64_t>& kept, const Find& find) noexcept {
    std::uint64_t value = kept.load(std::memory_order_relaxed);
    if (value == 0) [[unlikely]] {
        value = find();
        kept.store(value, std::memory_order_relaxed);
    }
    return value;
}

bool has_string_move() noexcept {
    constexpr std::uint64_t yes = 1;
    constexpr std::uint64_t no = 2;
    static std::atomic<std::uint64_t> kept{0};
    return found_once(kept, [] { return os::has_fast_short_rep_mov() ? yes : no; }) == yes;
}

// The least time that a plain move of a sample takes whose bytes are in this CPU's cache.
std::uint64_t cached_sample_ticks() noexcept {
    static std::atomic<std::uint64_t> kept{0};
    return found_once(kept, [] {
        constexpr int tries = 16;
        alignas(line_bytes) std::array<char, sample_bytes> from{};
        alignas(line_bytes) std::array<char, sample_bytes> to{};
        std::uint64_t least = ~std::uint64_t{0};
        for (int i = 0; i < tries; ++i) {
            const std::uint64_t start = os::ticks();
            ProcessorWays::plain(to.data(), from.data(), sample_bytes);
            least = std::min(least, os::ticks() - start);
        }
        return std::max<std::uint64_t>(least, 1);
    });
}

#endif

}  // namespace

void ProcessorWays::plain(char* target, const char* source, std::uint64_t bytes) noexcept {
#if ACP_HAS_STREAMED_STORES
    if (has_string_move()) {
        asm volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(bytes) : : "memory");
        return;
    }
#endif
    std::memcpy(target, source, bytes);
}

void ProcessorWays::stream(char* target, const char* source, std::uint64_t bytes) noexcept {
#if ACP_HAS_STREAMED_STORES
    const std::uint64_t before = std::min(
        bytes, (line_bytes - reinterpret_cast<std::uintptr_t>(target) % line_bytes) % line_bytes);
    std::memcpy(target, source, before);
    std::uint64_t done = before;
    for (; done + line_bytes <= bytes; done += line_bytes) {
        const auto* const from = reinterpret_cast<const __m128i*>(source + done);
        auto* const to = reinterpret_cast<__m128i*>(target + done);
        const __m128i first = _mm_loadu_si128(from);
        const __m128i second = _mm_loadu_si128(from + 1);
        const __m128i third = _mm_loadu_si128(from + 2);
        const __m128i fourth = _mm_loadu_si128(from + 3);
        _mm_stream_si128(to, first);
        _mm_stream_si128(to + 1, second);
        _mm_stream_si128(to + 2, third);
        _mm_stream_si128(to + 3, fourth);
    }
    std::memcpy(target + done, source + done, bytes - done);
    _mm_sfence();  // the flag that the caller stores next must not overtake these stores
#else
    plain(target, source, bytes);
#endif
}

void ProcessorWays::load(const char* source, std::uint64_t bytes) noexcept {
    for (std::uint64_t at = 0; at < bytes; at += line_bytes)
        (void)*static_cast<const volatile char*>(source + at);
}

std::uint64_t ProcessorWays::ticks() noexcept {
    return os::ticks();
}

bool ProcessorWays::is_slow([[maybe_unused]] std::uint64_t ticks) noexcept {
#if ACP_HAS_STREAMED_STORES
    // Lines of another CPU take 3 times as long or more, those of the own last cache less than
    // twice.
    return ticks > cached_sample_ticks() * 5 / 2;
#else
    return false;
#endif
}

void move_bulk(char* target, const char* source, std::uint64_t bytes) noexcept {
    const bool is_apart = static_cast<std::uint64_t>(target - source) >= bytes &&
                          static_cast<std::uint64_t>(source - target) >= bytes;
    if (!is_apart) {
        std::memmove(target, source, bytes);
    } else if (!has_choice || bytes < sampled_bytes_min) {
        ProcessorWays::plain(target, source, bytes);
    } else {
        ProcessorWays ways;
        BulkMove<ProcessorWays>(ways).run(target, source, bytes);
    }
}

}  // namespace acp::local
