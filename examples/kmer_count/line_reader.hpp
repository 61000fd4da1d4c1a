// SPDX-License-Identifier: BSD-3-Clause
// A file's lines without their ends, "\n" or "\r\n". A line longer than the buffer comes in several pieces,
// so that a chromosome on one line needs no more memory than a read. Knows nothing of formats.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "byte_source.hpp"

namespace kmer {

// A line, or a piece of one.
struct Line {
    std::string_view text;  // valid until the next piece is asked for
    bool starts = false;    // it is, or begins with, the first byte of its line
    bool ends = false;
};

class LineReader {
public:
    explicit LineReader(std::string path);

    // False at the end of the file. Throws Failure as ByteSource::read.
    bool next(Line& line);

    // Reads the rest of a gzip file and throws Failure when its data are damaged.
    void check_rest();

    // The number of the latest line, from 1.
    [[nodiscard]] std::uint64_t number() const { return number_; }

    [[nodiscard]] const ByteSource& source() const { return source_; }

private:
    bool fetch_more();

    static constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

    ByteSource source_;
    std::unique_ptr<char[]> buffer_;
    std::size_t begin_ = 0;  // the bytes not yet given away are [begin_, end_) of the buffer
    std::size_t end_ = 0;
    bool at_line_start_ = true;
    std::uint64_t number_ = 0;
};

}  // namespace kmer
