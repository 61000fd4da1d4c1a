// SPDX-License-Identifier: BSD-3-Clause
// Refuses chosen requests for memory of this process, to see what becomes of the work that made them. A program that
// links this has its requests counted, those of every thread and library in it. Any thread.
#pragma once

#include <cstdint>

namespace acp::test {

inline constexpr std::uint64_t all_from_there = ~0ULL;

// While it lives, request number `first` (1: the next one) and those after it, `count` in all, are refused. One at a
// time. first 0: they are only counted.
class Refusal {
public:
    explicit Refusal(std::uint64_t first, std::uint64_t count = 1) noexcept;
    ~Refusal();
    Refusal(const Refusal&) = delete;
    Refusal& operator=(const Refusal&) = delete;

    // Requests since it was made.
    [[nodiscard]] static std::uint64_t seen() noexcept;
};

// The same until the process ends, of the requests of those threads alone for which is_victim(), which takes no memory,
// says yes: they alone are counted.
void refuse_for_good(std::uint64_t first, std::uint64_t count, bool (*is_victim)()) noexcept;

}  // namespace acp::test
