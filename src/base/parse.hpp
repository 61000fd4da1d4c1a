// SPDX-License-Identifier: BSD-3-Clause
// Converts short texts to numbers and back: the values of configuration and command lines. Knows no
// variable and no option, reads no environment. Pure; any thread. parse_size is declared in
// base/config.hpp and implemented here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace acp::base {

inline constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;

// Decimal or 0x-hexadecimal digits and nothing else; nullopt for "", signs, blanks and overflow.
[[nodiscard]] std::optional<std::uint64_t> parse_unsigned(std::string_view text);

// Decimal seconds with at most nine digits after the point, in nanoseconds: "60", "0.5", ".5".
// nullopt for anything else ("1e3") and above 10^9 seconds.
[[nodiscard]] std::optional<std::uint64_t> parse_seconds(std::string_view text);

// The shortest text that parse_size reads back as `bytes`: "64K", "1T", "1000", "0".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// The shortest text that parse_seconds reads back as `duration_ns`: "60", "0.5".
[[nodiscard]] std::string seconds_text(std::uint64_t duration_ns);

}  // namespace acp::base
