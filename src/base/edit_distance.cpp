// SPDX-License-Identifier: BSD-3-Clause
// Computes the optimal string alignment distance by dynamic programming over three rows.
#include "base/edit_distance.hpp"

#include <algorithm>
#include <numeric>

namespace acp::base {

std::size_t edit_distance(std::string_view first, std::string_view second) {
    const std::size_t columns = second.size() + 1;
    std::vector<std::size_t> before_last(columns);
    std::vector<std::size_t> last(columns);
    std::vector<std::size_t> current(columns);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= first.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j < columns; ++j) {
            const std::size_t replaced = last[j - 1] + (first[i - 1] == second[j - 1] ? 0U : 1U);
            current[j] = std::min({replaced, last[j] + 1, current[j - 1] + 1});
            if (i > 1 && j > 1 && first[i - 1] == second[j - 2] && first[i - 2] == second[j - 1]) {
                current[j] = std::min(current[j], before_last[j - 2] + 1);
            }
        }
        std::swap(before_last, last);
        std::swap(last, current);
    }
    return last[second.size()];
}

std::optional<std::string_view> nearest_word(std::string_view word,
                                             const std::vector<std::string_view>& candidates) {
    std::size_t best = std::max<std::size_t>(word.size() / 3, word.size() >= 4 ? 2 : 1) + 1;
    std::optional<std::string_view> nearest;
    for (const std::string_view candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best) {
            best = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

}  // namespace acp::base
