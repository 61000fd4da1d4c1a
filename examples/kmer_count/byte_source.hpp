// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a file, plain or gzip (any number of members, as bgzip and cat make them); which of the
// two is seen from its first bytes. Knows nothing of lines. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <zlib.h>

namespace kmer {

class ByteSource {
public:
    // Throws Failure when the file cannot be opened or read.
    explicit ByteSource(std::string path);

    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    ~ByteSource();

    // Writes up to bytes_max (>= 1) bytes to target; returns how many, 0 only at the end.
    // Throws Failure, with path and position, when the file cannot be read or its gzip data are corrupt
    // or cut off.
    std::size_t read(char* target, std::size_t bytes_max);

    // How far into the file, as it is stored, reading has come.
    [[nodiscard]] std::uint64_t position() const { return file_bytes_ - stream_.avail_in; }

    [[nodiscard]] bool is_gzip() const { return is_gzip_; }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    bool refill();
    std::size_t read_plain(char* target, std::size_t bytes_max);
    std::size_t read_gzip(char* target, std::size_t bytes_max);
    bool begin_member();
    [[noreturn]] void fail_at_position(const std::string& what) const;

    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    static constexpr std::size_t chunk_bytes = std::size_t{1} << 17;

    std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
    std::array<unsigned char, chunk_bytes>
        chunk_{};                   // the file's bytes; next_in and avail_in say which
    std::uint64_t file_bytes_ = 0;  // read from the file so far
    z_stream stream_{};             // its input is the chunk, for plain files too
    bool is_gzip_ = false;
    bool inside_member_ = false;
};

}  // namespace kmer
