// SPDX-License-Identifier: BSD-3-Clause
// Lines out of a stream of bytes. See line_reader.hpp.
#include "line_reader.hpp"

#include <cstring>
#include <utility>

namespace kmer {

LineReader::LineReader(std::string path)
    : source_(std::move(path)), buffer_(std::make_unique<char[]>(buffer_bytes)) {}

bool LineReader::next(Line& line) {
    const void* newline = nullptr;
    std::size_t searched = 0;
    for (;;) {
        const char* from = buffer_.get() + begin_ + searched;
        newline = std::memchr(from, '\n', end_ - begin_ - searched);
        searched = end_ - begin_;
        if (newline != nullptr || !fetch_more()) break;
    }
    if (begin_ == end_) return false;

    const char* text = buffer_.get() + begin_;
    const bool at_file_end = newline == nullptr && end_ < buffer_bytes;
    std::size_t bytes = searched;
    if (newline != nullptr)
        bytes = static_cast<std::size_t>(static_cast<const char*>(newline) - text);
    begin_ += newline != nullptr ? bytes + 1 : bytes;
    if (bytes != 0 && text[bytes - 1] == '\r') {
        --bytes;
        if (newline == nullptr && !at_file_end) --begin_;  // its line feed may be still to come
    }
    line.text = {text, bytes};
    line.starts = at_line_start_;
    line.ends = newline != nullptr || at_file_end;
    number_ += line.starts ? 1 : 0;
    at_line_start_ = line.ends;
    return true;
}

void LineReader::check_rest() {
    begin_ = end_ = 0;
    while (source_.is_gzip() && source_.read(buffer_.get(), buffer_bytes) != 0) continue;
}

// Moves what is left to the buffer's front and reads more behind it. False when the buffer is full
// or the file has ended.
bool LineReader::fetch_more() {
    if (begin_ != 0) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == buffer_bytes) return false;
    const std::size_t bytes = source_.read(buffer_.get() + end_, buffer_bytes - end_);
    end_ += bytes;
    return bytes != 0;
}

}  // namespace kmer
