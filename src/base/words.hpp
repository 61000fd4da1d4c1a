// SPDX-License-Identifier: BSD-3-Clause
// Lines of words, and lists of ranks in them: what processes of a job tell each other in, and people read. Pure; any
// thread. Tests: tests/unit/base/words_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace acp::base {

// Splits at single blanks; the last of `count` words takes the rest.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line, std::size_t count);

// "0-3,7" for ascending ranks; "none" for no rank.
[[nodiscard]] std::string rank_ranges(const std::vector<std::uint32_t>& ranks);

// What rank_ranges wrote; ends at the first word that is none of its.
[[nodiscard]] std::vector<std::uint32_t> ranks_from(std::string_view ranges);

}  // namespace acp::base
