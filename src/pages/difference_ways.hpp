// SPDX-License-Identifier: BSD-3-Clause
// The three ways to make and apply a difference (pages/difference.hpp), and the two cursors that
// all of them use. For difference.cpp, which chooses one, and for tests. Pure; any thread.
// Tests: tests/unit/pages/difference_test.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pages/page.hpp"

namespace acp::pages {

static_assert(std::endian::native == std::endian::little, "masks are sent as they are in memory");

inline constexpr std::uint64_t all_bytes = ~std::uint64_t{0};

[[nodiscard]] inline std::uint64_t word_at(const std::byte* bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

// The changed lines of a difference, which its caller walks from the first to the last one.
class LineReader {
public:
    //   difference  with its head, valid, not empty
    explicit LineReader(const std::byte* difference) noexcept
        : LineReader(word_at(difference), word_at(difference + 8), difference + 16) {}

    //   place  of the first line's mask, or of its bytes where all of them changed
    LineReader(std::uint64_t dirty, std::uint64_t whole, const std::byte* place) noexcept
        : dirty_(dirty), whole_(whole), place_(place) {}

    [[nodiscard]] bool is_at_end() const noexcept { return dirty_ == 0; }

    [[nodiscard]] std::size_t line() const noexcept {
        return static_cast<std::size_t>(std::countr_zero(dirty_));
    }

    [[nodiscard]] bool is_whole() const noexcept { return (whole_ >> line() & 1) != 0; }

    // The line's changed bytes.
    [[nodiscard]] std::uint64_t mask() const noexcept {
        return is_whole() ? all_bytes : word_at(place_);
    }

    [[nodiscard]] const std::byte* bytes() const noexcept { return place_ + (is_whole() ? 0 : 8); }

    // To the next line.
    //   count  the changed bytes of this one
    void advance(std::size_t count) noexcept {
        place_ = bytes() + count;
        dirty_ &= dirty_ - 1;
    }

    [[nodiscard]] const std::byte* place() const noexcept { return place_; }

private:
    std::uint64_t dirty_;
    std::uint64_t whole_;
    const std::byte* place_;
};

// Calls visit(index, value, bits) for each aligned word of 8 bytes of which a difference has bytes:
// their values, and a mask of their bits.
//   difference  with its head, valid, not empty
template <typename Visit>
void for_each_word(const std::byte* difference, const Visit& visit) {
    for (LineReader lines(difference); !lines.is_at_end();) {
        const std::byte* bytes = lines.bytes();
        const std::uint64_t mask = lines.mask();
        for (std::size_t i = 0; i < line_bytes / 8; ++i) {
            std::uint64_t value = 0;
            std::uint64_t bits = 0;
            for (std::size_t byte = 0; byte < 8; ++byte) {
                if ((mask >> (8 * i + byte) & 1) == 0) continue;
                value |= std::to_integer<std::uint64_t>(*bytes++) << 8 * byte;
                bits |= std::uint64_t{0xff} << 8 * byte;
            }
            if (bits != 0) visit(lines.line() * (line_bytes / 8) + i, value, bits);
        }
        lines.advance(static_cast<std::size_t>(std::popcount(mask)));
    }
}

// Writes a difference line by line.
class LineWriter {
public:
    //   room  of a DifferenceRoom
    explicit LineWriter(std::byte* room) noexcept : room_(room), place_(room + 16) {}

    // Begins a line that changed. The caller stores its bytes where this returns.
    [[nodiscard]] std::byte* begin(std::size_t line, std::uint64_t mask) noexcept {
        dirty_ |= std::uint64_t{1} << line;
        if (mask == all_bytes) {
            whole_ |= std::uint64_t{1} << line;
            return place_;
        }
        std::memcpy(place_, &mask, sizeof mask);
        return place_ + sizeof mask;
    }

    // Ends it.  end: behind its bytes
    void end(std::byte* end) noexcept { place_ = end; }

    // Writes the head. Returns the bytes of the difference.
    [[nodiscard]] std::size_t finish() noexcept {
        if (dirty_ == 0) return 0;
        std::memcpy(room_, &dirty_, sizeof dirty_);
        std::memcpy(room_ + 8, &whole_, sizeof whole_);
        return static_cast<std::size_t>(place_ - room_);
    }

private:
    std::byte* room_;
    std::byte* place_;
    std::uint64_t dirty_ = 0;
    std::uint64_t whole_ = 0;
};

// The runs of ones in a mask, from the first to the last one. The starts and the ends are masks of
// their own, so that no run waits for the length of the one before; and neither is zero before
// is_at_end(), so that the builtin serves, without std::countr_zero()'s branch.
class RunReader {
public:
    explicit RunReader(std::uint64_t mask) noexcept
        : starts_(mask & ~(mask << 1)), ends_(mask & ~(mask >> 1)) {}

    [[nodiscard]] bool is_at_end() const noexcept { return starts_ == 0; }

    [[nodiscard]] std::size_t first() const noexcept {
        return static_cast<std::size_t>(__builtin_ctzll(starts_));
    }

    [[nodiscard]] std::size_t count() const noexcept {
        return static_cast<std::size_t>(__builtin_ctzll(ends_)) - first() + 1;
    }

    void advance() noexcept {
        starts_ &= starts_ - 1;
        ends_ &= ends_ - 1;
    }

private:
    std::uint64_t starts_;
    std::uint64_t ends_;
};

// By words of 64 bits. On every architecture.
std::size_t make_by_words(std::byte* room, const std::byte* page, const std::byte* twin) noexcept;
void apply_by_words(std::byte* page, const std::byte* difference) noexcept;

// Changes each aligned word of 8 bytes by one store, for DifferenceCode::apply_shared().
void apply_by_atomic_words(std::byte* page, const std::byte* difference) noexcept;

// Whether the architecture has the next two ways; else they must not be called.
extern const bool has_vector_ways;

// By shuffles of 8 bytes through a table of 2 KiB (x86 SSSE3).
std::size_t make_by_shuffles(std::byte* room,
                             const std::byte* page,
                             const std::byte* twin) noexcept;

// By compression and expansion of 64 bytes (x86 AVX-512 VBMI2).
std::size_t make_by_compression(std::byte* room,
                                const std::byte* page,
                                const std::byte* twin) noexcept;

// Stores each line by one instruction, whose parts are aligned words at least.
void apply_by_expansion(std::byte* page, const std::byte* difference) noexcept;

}  // namespace acp::pages
