// SPDX-License-Identifier: BSD-3-Clause
// Makes chosen allocations of this process fail, to test the code that made them. In a program that
// links this file the requests of all threads and libraries are counted. Any thread.
#pragma once

#include <cstdint>

namespace acp::test {

inline constexpr std::uint64_t all_from_there = ~0ULL;

// While it lives, request number `first` (1: the next one) and those after it, `count` in all, are
// refused. One at a time. first 0: they are only counted.
class Refusal {
public:
    explicit Refusal(std::uint64_t first, std::uint64_t count = 1) noexcept;
    ~Refusal();
    Refusal(const Refusal&) = delete;
    Refusal& operator=(const Refusal&) = delete;

    // Requests since it was made.
    [[nodiscard]] static std::uint64_t seen() noexcept;
};

// A Refusal until the process ends, which counts only requests of threads for which is_victim()
// returns true. is_victim() must not allocate.
void refuse_for_good(std::uint64_t first, std::uint64_t count, bool (*is_victim)()) noexcept;

}  // namespace acp::test
