// SPDX-License-Identifier: BSD-3-Clause
// Moves many bytes between ranges that do not overlap, by the faster of two ways: plain stores, or
// stores past the caches. A plain store needs its cache line first, which takes long if another CPU
// has it, as the memory of a receiver that has read the last message; one past the caches does not.
// Which way is faster is not known beforehand, so it is measured: part by part, by the time of a
// sample that is moved by plain stores. Pure but for the ways; any thread.
// Tests: tests/unit/local/bulk_move_test.cpp. Figures: ADR 0047.
#pragma once

#include <algorithm>
#include <cstdint>

namespace acp::local {

inline constexpr std::uint64_t sample_bytes = 4096;         // no fewer than waiting stores hold
inline constexpr std::uint64_t part_bytes = 256ULL * 1024;  // the way is chosen anew for each
inline constexpr std::uint64_t sampled_bytes_min = 4 * sample_bytes;

// The ways have:
//   plain(target, source, bytes)   plain stores
//   stream(target, source, bytes)  stores past the caches; later stores come after them
//   load(source, bytes)            reads the range, so that it is in this CPU's cache
//   ticks()                        a clock
//   is_slow(ticks)                 whether plain stores of sample_bytes from and to this CPU's
//                                  cache take much less
template <typename Ways>
class BulkMove {
public:
    explicit BulkMove(Ways& ways) noexcept : ways_(ways) {}

    void run(char* target, const char* source, std::uint64_t bytes) noexcept {
        while (bytes >= sampled_bytes_min) {
            const std::uint64_t part = std::min(bytes, part_bytes);
            run_part(target, source, part);
            target += part;
            source += part;
            bytes -= part;
        }
        if (bytes != 0) ways_.plain(target, source, bytes);
    }

private:
    // If a first sample is slow, a second one, which was read before, shows whether it was the
    // stores.
    void run_part(char* target, const char* source, std::uint64_t bytes) noexcept {
        std::uint64_t done = sample_bytes;
        bool is_streamed = is_sample_slow(target, source);
        if (is_streamed && bytes >= 2 * sample_bytes) {
            ways_.load(source + done, sample_bytes);
            is_streamed = is_sample_slow(target + done, source + done);
            done += sample_bytes;
        }
        if (done == bytes) return;
        if (is_streamed) {
            ways_.stream(target + done, source + done, bytes - done);
        } else {
            ways_.plain(target + done, source + done, bytes - done);
        }
    }

    [[nodiscard]] bool is_sample_slow(char* target, const char* source) noexcept {
        const std::uint64_t start = ways_.ticks();
        ways_.plain(target, source, sample_bytes);
        return ways_.is_slow(ways_.ticks() - start);
    }

    Ways& ways_;
};

// The ways of this processor.
class ProcessorWays {
public:
    static void plain(char* target, const char* source, std::uint64_t bytes) noexcept;
    static void stream(char* target, const char* source, std::uint64_t bytes) noexcept;
    static void load(const char* source, std::uint64_t bytes) noexcept;
    static std::uint64_t ticks() noexcept;
    static bool is_slow(std::uint64_t ticks) noexcept;
};

}  // namespace acp::local
