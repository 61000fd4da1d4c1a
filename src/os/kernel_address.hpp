// SPDX-License-Identifier: BSD-3-Clause
// SocketAddress to and from the kernel's form, and socket buffer sizes: what the socket files of os share.
// Private to os: no other layer includes the kernel's headers. Any thread.
#pragma once

#include <cstdint>
#include <netinet/in.h>
#include <sys/socket.h>

#include "os/socket_address.hpp"

namespace acp::os {

union KernelAddress {
    sockaddr any;
    sockaddr_in ipv4;
    sockaddr_in6 ipv6;
};

// Writes the kernel's form; returns its size, 0 when the address has no family.
[[nodiscard]] socklen_t to_kernel(const SocketAddress& address, KernelAddress& kernel) noexcept;

// An address of another family gives one without family.
[[nodiscard]] SocketAddress from_kernel(const KernelAddress& kernel) noexcept;

// Asks for a buffer in the kernel's own accounting, without a bound when privileged, and returns what was
// granted.
std::uint32_t grant_receive_buffer(int fd, std::uint32_t bytes) noexcept;
std::uint32_t grant_send_buffer(int fd, std::uint32_t bytes) noexcept;

}  // namespace acp::os
