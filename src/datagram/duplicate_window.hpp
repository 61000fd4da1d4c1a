// SPDX-License-Identifier: BSD-3-Clause
// Which content came already: a sliding bitmap over serial numbers that wrap at 2^32. It begins at the first that
// is missing, so that what lies before it is complete, and a late duplicate can never act twice. Knows nothing of
// packets. One thread.
// Tests: tests/unit/datagram/duplicate_window_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class DuplicateWindow {
public:
    static constexpr std::uint32_t span = 4096;  // serial numbers from base() on
    // So far before base() a duplicate is plausible; what is older still has no business to be there.
    static constexpr std::uint32_t past_max = 1U << 20;

    enum class Seen : std::uint8_t { fresh, duplicate, too_old, too_far };

    explicit DuplicateWindow(Dsn first = 0) noexcept : base_(first) {}

    // What it is; a fresh one is taken note of: the next look at it says duplicate.
    Seen insert(Dsn dsn) noexcept;
    [[nodiscard]] Seen look(Dsn dsn) const noexcept;

    [[nodiscard]] Dsn base() const noexcept { return base_; }  // all before it came

    [[nodiscard]] std::uint32_t beyond() const noexcept { return beyond_; }  // came after base()

private:
    static constexpr std::uint32_t words = span / 64;
    std::array<std::uint64_t, words> bits_{};  // bit dsn % span
    Dsn base_;
    std::uint32_t beyond_ = 0;
};

}  // namespace acp::datagram
