// SPDX-License-Identifier: BSD-3-Clause
// How far two words are apart, for messages that ask "did you mean ...?". Knows nothing of what the words
// name. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace acp::base {

// The least number of letters inserted, removed, replaced, or swapped with their neighbour that makes
// `first` into `second` (no letter is touched twice).
[[nodiscard]] std::size_t edit_distance(std::string_view first, std::string_view second);

// The candidate nearest to `word`, the first of equals; nullopt when none is nearer than a third of the
// word's length (two edits are always near enough for words of four letters and more).
[[nodiscard]] std::optional<std::string_view> nearest_word(
    std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace acp::base
