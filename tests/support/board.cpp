// SPDX-License-Identifier: BSD-3-Clause
// The board's file: made with a random name, mapped shared, removed by its maker.
#include "support/board.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/system_failure.hpp"

namespace acp::test {
namespace {

void* map_shared(int file, std::size_t bytes, const std::string& path) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) {
        end_by_errno("test board: cannot map " + std::to_string(bytes) + " bytes of " + path);
    }
    close(file);
    return data;
}

}  // namespace

BoardFile::BoardFile(std::string path, void* data, std::size_t bytes, bool is_owner) noexcept
    : path_(std::move(path)), data_(data), bytes_(bytes), is_owner_(is_owner) {}

BoardFile::BoardFile(BoardFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      is_owner_(std::exchange(other.is_owner_, false)) {}

BoardFile::~BoardFile() {
    if (data_ != nullptr) {
        munmap(data_, bytes_);
    }
    if (is_owner_) {
        unlink(path_.c_str());
    }
}

BoardFile BoardFile::create(std::size_t bytes) {
    const std::string pattern = std::filesystem::current_path() / "board-XXXXXX";
    std::vector<char> path(pattern.begin(), pattern.end());
    path.push_back('\0');
    const int file = mkostemp(path.data(), O_CLOEXEC);
    if (file < 0) {
        end_by_errno("test board: cannot make " + pattern);
    }
    if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        end_by_errno(std::string("test board: cannot size ") + path.data());
    }
    return {path.data(), map_shared(file, bytes, path.data()), bytes, true};
}

BoardFile BoardFile::open_from_environment(std::size_t bytes) {
    const char* path = std::getenv(board_variable);
    if (path == nullptr) {
        errno = ENOENT;
        end_by_errno(std::string("this program is started by a driver, which sets ") +
                     board_variable);
    }
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        end_by_errno(std::string("test board: cannot open ") + path);
    }
    return {path, map_shared(file, bytes, path), bytes, false};
}

std::string BoardFile::environment_entry() const {
    return std::string(board_variable) + "=" + path_;
}

}  // namespace acp::test
