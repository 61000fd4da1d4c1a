// SPDX-License-Identifier: BSD-3-Clause
// Plain and gzip files as a stream of bytes. See byte_source.hpp. zlib's own gzread would do but
// for two things: it takes whatever follows a member and is not gzip for the end of the file, and
// it cannot say where in the file an error is.
#include "byte_source.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "failure.hpp"

namespace kmer {

namespace {

constexpr unsigned char gzip_magic[] = {0x1f, 0x8b};
constexpr int window_bits_gzip = 15 + 16;  // the largest window; gzip header and checksum

}  // namespace

ByteSource::ByteSource(std::string path)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "rb")) {
    if (!file_) throw Failure(path_ + ": " + system_reason());
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // the chunk is the buffer
    refill();
    is_gzip_ = stream_.avail_in >= 2 && std::equal(gzip_magic, gzip_magic + 2, chunk_.begin());
    if (is_gzip_) {
        if (inflateInit2(&stream_, window_bits_gzip) != Z_OK) throw std::bad_alloc();
        inside_member_ = true;
    }
}

ByteSource::~ByteSource() {
    if (is_gzip_) inflateEnd(&stream_);
}

std::size_t ByteSource::read(char* target, std::size_t bytes_max) {
    return is_gzip_ ? read_gzip(target, bytes_max) : read_plain(target, bytes_max);
}

// Called with an empty chunk. False at the end of the file.
bool ByteSource::refill() {
    const std::size_t bytes = std::fread(chunk_.data(), 1, chunk_.size(), file_.get());
    if (bytes == 0 && std::ferror(file_.get()) != 0) fail_at_position(system_reason());
    file_bytes_ += bytes;
    stream_.next_in = chunk_.data();
    stream_.avail_in = static_cast<uInt>(bytes);
    return bytes != 0;
}

std::size_t ByteSource::read_plain(char* target, std::size_t bytes_max) {
    if (stream_.avail_in == 0 && !refill()) return 0;
    const std::size_t bytes = std::min<std::size_t>(bytes_max, stream_.avail_in);
    std::memcpy(target, stream_.next_in, bytes);
    stream_.next_in += bytes;
    stream_.avail_in -= static_cast<uInt>(bytes);
    return bytes;
}

std::size_t ByteSource::read_gzip(char* target, std::size_t bytes_max) {
    const uInt room = static_cast<uInt>(std::min<std::size_t>(bytes_max, chunk_bytes * 8));
    stream_.next_out = reinterpret_cast<unsigned char*>(target);
    stream_.avail_out = room;
    while (stream_.avail_out == room) {  // an empty member gives no byte: go on with the next
        if (!inside_member_ && !begin_member()) return 0;
        if (stream_.avail_in == 0 && !refill()) {
            fail_at_position("the gzip data are cut off");
        }
        const int code = inflate(&stream_, Z_NO_FLUSH);
        if (code == Z_STREAM_END) {
            inside_member_ = false;
        } else if (code == Z_MEM_ERROR) {
            throw std::bad_alloc();
        } else if (code != Z_OK && code != Z_BUF_ERROR) {
            fail_at_position(std::string("the gzip data are corrupt (") +
                             (stream_.msg != nullptr ? stream_.msg : "preset dictionary") + ")");
        }
    }
    return room - stream_.avail_out;
}

// Goes to what follows a member: another member or, after zero bytes of padding, the end of the
// file.
bool ByteSource::begin_member() {
    for (;;) {
        if (stream_.avail_in == 0 && !refill()) return false;
        if (*stream_.next_in != 0) break;
        ++stream_.next_in;
        --stream_.avail_in;
    }
    inflateReset(&stream_);
    inside_member_ = true;
    return true;
}

void ByteSource::fail_at_position(const std::string& what) const {
    throw Failure(path_ + ": " + what + " at byte " + std::to_string(position()));
}

}  // namespace kmer
