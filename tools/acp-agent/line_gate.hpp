// SPDX-License-Identifier: BSD-3-Clause
// Passes one stream of one rank on to a shared one: holds a line back until it is complete, so that
// lines of several ranks do not mix, and puts a tag before each. Knows no descriptor. Never changes
// a byte. Pure.
#pragma once

#include <string>
#include <string_view>

namespace acp::agent {

// A longer line is passed on in pieces of this size.
inline constexpr std::size_t line_piece_bytes = 65536;

class LineGate {
public:
    //   tag  put before each line; "" for none
    explicit LineGate(std::string tag) : tag_(std::move(tag)) {}

    // Takes bytes of the stream, and appends to `out` what may be passed on now: complete lines,
    // text that ends in '\r' (progress bars), and pieces of lines longer than line_piece_bytes.
    void pass(std::string_view bytes, std::string& out);

    // Whether an incomplete line is held back.
    [[nodiscard]] bool is_holding() const noexcept { return !held_.empty(); }

    // Whether a piece of a line longer than line_piece_bytes was passed on, and not yet its end.
    [[nodiscard]] bool is_in_long_line() const noexcept { return is_in_long_line_; }

    // Appends the incomplete line as it is, because it may be a question to the user.
    void release(std::string& out);

    // Call at the end of the stream: appends the incomplete line, with a newline if lines have
    // tags.
    void finish(std::string& out);

private:
    void append(std::string_view bytes, std::string& out);
    void append_tagged(std::string_view bytes, std::string& out);

    std::string tag_;
    std::string held_;              // the incomplete line
    bool is_at_line_start_ = true;  // the next byte that is passed on begins a line
    bool is_after_return_ = false;  // the last byte passed on was '\r'
    bool is_in_long_line_ = false;
};

}  // namespace acp::agent
