// SPDX-License-Identifier: BSD-3-Clause
// The calling thread's last failure, for acp_errno and acp_error_message. A fixed buffer: keeping a
// failure must not fail. Touched on failure only.
#pragma once

#include <array>
#include <cstdio>
#include <string_view>

#include "base/status.hpp"

namespace acp::api {

class LastError {
public:
    void set(const base::Status& status) noexcept { set(status.code(), status.message()); }

    void set(base::Code code, std::string_view text) noexcept {
        code_ = static_cast<int>(code);
        text_[text.copy(text_.data(), text_.size() - 1)] = '\0';
    }

    // "call: text".
    void set(base::Code code, const char* call, const char* text) noexcept {
        code_ = static_cast<int>(code);
        std::snprintf(text_.data(), text_.size(), "%s: %s", call, text);
    }

    void clear() noexcept {
        code_ = 0;
        text_[0] = '\0';
    }

    [[nodiscard]] int code() const noexcept { return code_; }

    [[nodiscard]] const char* text() const noexcept { return text_.data(); }

private:
    int code_ = 0;
    std::array<char, 512> text_{};
};

[[nodiscard]] LastError& last_error() noexcept;

}  // namespace acp::api
