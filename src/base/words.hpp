// SPDX-License-Identifier: BSD-3-Clause
// Lines of words, and lists of ranks in them: the form of messages between processes of a job that
// people can read too. Pure; any thread.
// Tests: tests/unit/base/words_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace acp::base {

// Splits at single blanks into at most `count` words; the last one contains the rest.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line, std::size_t count);

// "0-3,7" for ascending ranks; "none" for an empty list.
[[nodiscard]] std::string rank_ranges(const std::vector<std::uint32_t>& ranks);

// Reads what rank_ranges wrote; stops at the first word that is not of that form.
[[nodiscard]] std::vector<std::uint32_t> ranks_from(std::string_view ranges);

}  // namespace acp::base
