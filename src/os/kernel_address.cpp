// SPDX-License-Identifier: BSD-3-Clause
// Converts addresses between both forms, field by field; requests buffer sizes and reads them back.
#include "os/kernel_address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <climits>
#include <cstring>

namespace acp::os {

namespace {

std::uint32_t grant_buffer(int fd, int forced, int plain, std::uint32_t bytes) noexcept {
    // The kernel doubles the requested number for its own bookkeeping.
    const int wished = static_cast<int>(std::min<std::uint32_t>(bytes / 2, INT_MAX / 2));
    if (setsockopt(fd, SOL_SOCKET, forced, &wished, sizeof wished) != 0) {
        // A refusal shows in the size that is read back below.
        static_cast<void>(setsockopt(fd, SOL_SOCKET, plain, &wished, sizeof wished));
    }
    int granted = 0;
    socklen_t size = sizeof granted;
    if (getsockopt(fd, SOL_SOCKET, plain, &granted, &size) != 0) return 0;
    return static_cast<std::uint32_t>(granted);
}

}  // namespace

socklen_t to_kernel(const SocketAddress& address, KernelAddress& kernel) noexcept {
    switch (address.family) {
        case 4:
            kernel.ipv4 = {};
            kernel.ipv4.sin_family = AF_INET;
            kernel.ipv4.sin_port = htons(address.port);
            std::memcpy(&kernel.ipv4.sin_addr, address.ip.data(), sizeof kernel.ipv4.sin_addr);
            return sizeof kernel.ipv4;
        case 6:
            kernel.ipv6 = {};
            kernel.ipv6.sin6_family = AF_INET6;
            kernel.ipv6.sin6_port = htons(address.port);
            std::memcpy(&kernel.ipv6.sin6_addr, address.ip.data(), sizeof kernel.ipv6.sin6_addr);
            return sizeof kernel.ipv6;
        default:
            return 0;
    }
}

SocketAddress from_kernel(const KernelAddress& kernel) noexcept {
    SocketAddress address;
    if (kernel.any.sa_family == AF_INET) {
        address.family = 4;
        address.port = ntohs(kernel.ipv4.sin_port);
        std::memcpy(address.ip.data(), &kernel.ipv4.sin_addr, sizeof kernel.ipv4.sin_addr);
    } else if (kernel.any.sa_family == AF_INET6) {
        address.family = 6;
        address.port = ntohs(kernel.ipv6.sin6_port);
        std::memcpy(address.ip.data(), &kernel.ipv6.sin6_addr, sizeof kernel.ipv6.sin6_addr);
    }
    return address;
}

std::uint32_t grant_receive_buffer(int fd, std::uint32_t bytes) noexcept {
    return grant_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}

std::uint32_t grant_send_buffer(int fd, std::uint32_t bytes) noexcept {
    return grant_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, bytes);
}

}  // namespace acp::os
