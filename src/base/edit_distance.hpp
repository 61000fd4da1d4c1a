// SPDX-License-Identifier: BSD-3-Clause
// The distance between two words, for messages that ask "did you mean ...?". Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace acp::base {

// The least number of insertions, removals, replacements and swaps of neighbours that turn `first`
// into `second`, where each character is edited at most once.
[[nodiscard]] std::size_t edit_distance(std::string_view first, std::string_view second);

// The candidate nearest to `word`, the first one of equals; nullopt when no candidate is within a
// third of the word's length (two edits are always accepted for words of four letters and more).
[[nodiscard]] std::optional<std::string_view> nearest_word(
    std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace acp::base
