// SPDX-License-Identifier: BSD-3-Clause
// A connection is a SOCK_SEQPACKET socket of AF_UNIX: one message is one packet, and both ends
// notice the other one's end.
#include "os/local_socket.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "os/pipe.hpp"
#include "os/process.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

using base::Code;

constexpr int first_other = 3;  // the first number after the standard streams

struct LocalAddress {
    sockaddr_un address{};
    socklen_t length = 0;
};

// The kernel takes the bytes after a leading 0 for a name.
std::optional<LocalAddress> address_of(std::string_view name) {
    LocalAddress made;
    if (name.empty() || name.size() >= sizeof made.address.sun_path) return std::nullopt;
    made.address.sun_family = AF_UNIX;
    std::memcpy(&made.address.sun_path[1], name.data(), name.size());
    made.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return made;
}

// A descriptor of the same file whose number is no standard stream's, where the program has closed
// one of those.
Result<FileDescriptor> beyond_streams(FileDescriptor made) {
    if (made.get() >= first_other) return made;
    return duplicate(made.get());
}

Result<FileDescriptor> make_socket(int flags) {
    FileDescriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
    if (!made.is_open()) return system_failure("socket", errno, "AF_UNIX");
    return beyond_streams(std::move(made));
}

Status name_failure(std::string_view name) {
    return {Code::argument, "\"" + std::string(name) + "\" is no name of a local socket"};
}

void limit_waits(int connection, std::uint64_t patience_ns) noexcept {
    constexpr std::uint64_t second_ns = 1'000'000'000;
    timeval patience{};
    patience.tv_sec = static_cast<time_t>(patience_ns / second_ns);
    patience.tv_usec = static_cast<suseconds_t>(patience_ns % second_ns / 1000);
    // Neither call fails for a socket and a valid time.
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

struct ControlRoom {
    alignas(
        cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * local_message_files_max)> bytes{};
};

// Takes ownership of every descriptor in the message, so that none leaks.
std::vector<FileDescriptor> files_of(msghdr& header) {
    std::vector<FileDescriptor> files;
    files.reserve(local_message_files_max);
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
         part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof number);
            files.emplace_back(number);
        }
    }
    return files;
}

Status receive_failure(int error) {
    if (error == EAGAIN) return {Code::state, "no answer came in time"};
    if (error == ECONNRESET) return {Code::peer, "the other process has closed the connection"};
    return system_failure("recvmsg", error, "AF_UNIX");
}

}  // namespace

Result<FileDescriptor> listen_locally(std::string_view name) {
    constexpr int waiting_max = 4096;  // the kernel takes less where net.core.somaxconn says so
    const auto where = address_of(name);
    if (!where) return name_failure(name);
    auto made = make_socket(SOCK_NONBLOCK);
    if (!made.is_ok()) return made;
    const int fd = made.value().get();
    if (bind(fd, reinterpret_cast<const sockaddr*>(&where->address), where->length) != 0) {
        return system_failure("bind", errno, "AF_UNIX");
    }
    if (listen(fd, waiting_max) != 0) return system_failure("listen", errno, "AF_UNIX");
    return made;
}

FileDescriptor accept_locally(int listening) noexcept {
    FileDescriptor made(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!made.is_open() || made.get() >= first_other) return made;
    auto moved = duplicate(made.get());
    return moved.is_ok() ? std::move(moved).value() : FileDescriptor();
}

Result<FileDescriptor> connect_locally(std::string_view name, std::uint64_t patience_ns) {
    const auto where = address_of(name);
    if (!where) return name_failure(name);
    auto made = make_socket(0);
    if (!made.is_ok()) return made;
    const int fd = made.value().get();
    limit_waits(fd, patience_ns);
    int outcome = 0;
    do {
        outcome = connect(fd, reinterpret_cast<const sockaddr*>(&where->address), where->length);
    } while (outcome != 0 && errno == EINTR);
    if (outcome == 0) return made;
    if (errno == ECONNREFUSED) return Status(Code::peer, "no process listens there");
    return system_failure("connect", errno, "AF_UNIX");
}

bool is_own_user(int connection) noexcept {
    ucred other{};
    socklen_t length = sizeof other;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 &&
           other.uid == own_user();
}

bool send_locally(int connection, std::string_view text, std::span<const int> files) noexcept {
    if (text.empty() || text.size() > local_message_bytes_max ||
        files.size() > local_message_files_max) {
        return false;
    }
    iovec bytes{const_cast<char*>(text.data()), text.size()};  // sendmsg reads it only
    ControlRoom room;
    msghdr header{};
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    if (!files.empty()) {
        header.msg_control = room.bytes.data();
        header.msg_controllen = CMSG_SPACE(files.size_bytes());
        cmsghdr* part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(files.size_bytes());
        std::memcpy(CMSG_DATA(part), files.data(), files.size_bytes());
    }
    ssize_t sent = 0;
    do {
        sent = sendmsg(connection, &header, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(text.size());
}

Result<LocalMessage> receive_locally(int connection) {
    LocalMessage message;
    message.text.resize(local_message_bytes_max);
    iovec bytes{message.text.data(), message.text.size()};
    ControlRoom room;
    msghdr header{};
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    header.msg_control = room.bytes.data();
    header.msg_controllen = room.bytes.size();
    ssize_t got = 0;
    do {
        got = recvmsg(connection, &header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return receive_failure(errno);
    message.text.resize(static_cast<std::size_t>(got));
    message.files = files_of(header);
    if ((header.msg_flags & MSG_CTRUNC) != 0) {
        return Status(Code::limit,
                      "no descriptor is left for one that was sent; RLIMIT_NOFILE "
                      "(ulimit -n) raises the number");
    }
    if ((header.msg_flags & MSG_TRUNC) != 0) {
        return Status(Code::argument, "a message of more than " +
                                          std::to_string(local_message_bytes_max) + " bytes");
    }
    for (FileDescriptor& file : message.files) {
        auto moved = beyond_streams(std::move(file));
        if (!moved.is_ok()) return std::move(moved).failure();
        file = std::move(moved).value();
    }
    return message;
}

}  // namespace acp::os
