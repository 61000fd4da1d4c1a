// SPDX-License-Identifier: BSD-3-Clause
// Opens and replaces the standard streams.
#include "os/standard_streams.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/system_error.hpp"

namespace acp::os {

namespace {

constexpr const char* null_path = "/dev/null";
constexpr unsigned int new_file_mode = 0666;  // less the user's umask

}  // namespace

void ensure_standard_streams() noexcept {
    for (const int stream : {standard_input, standard_output, standard_error}) {
        if (fcntl(stream, F_GETFD) >= 0) continue;
        // open() returns the lowest free number, which is this one.
        (void)open(null_path, stream == standard_input ? O_RDWR : O_RDONLY);
    }
}

Status detach_standard_input() {
    auto null = open_null();
    if (!null.is_ok()) return std::move(null).failure();
    if (dup2(null.value().get(), standard_input) == standard_input) return {};
    return system_failure("dup2", errno, null_path);
}

Result<FileDescriptor> open_null() {
    FileDescriptor file(open(null_path, O_RDWR | O_CLOEXEC));
    if (!file.is_open()) return system_failure("open", errno, null_path);
    return file;
}

Result<FileDescriptor> open_for_writing(const std::string& path) {
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC;
    FileDescriptor file(open(path.c_str(), flags, new_file_mode));
    if (!file.is_open()) return system_failure("open", errno, path);
    return file;
}

Result<FileDescriptor> open_for_appending(const std::string& path) {
    constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    FileDescriptor file(open(path.c_str(), flags, new_file_mode));
    if (!file.is_open()) return system_failure("open", errno, path);
    return file;
}

Result<FileDescriptor> open_for_reading(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return system_failure("open", errno, path);
    return file;
}

bool are_same_file(int fd, int other) noexcept {
    struct stat one {};

    struct stat two {};

    return fstat(fd, &one) == 0 && fstat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

bool is_in_foreground(int fd) noexcept {
    return tcgetpgrp(fd) == getpgrp();
}

}  // namespace acp::os
