// SPDX-License-Identifier: BSD-3-Clause
// The addresses of this host's network interfaces, and their selection by ranges. Does not know
// which of them other hosts can reach. Any thread; control paths only.
// Tests: tests/unit/os/socket_address_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "os/socket_address.hpp"

namespace acp::os {

using base::Result;

struct InterfaceAddress {
    std::string interface;  // "eth0"
    SocketAddress address;  // port 0
    std::uint32_t prefix_bits = 0;
    std::uint32_t mtu_bytes = 0;  // longest IP packet; 0: not known
    bool is_loopback = false;
};

// The addresses of all interfaces that are up, in the kernel's order. Link-local addresses
// (fe80::/10) are left out, since they mean nothing on another host. Errors: system.
Result<std::vector<InterfaceAddress>> list_interface_addresses();

// The addresses that lie in one of the ranges, in the order of the ranges, each once. Without
// ranges: all except loopback addresses, IPv4 first.
[[nodiscard]] std::vector<InterfaceAddress> select_addresses(
    std::span<const InterfaceAddress> addresses, std::span<const AddressRange> ranges);

// The most bytes that UDP carries on such an interface without fragments: the MTU less the headers.
// 0 when the MTU is not known.
[[nodiscard]] std::uint32_t datagram_bytes_max(const InterfaceAddress& address) noexcept;

}  // namespace acp::os
