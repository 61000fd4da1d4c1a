// SPDX-License-Identifier: BSD-3-Clause
// Converts SocketAddress to and from the kernel's form, and sets socket buffer sizes, for the
// socket files of os. Private to os: no other layer includes the kernel's headers. Any thread.
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

// Returns an address without family when the kernel's address is of another family.
[[nodiscard]] SocketAddress from_kernel(const KernelAddress& kernel) noexcept;

// Requests a buffer size in the kernel's own accounting, beyond the system's maximum if the process
// is privileged, and returns the size that was granted.
std::uint32_t grant_receive_buffer(int fd, std::uint32_t bytes) noexcept;
std::uint32_t grant_send_buffer(int fd, std::uint32_t bytes) noexcept;

}  // namespace acp::os
