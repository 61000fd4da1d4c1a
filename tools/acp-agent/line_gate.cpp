// SPDX-License-Identifier: BSD-3-Clause
// Cuts a stream at its line ends.
#include "line_gate.hpp"

namespace acp::agent {

namespace {

constexpr std::string_view line_ends = "\n\r";

}  // namespace

void LineGate::pass(std::string_view bytes, std::string& out) {
    const std::size_t last_end = bytes.find_last_of(line_ends);
    if (last_end != std::string_view::npos) {
        held_.append(bytes.substr(0, last_end + 1));
        append(held_, out);
        is_in_long_line_ = false;
        held_.assign(bytes.substr(last_end + 1));
    } else {
        held_.append(bytes);
    }
    if (held_.size() < line_piece_bytes) return;
    release(out);
    is_in_long_line_ = true;
}

void LineGate::release(std::string& out) {
    append(held_, out);
    held_.clear();
}

void LineGate::finish(std::string& out) {
    release(out);
    if (!tag_.empty() && !is_at_line_start_) out += '\n';
}

void LineGate::append(std::string_view bytes, std::string& out) {
    if (tag_.empty()) {
        out.append(bytes);
    } else {
        append_tagged(bytes, out);
    }
}

void LineGate::append_tagged(std::string_view bytes, std::string& out) {
    while (!bytes.empty()) {
        const std::size_t end = bytes.find_first_of(line_ends);
        const std::size_t length = end == std::string_view::npos ? bytes.size() : end + 1;
        const std::string_view line = bytes.substr(0, length);
        bytes.remove_prefix(length);
        const bool completes_return = is_after_return_ && line == "\n";  // "\r\n" is one line end
        if (is_at_line_start_ && !completes_return) out += tag_;
        out.append(line);
        is_at_line_start_ = end != std::string_view::npos;
        is_after_return_ = line.back() == '\r';
    }
}

}  // namespace acp::agent
