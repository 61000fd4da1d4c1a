// SPDX-License-Identifier: BSD-3-Clause
// "a touch of page 17, home node 2": the call that waits, for the report of waits. Allocates nothing,
// since handlers of faults make it. One thread.
// Tests: tests/dsm/loss_test.cpp.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pages/page.hpp"

namespace acp::dsm {

class PageCallName {
public:
    //   what  "a touch"
    PageCallName(std::string_view what, pages::PageNumber page, pages::NodeNumber home) noexcept {
        append(what);
        append(" of page ");
        append(page);
        append(", home node ");
        append(home);
    }

    [[nodiscard]] const char* text() const noexcept { return text_.data(); }

private:
    void append(std::string_view part) noexcept {
        used_ += part.copy(text_.data() + used_, text_.size() - 1 - used_);
    }

    void append(std::uint64_t number) noexcept {
        char* const end = text_.data() + text_.size() - 1;
        const auto written = std::to_chars(text_.data() + used_, end, number);
        if (written.ec == std::errc()) used_ = static_cast<std::size_t>(written.ptr - text_.data());
    }

    std::array<char, 80> text_{};  // ends in a zero
    std::size_t used_ = 0;
};

}  // namespace acp::dsm
