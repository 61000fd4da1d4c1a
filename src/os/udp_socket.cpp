// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives datagrams over 127.0.0.1 without blocking.
#include "os/udp_socket.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#include "os/kernel_address.hpp"
#include "os/poll_set.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

sockaddr_in loopback(std::uint16_t port) noexcept {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// Declares to ThreadSanitizer that the sender's writes before a datagram happen before its receipt.
#if defined(__SANITIZE_THREAD__)
char passage = 0;

void tell_sent() noexcept {
    __tsan_release(&passage);
}

void tell_received() noexcept {
    __tsan_acquire(&passage);
}
#else
void tell_sent() noexcept {}

void tell_received() noexcept {}
#endif

}  // namespace

Status check_loopback() {
    const FileDescriptor probe(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!probe.is_open()) return system_failure("socket", errno, "UDP");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(1);  // any port: nothing is sent
    if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        return {};
    }
    const int error = errno;
    return system_failure("connect", error,
                          error == ENETUNREACH
                              ? "to 127.0.0.1: the loopback interface lo is down in this network "
                                "namespace; \"ip link set lo up\" raises it"
                              : "to 127.0.0.1");
}

Result<UdpSocket> UdpSocket::open_loopback(std::uint32_t receive_buffer_bytes) {
    FileDescriptor descriptor(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!descriptor.is_open()) return system_failure("socket", errno, "UDP");
    const std::uint32_t granted = grant_receive_buffer(descriptor.get(), receive_buffer_bytes);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
        return system_failure("bind", errno, "to a free UDP port of 127.0.0.1");
    }
    if (getsockname(descriptor.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return system_failure("getsockname", errno, "UDP socket");
    }
    if (auto status = check_loopback(); !status.is_ok()) return status;
    return UdpSocket(std::move(descriptor), ntohs(address.sin_port), granted);
}

bool UdpSocket::send_to(std::uint16_t port,
                        std::span<const std::byte> head,
                        std::span<const std::byte> body) noexcept {
    sockaddr_in target = loopback(port);
    iovec pieces[2] = {{const_cast<std::byte*>(head.data()), head.size()},
                       {const_cast<std::byte*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_name = &target;
    message.msg_namelen = sizeof target;
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    ssize_t sent = 0;
    tell_sent();
    do {
        sent = sendmsg(descriptor_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

std::int64_t UdpSocket::receive(std::span<std::byte> buffer, std::uint16_t* source_port) noexcept {
    sockaddr_in source{};
    socklen_t source_size = sizeof source;
    ssize_t got = 0;
    do {
        got = recvfrom(descriptor_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC,
                       source_port != nullptr ? reinterpret_cast<sockaddr*>(&source) : nullptr,
                       source_port != nullptr ? &source_size : nullptr);
    } while (got < 0 && errno == EINTR);
    tell_received();
    if (source_port != nullptr && got >= 0) {
        const bool is_local = source.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
        *source_port = is_local ? ntohs(source.sin_port) : std::uint16_t{0};
    }
    if (got >= 0) return got;
    return errno == EBADF || errno == ENOTSOCK ? is_lost : -1;
}

bool UdpSocket::wait_readable(int extra_fd, std::int64_t timeout_ns) noexcept {
    return os::wait_readable(descriptor_.get(), extra_fd, timeout_ns);
}

}  // namespace acp::os
