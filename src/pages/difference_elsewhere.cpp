// SPDX-License-Identifier: BSD-3-Clause
// Architectures whose vector instructions are not used: words do all.
#include "pages/difference_ways.hpp"

namespace acp::pages {

const bool has_vector_ways = false;

std::size_t make_by_shuffles(std::byte* room,
                             const std::byte* page,
                             const std::byte* twin) noexcept {
    return make_by_words(room, page, twin);
}

std::size_t make_by_compression(std::byte* room,
                                const std::byte* page,
                                const std::byte* twin) noexcept {
    return make_by_words(room, page, twin);
}

void apply_by_expansion(std::byte* page, const std::byte* difference) noexcept {
    apply_by_words(page, difference);
}

}  // namespace acp::pages
