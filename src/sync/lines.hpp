// SPDX-License-Identifier: BSD-3-Clause
// Reading for the last time what another process has written, and will write again, into memory of both. A line that both caches hold costs the
// writer, when it writes, a question to all of them; one that the reader has written comes in one step (docs/adr/0024-pipe.md). So the only
// reader of a line stores a zero into it as soon as it has read it. Pure; any thread.
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

// Copies the first bytes of a range that begins with a line, and stores a zero into each of its lines.
//   wanted  at most bytes: so many are copied
inline void take_lines(char* target,
                       char* range,
                       std::uint64_t wanted,
                       std::uint64_t bytes) noexcept {
    // In one pass with the copy: a pass of its own would wait for every line once more.
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
