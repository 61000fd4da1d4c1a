// SPDX-License-Identifier: BSD-3-Clause
// The byte-exact difference of a page from its twin (its copy from before the writes). Several
// nodes write different bytes of one page, and their differences merge at its home in any order: a
// difference has each changed byte and no other one, and applying it stores those bytes alone.
// Another node sends it, so parse() refuses whatever make() cannot have written. Pure; any thread.
// Tests: tests/unit/pages/difference_test.cpp, tests/fuzz/difference.cpp.
//
// Format, words in little endian: a mask of the lines that changed, a mask of those whose bytes all
// changed; then for each changed line, from the first to the last one, a mask of its changed bytes
// (left out if all changed) and those bytes. Two equal pages have an empty difference, of no bytes.
// Gaps of unchanged bytes are never included to shorten it: they may be another node's.
// Source: the multiple-writer protocol of TreadMarks (Keleher et al., USENIX 1994), with masks in
// place of runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "pages/page.hpp"

namespace acp::pages {

inline constexpr std::size_t difference_head_bytes = 16;
// A line of which all bytes but one changed, with its mask.
inline constexpr std::size_t difference_line_bytes_max = 8 + line_bytes - 1;
inline constexpr std::size_t difference_bytes_max =
    difference_head_bytes + page_lines * difference_line_bytes_max;

// Room for a difference: make() stores whole vectors, so up to a line behind its end.
struct DifferenceRoom {
    alignas(64) std::array<std::byte, difference_bytes_max + line_bytes> bytes;
};

// A valid difference, in bytes that the caller owns and leaves unchanged during its life.
class Difference {
public:
    // The empty one.
    constexpr Difference() noexcept = default;

    // Checks bytes of any origin in full: nullopt unless they are one difference, exactly.
    [[nodiscard]] static std::optional<Difference> parse(std::span<const std::byte> bytes) noexcept;

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

    [[nodiscard]] bool is_empty() const noexcept { return bytes_.empty(); }

private:
    friend class DifferenceCode;
    friend class DifferenceParts;

    explicit Difference(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

    std::span<const std::byte> bytes_;
};

// The instructions on the bytes of a vector that the processor has (os/cpu.hpp).
struct ByteInstructions {
    bool has_shuffle = false;   // os::has_byte_shuffle()
    bool has_compress = false;  // os::has_byte_compress()
};

// The code that makes and applies differences, chosen once for a processor. Each choice makes the
// same bytes.
class DifferenceCode {
public:
    // The fastest one with these instructions.
    explicit DifferenceCode(ByteInstructions instructions) noexcept;

    // The difference that turns the twin into the page, written to `room`. It is valid, too, if
    // another thread writes to the page during the call; the bytes of those writes may be in it or
    // not.
    [[nodiscard]] Difference make(DifferenceRoom& room,
                                  PageView page,
                                  PageView twin) const noexcept {
        return Difference(
            std::span(room.bytes).first(make_(room.bytes.data(), page.data(), twin.data())));
    }

    // Stores the changed bytes into the page, and writes no other byte.
    void apply(PageSpan page, Difference difference) const noexcept {
        if (!difference.is_empty()) apply_(page.data(), difference.bytes().data());
    }

    // apply() on a page that other threads read and write: an aligned word of 8 bytes changes in one
    // store, so that no thread reads a part of the change.
    void apply_shared(PageSpan page, Difference difference) const noexcept {
        if (!difference.is_empty()) apply_shared_(page.data(), difference.bytes().data());
    }

private:
    std::size_t (*make_)(std::byte* room, const std::byte* page, const std::byte* twin) noexcept;
    void (*apply_)(std::byte* page, const std::byte* difference) noexcept;
    void (*apply_shared_)(std::byte* page, const std::byte* difference) noexcept;
};

// Cuts a difference into differences of bounded length, each valid without the others and for
// other lines.
class DifferenceParts {
public:
    inline static constexpr std::size_t part_bytes_min =
        difference_head_bytes + difference_line_bytes_max;

    explicit DifferenceParts(Difference difference) noexcept;

    // The next part, written to `room`; empty behind the last one.
    //   room  part_bytes_min bytes or more
    [[nodiscard]] Difference next(std::span<std::byte> room) noexcept;

private:
    std::uint64_t dirty_ = 0;  // the lines of the parts to come
    std::uint64_t whole_ = 0;
    std::span<const std::byte> rest_;  // their masks and bytes
};

// A run of bytes of a page.
struct ByteRun {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

// The set of the bytes that a difference changes. The bytes in the sets of two nodes are those that
// both wrote without synchronisation, unless they stored the value that was there.
class WrittenBytes {
public:
    // None.
    WrittenBytes() noexcept = default;

    explicit WrittenBytes(Difference difference) noexcept;

    // The bytes that are in both.
    [[nodiscard]] WrittenBytes operator&(const WrittenBytes& other) const noexcept;

    // Adds the bytes of another set.
    void add(const WrittenBytes& other) noexcept;

    //   byte  of the page
    void add(std::uint32_t byte) noexcept {
        lines_[byte / line_bytes] |= std::uint64_t{1} << byte % line_bytes;
    }

    [[nodiscard]] bool is_empty() const noexcept;

    [[nodiscard]] std::uint32_t count() const noexcept;

    // The bytes of a line, a bit each, as in a difference.
    [[nodiscard]] std::uint64_t line(std::size_t line) const noexcept { return lines_[line]; }

    void set_line(std::size_t line, std::uint64_t bytes) noexcept { lines_[line] = bytes; }

    // The first run that ends behind `from`, from there on; of no bytes if there is none.
    //   from  0 .. page_bytes
    [[nodiscard]] ByteRun run_from(std::uint32_t from) const noexcept;

private:
    std::array<std::uint64_t, page_lines> lines_{};
};

}  // namespace acp::pages
