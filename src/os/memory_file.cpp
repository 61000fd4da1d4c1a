// SPDX-License-Identifier: BSD-3-Clause
// Makes memory files and commits their pages.
#include "os/memory_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file_size_signal.hpp"
#include "os/limits.hpp"
#include "os/pipe.hpp"
#include "os/system_error.hpp"
#include "os/text_file.hpp"

namespace acp::os {

namespace {

using base::Code;

// Absent from older headers; kernels before 6.3 answer EINVAL.
constexpr unsigned memfd_not_executable = 0x0008U;

std::string count(std::uint64_t bytes) {
    return std::to_string(bytes) + " bytes";
}

// The number of bytes of a range that are not committed yet. Moves the file's position, which no
// code uses.
std::uint64_t missing_bytes(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
    const std::uint64_t end = offset + bytes;
    std::uint64_t missing = 0;
    while (offset < end) {
        const off_t data = lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
        const std::uint64_t hole_end =
            data < 0 ? end : std::min(end, static_cast<std::uint64_t>(data));
        missing += hole_end - offset;
        if (hole_end == end) break;
        const off_t hole = lseek(fd, data, SEEK_HOLE);
        offset = hole < 0 ? end : static_cast<std::uint64_t>(hole);
    }
    return missing;
}

Status shortage(std::uint64_t requested, const MemoryLimits& limits) {
    std::string message = "cannot commit " + count(requested) +
                          " of shared memory: " + count(limits.available_bytes()) + " available";
    if (limits.cgroup_limit_bytes != unlimited) {
        message += " (cgroup limit " + count(limits.cgroup_limit_bytes) + ", used " +
                   count(limits.cgroup_usage_bytes) + ")";
    }
    return {Code::memory, message + "; use less memory or raise the limit"};
}

Status set_size(int fd, const char* name, std::uint64_t bytes) {
    const FileSizeSignalBlock no_signal;
    int outcome = 0;
    do {
        outcome = ftruncate(fd, static_cast<off_t>(bytes));
    } while (outcome != 0 && errno == EINTR);
    if (outcome == 0) return {};
    return system_failure("ftruncate", errno,
                          "memory file " + std::string(name) + " of " + count(bytes));
}

Status not_whole(const char* doing, ssize_t got, std::size_t wanted) {
    if (got < 0) return system_failure(doing, errno, count(wanted));
    return {Code::system,
            std::string(doing) + " of " + count(wanted) + " ended after " + std::to_string(got)};
}

}  // namespace

Result<FileDescriptor> create_memory_file(const char* name, std::uint64_t bytes) {
    if (bytes == 0 || bytes > (std::uint64_t{1} << 62)) {
        return Status(Code::argument,
                      "a memory file of " + count(bytes) + " is impossible: 1 .. 2^62 fit");
    }
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    FileDescriptor file(memfd_create(name, flags | memfd_not_executable));
    if (!file.is_open() && errno == EINVAL) file = FileDescriptor(memfd_create(name, flags));
    if (!file.is_open()) {
        const bool is_refused = errno == EPERM || errno == EACCES || errno == ENOSYS;
        return system_failure("memfd_create", errno,
                              std::string("for ") + name +
                                  (is_refused ? "; the sandbox this runs in must allow it" : ""));
    }
    if (Status status = set_size(file.get(), name, bytes); !status.is_ok()) return status;
    if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
        return system_failure("fcntl(F_ADD_SEALS)", errno, "memory file " + std::string(name));
    }
    return file;
}

Result<FileDescriptor> adopt_memory_file(int fd) {
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0) {
        const bool is_open = errno != EBADF;
        return Status(Code::state, "descriptor " + std::to_string(fd) +
                                       (is_open ? " is another file by now" : " is not open"));
    }
    constexpr int sealed = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if ((seals & sealed) != sealed) {
        return Status(Code::state,
                      "descriptor " + std::to_string(fd) + " is another memory file by now");
    }
    return duplicate(fd);
}

bool is_memory_file_mapped(std::string_view name) {
    const std::string file = "/memfd:" + std::string(name) + " ";
    return read_text_file("/proc/self/maps").value_or("").find(file) != std::string::npos;
}

Status commit(int fd, std::uint64_t offset, std::uint64_t bytes) {
    if (bytes == 0) return {};

    struct stat status {};

    if (fstat(fd, &status) != 0) return system_failure("fstat", errno, "on a memory file");
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (offset > size || bytes > size - offset) {
        return {Code::argument, "cannot commit " + count(bytes) + " at offset " +
                                    std::to_string(offset) + ": the memory file ends at " +
                                    std::to_string(size)};
    }
    if (bytes > little_bytes) {
        const MemoryLimits limits = memory_limits();
        if (bytes > limits.available_bytes() &&
            missing_bytes(fd, offset, bytes) > limits.available_bytes()) {
            return shortage(bytes, limits);
        }
    }
    int outcome = 0;
    do {
        outcome = fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    } while (outcome != 0 && errno == EINTR);
    if (outcome == 0) return {};
    if (errno == ENOMEM || errno == ENOSPC) return shortage(bytes, memory_limits());
    return system_failure("fallocate", errno, count(bytes) + " of shared memory");
}

Status write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
    const FileSizeSignalBlock no_signal;
    const ssize_t got = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    return got == static_cast<ssize_t>(bytes.size()) ? Status()
                                                     : not_whole("pwrite", got, bytes.size());
}

Status read_at(int fd, std::uint64_t offset, std::span<std::byte> bytes) {
    const ssize_t got = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    return got == static_cast<ssize_t>(bytes.size()) ? Status()
                                                     : not_whole("pread", got, bytes.size());
}

}  // namespace acp::os
