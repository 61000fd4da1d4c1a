// SPDX-License-Identifier: BSD-3-Clause
// The ways by vector instructions of x86-64. Compiled for every such processor: only the functions
// below use those instructions, and difference.cpp chooses them where the caller says that the
// processor has them.
#include <array>
#include <immintrin.h>

#include "pages/difference_ways.hpp"

// The conditions of os::has_byte_shuffle() and os::has_byte_compress().
#define ACP_SHUFFLE_TARGET [[gnu::target("ssse3,popcnt")]]
#define ACP_COMPRESS_TARGET [[gnu::target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt")]]

namespace acp::pages {

namespace {

// For each mask of 8 bytes the shuffle that moves the bytes of the mask to the front.
struct ShuffleTable {
    alignas(64) std::array<std::array<std::uint8_t, 8>, 256> shuffles{};

    constexpr ShuffleTable() noexcept {
        for (unsigned mask = 0; mask < 256; ++mask) {
            std::size_t count = 0;
            for (unsigned byte = 0; byte < 8; ++byte) {
                if ((mask >> byte & 1) != 0) {
                    shuffles[mask][count++] = static_cast<std::uint8_t>(byte);
                }
            }
        }
    }
};

constexpr ShuffleTable table;

const __m128i* vector_at(const void* place) noexcept {
    return static_cast<const __m128i*>(place);
}

ACP_SHUFFLE_TARGET std::uint64_t changed_bytes_by_vectors(const std::byte* page,
                                                          const std::byte* twin) noexcept {
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < line_bytes; i += 16) {
        const __m128i equal = _mm_cmpeq_epi8(_mm_loadu_si128(vector_at(page + i)),
                                             _mm_loadu_si128(vector_at(twin + i)));
        mask |= static_cast<std::uint64_t>(~_mm_movemask_epi8(equal) & 0xffff) << i;
    }
    return mask;
}

// Stores up to 8 bytes behind the line's.
ACP_SHUFFLE_TARGET std::byte* pack_by_shuffles(std::byte* target,
                                               const std::byte* line,
                                               std::uint64_t mask) noexcept {
    for (std::size_t i = 0; i < line_bytes; i += 8, mask >>= 8) {
        const auto bytes = static_cast<std::uint8_t>(mask);
        const __m128i packed = _mm_shuffle_epi8(_mm_loadl_epi64(vector_at(line + i)),
                                                _mm_loadl_epi64(vector_at(&table.shuffles[bytes])));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(target), packed);
        target += _mm_popcnt_u32(bytes);
    }
    return target;
}

}  // namespace

const bool has_vector_ways = true;

ACP_SHUFFLE_TARGET std::size_t make_by_shuffles(std::byte* room,
                                                const std::byte* page,
                                                const std::byte* twin) noexcept {
    LineWriter writer(room);
    for (std::size_t line = 0; line < page_lines; ++line, page += line_bytes, twin += line_bytes) {
        const std::uint64_t mask = changed_bytes_by_vectors(page, twin);
        if (mask == 0) continue;
        std::byte* const target = writer.begin(line, mask);
        if (mask == all_bytes) {
            std::memcpy(target, page, line_bytes);
            writer.end(target + line_bytes);
        } else {
            writer.end(pack_by_shuffles(target, page, mask));
        }
    }
    return writer.finish();
}

ACP_COMPRESS_TARGET std::size_t make_by_compression(std::byte* room,
                                                    const std::byte* page,
                                                    const std::byte* twin) noexcept {
    LineWriter writer(room);
    for (std::size_t line = 0; line < page_lines; ++line, page += line_bytes, twin += line_bytes) {
        const __m512i bytes = _mm512_loadu_si512(page);
        const std::uint64_t mask = _mm512_cmpneq_epi8_mask(bytes, _mm512_loadu_si512(twin));
        if (mask == 0) continue;
        std::byte* const target = writer.begin(line, mask);
        // Compression in the register, then a store of the whole one: a compressing store is
        // microcode on some processors.
        _mm512_storeu_si512(target, _mm512_maskz_compress_epi8(mask, bytes));
        writer.end(target + _mm_popcnt_u64(mask));
    }
    return writer.finish();
}

ACP_COMPRESS_TARGET void apply_by_expansion(std::byte* page, const std::byte* difference) noexcept {
    for (LineReader lines(difference); !lines.is_at_end();) {
        const std::byte* const bytes = lines.bytes();
        std::byte* const target = page + lines.line() * line_bytes;
        if (lines.is_whole()) {
            _mm512_storeu_si512(target, _mm512_loadu_si512(bytes));
            lines.advance(line_bytes);
            continue;
        }
        const std::uint64_t mask = lines.mask();
        const auto count = static_cast<unsigned>(_mm_popcnt_u64(mask));
        // A masked load: behind the last line's bytes there may be no memory.
        const __m512i packed = _mm512_maskz_loadu_epi8(_bzhi_u64(all_bytes, count), bytes);
        _mm512_mask_storeu_epi8(target, mask, _mm512_maskz_expand_epi8(mask, packed));
        lines.advance(count);
    }
}

}  // namespace acp::pages
