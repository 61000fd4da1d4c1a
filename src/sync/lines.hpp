// SPDX-License-Identifier: BSD-3-Clause
// How the only reader of shared lines consumes them before the writer writes them again. If both
// caches hold a line, the writer's next store must invalidate the copies in all caches; if the
// reader wrote the line last, the writer gets it from that cache in one step
// (docs/adr/0024-pipe.md). So the reader stores a zero into each line as soon as it has read it.
// Pure; any thread.
// Tests: tests/unit/sync/lines_test.cpp.
#pragma once

#include <cstdint>
#include <cstring>

namespace acp::sync {

inline constexpr std::uint64_t line_bytes = 64;

// Stores a zero into each line that lies in a range wholly.
inline void clear_lines(char* range, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t zero = 0;
    const std::uint64_t first = -reinterpret_cast<std::uintptr_t>(range) % line_bytes;
    for (std::uint64_t done = first; done + line_bytes <= bytes; done += line_bytes)
        std::memcpy(range + done, &zero, sizeof zero);
}

// Copies the first `wanted` bytes of a range that begins at a line, and stores a zero into each
// line of the range.
//   wanted  at most `bytes`, the length of the range
inline void take_lines(char* target,
                       char* range,
                       std::uint64_t wanted,
                       std::uint64_t bytes) noexcept {
    // The zeros are stored in the same pass as the copy: a second pass would wait for every line
    // again.
    constexpr std::uint64_t step = 2 * line_bytes;
    const auto clear = [&](std::uint64_t line) {
        constexpr std::uint64_t zero = 0;
        std::memcpy(range + line, &zero, sizeof zero);
    };
    std::uint64_t done = 0;
    for (; done + step <= wanted; done += step) {
        std::memcpy(target + done, range + done, step);
        clear(done);
        clear(done + line_bytes);
    }
    if (wanted > done) std::memcpy(target + done, range + done, wanted - done);
    for (; done < bytes; done += line_bytes) clear(done);
}

}  // namespace acp::sync
