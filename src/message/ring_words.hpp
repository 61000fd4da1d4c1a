// SPDX-License-Identifier: BSD-3-Clause
// The words that the ends of a ring exchange: a record's header, a credit, a request for a header,
// a refusal. Each has a check in its upper half and its content in its lower half. Knows no memory.
// Any thread.
// Tests: tests/unit/message/ring_words_test.cpp.
#pragma once

#include <cstdint>

#include "os/crc32c.hpp"

namespace acp::message {

// The longest payload that a header can describe.
inline constexpr std::uint64_t header_bytes_max = (std::uint64_t{1} << 24) - 1;
// Tags are 0 .. tag_max.
inline constexpr std::uint32_t tag_max = 127;

// The content of a header.
struct RecordHead {
    std::uint32_t bytes = 0;  // payload bytes, 0 .. header_bytes_max
    std::uint8_t tag = 0;     // 0 .. tag_max; its meaning is the caller's
    bool wraps = false;       // the payload is at the start of the ring, not behind the header
};

// Makes and checks words. The check covers the content, the key, and 32 bits of the word's line
// number, which only grows. So a word that was made under another key or for another line (less
// than 2^32 lines away) does not fit, and a random word fits with a probability of 2^-32. No word
// is 0, which never fits.
class RingKey {
public:
    explicit constexpr RingKey(std::uint32_t key) noexcept : key_(key) {}

    // The header of the record that starts at a line.
    [[nodiscard]] std::uint64_t header(std::uint64_t line, RecordHead head) const noexcept {
        return made(
            line, head.bytes | std::uint32_t{head.tag} << tag_shift | (head.wraps ? wraps_bit : 0));
    }

    [[nodiscard]] bool fits_header(std::uint64_t word, std::uint64_t line) const noexcept {
        return word == made(line, static_cast<std::uint32_t>(word));
    }

    // Read a header that fits: all of it, or one field, which costs an instruction or two.
    [[nodiscard]] static constexpr RecordHead read_header(std::uint64_t word) noexcept {
        return {bytes_of(word), tag_of(word), wraps_of(word)};
    }

    [[nodiscard]] static constexpr std::uint32_t bytes_of(std::uint64_t header) noexcept {
        return static_cast<std::uint32_t>(header) & bytes_mask;
    }

    [[nodiscard]] static constexpr std::uint8_t tag_of(std::uint64_t header) noexcept {
        return static_cast<std::uint8_t>(header >> tag_shift & tag_max);
    }

    [[nodiscard]] static constexpr bool wraps_of(std::uint64_t header) noexcept {
        return (header & wraps_bit) != 0;
    }

    // The credit: all lines before this one may be written again.
    [[nodiscard]] std::uint64_t credit(std::uint64_t line) const noexcept {
        return of_line(line, credit_mark);
    }

    // The request: store the header of the record at this line again.
    [[nodiscard]] std::uint64_t request(std::uint64_t line) const noexcept {
        return of_line(line, request_mark);
    }

    // The refusal: a record is impossible.
    [[nodiscard]] std::uint64_t refusal() const noexcept { return of_line(0, refusal_mark); }

    // Read the line of a credit or of a request, which must be in [first, first + count), count <=
    // 2^32. False: it is no such word.
    [[nodiscard]] bool read_credit(std::uint64_t word,
                                   std::uint64_t first,
                                   std::uint64_t count,
                                   std::uint64_t& line) const noexcept {
        return read_line(word, credit_mark, first, count, line);
    }

    [[nodiscard]] bool read_request(std::uint64_t word,
                                    std::uint64_t first,
                                    std::uint64_t count,
                                    std::uint64_t& line) const noexcept {
        return read_line(word, request_mark, first, count, line);
    }

private:
    static constexpr std::uint32_t bytes_mask = header_bytes_max;
    static constexpr unsigned tag_shift = 24;
    static constexpr std::uint32_t wraps_bit = std::uint32_t{1} << 31;
    // Lower halves that no header has: a record that wraps and is longer than any ring allows.
    static constexpr std::uint32_t credit_mark = 0xffffffff;
    static constexpr std::uint32_t request_mark = 0xfffffffe;
    static constexpr std::uint32_t refusal_mark = 0xfffffffd;

    [[nodiscard]] std::uint32_t check(std::uint64_t line, std::uint32_t low) const noexcept {
        const std::uint32_t sum = os::crc32c_of_word(key_, line << 32 | low);
        return sum + static_cast<std::uint32_t>(sum == 0);
    }

    [[nodiscard]] std::uint64_t made(std::uint64_t line, std::uint32_t low) const noexcept {
        return std::uint64_t{check(line, low)} << 32 | low;
    }

    [[nodiscard]] std::uint64_t of_line(std::uint64_t line, std::uint32_t mark) const noexcept {
        return std::uint64_t{check(line, mark)} << 32 | static_cast<std::uint32_t>(line);
    }

    [[nodiscard]] bool read_line(std::uint64_t word,
                                 std::uint32_t mark,
                                 std::uint64_t first,
                                 std::uint64_t count,
                                 std::uint64_t& line) const noexcept {
        const std::uint32_t distance =
            static_cast<std::uint32_t>(word) - static_cast<std::uint32_t>(first);
        if (distance >= count || word != of_line(first + distance, mark)) return false;
        line = first + distance;
        return true;
    }

    std::uint32_t key_;
};

}  // namespace acp::message
