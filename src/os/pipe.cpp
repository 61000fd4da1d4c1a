// SPDX-License-Identifier: BSD-3-Clause
// Makes pipes and socket pairs, and reads and writes them.
#include "os/pipe.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "os/limits.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

bool is_would_block(int error) noexcept {
    return error == EAGAIN;  // EWOULDBLOCK is the same number on Linux
}

void wait_for_room(int fd) noexcept {
    pollfd look{fd, POLLOUT, 0};
    poll(&look, 1, -1);  // the result does not matter: the next write reports any error
}

}  // namespace

Result<Pipe> make_pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure("pipe2", errno, "");
    Pipe made{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
    if (!made.reading.is_open() || !made.writing.is_open())
        return system_failure("fcntl", errno, "");
    return made;
}

Result<StreamPair> make_stream_pair() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return system_failure("socketpair", errno, "");
    }
    StreamPair made{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
    if (!made.near.is_open() || !made.far.is_open()) return system_failure("fcntl", errno, "");
    return made;
}

Status set_nonblocking(int fd) {
    const int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) return {};
    return system_failure("fcntl", errno, "descriptor " + std::to_string(fd));
}

Result<FileDescriptor> duplicate(int fd) {
    constexpr int least = FileDescriptor::standard_streams;
    FileDescriptor copy(fcntl(fd, F_DUPFD_CLOEXEC, least));
    if (copy.is_open()) return copy;
    const int error = errno;
    const std::uint64_t allowed = resource_limits().descriptors;
    // If the limit lies below the least number, the kernel calls that number invalid.
    const bool is_limit = error == EMFILE || (error == EINVAL && allowed <= least);
    if (!is_limit) return system_failure("fcntl", error, "descriptor " + std::to_string(fd));
    return base::Status::worded(base::Code::limit, [error, allowed] {
        return "fcntl(F_DUPFD_CLOEXEC) failed: " + std::generic_category().message(error) +
               " (errno " + std::to_string(error) +
               "), descriptors allowed (RLIMIT_NOFILE, ulimit -n): " + std::to_string(allowed) +
               "; raise the limit of open files";
    });
}

void end_writing(int fd) noexcept {
    shutdown(fd, SHUT_WR);  // ENOTSOCK is no failure here
}

Status set_close_on_exec(int fd) {
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) return {};
    return system_failure("fcntl", errno, "descriptor " + std::to_string(fd));
}

ReadResult read_some(int fd, std::span<char> room) noexcept {
    for (;;) {
        const ssize_t bytes = read(fd, room.data(), room.size());
        if (bytes > 0) return {ReadOutcome::some, static_cast<std::size_t>(bytes), 0};
        if (bytes == 0) return {ReadOutcome::end, 0, 0};
        if (errno == EINTR) continue;
        if (is_would_block(errno)) return {ReadOutcome::would_block, 0, 0};
        return {ReadOutcome::failed, 0, errno};
    }
}

int write_all(int fd, std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t taken = write(fd, bytes.data(), bytes.size());
        if (taken >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(taken));
        } else if (is_would_block(errno)) {
            wait_for_room(fd);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

std::int64_t write_some(int fd, std::string_view bytes) noexcept {
    for (;;) {
        const ssize_t taken = write(fd, bytes.data(), bytes.size());
        if (taken >= 0) return taken;
        if (is_would_block(errno)) return 0;
        if (errno != EINTR) return -errno;
    }
}

}  // namespace acp::os
