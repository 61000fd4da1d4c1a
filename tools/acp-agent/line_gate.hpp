// SPDX-License-Identifier: BSD-3-Clause
// One stream of one rank on its way to a shared one: holds back a line until it is whole, so that lines of
// several ranks do not mix, and puts a tag before each. Knows no descriptor. Bytes are never changed. Pure.
#pragma once

#include <string>
#include <string_view>

namespace acp::agent {

// A longer line is passed on in pieces.
inline constexpr std::size_t line_piece_bytes = 65536;

class LineGate {
public:
    //   tag  put before each line; "" for none
    explicit LineGate(std::string tag) : tag_(std::move(tag)) {}

    // Takes bytes of the stream, and appends to `out` what may be passed on now: whole lines, what ends
    // in '\r' (progress bars), and pieces of lines longer than line_piece_bytes.
    void pass(std::string_view bytes, std::string& out);

    // Something is held back.
    [[nodiscard]] bool is_holding() const noexcept { return !held_.empty(); }

    // Appends the unfinished line as it is: somebody is being asked something.
    void release(std::string& out);

    // The stream has ended: appends the unfinished line, with a newline where lines carry tags.
    void finish(std::string& out);

private:
    void append(std::string_view bytes, std::string& out);
    void append_tagged(std::string_view bytes, std::string& out);

    std::string tag_;
    std::string held_;              // the line that is not yet whole
    bool is_at_line_start_ = true;  // of what was passed on
    bool is_after_return_ = false;  // the last byte passed on was '\r'
};

}  // namespace acp::agent
