// SPDX-License-Identifier: BSD-3-Clause
// Which content was received: a sliding bitmap over serial numbers that wrap at 2^32. It begins at
// the first missing number, so all content before it is complete and no duplicate, however late, is
// ever delivered twice. Knows nothing of packets. One thread.
// Tests: tests/unit/datagram/duplicate_window_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class DuplicateWindow {
public:
    static constexpr std::uint32_t span = 4096;  // width of the window from base() on
    // A number up to past_max before base() is a plausible duplicate; an older one violates the
    // protocol.
    static constexpr std::uint32_t past_max = 1U << 20;

    enum class Seen : std::uint8_t { fresh, duplicate, too_old, too_far };

    explicit DuplicateWindow(Dsn first = 0) noexcept : base_(first) {}

    // Classifies a serial number like look(), and marks a fresh one as received.
    Seen insert(Dsn dsn) noexcept;
    [[nodiscard]] Seen look(Dsn dsn) const noexcept;

    [[nodiscard]] Dsn base() const noexcept { return base_; }  // all before it were received

    // Received after base().
    [[nodiscard]] std::uint32_t beyond() const noexcept { return beyond_; }

private:
    static constexpr std::uint32_t words = span / 64;
    std::array<std::uint64_t, words> bits_{};  // bit dsn % span: that number was received
    Dsn base_;
    std::uint32_t beyond_ = 0;
};

}  // namespace acp::datagram
