// SPDX-License-Identifier: BSD-3-Clause
// Numbers of pages as words of messages. Pure; any thread.
// Tests: tests/unit/pages/page_text_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "pages/page.hpp"

namespace acp::pages {

// "1 page", "12 pages".
[[nodiscard]] inline std::string in_pages(std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " page" : " pages");
}

// "page 4", "pages 4 to 7".
//   count  1 or more
[[nodiscard]] inline std::string pages_named(PageNumber first, std::uint64_t count) {
    if (count == 1) return "page " + std::to_string(first);
    return "pages " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

}  // namespace acp::pages
