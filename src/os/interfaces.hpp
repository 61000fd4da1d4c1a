// SPDX-License-Identifier: BSD-3-Clause
// The addresses of this host's network interfaces, and choosing among them by ranges. Knows nothing of which
// of them others can reach. Any thread; control paths only. Tests: tests/unit/os/socket_address_test.cpp.
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

// Of all interfaces that are up, in the kernel's order; addresses that mean something on one link only
// (fe80::/10) are left out, since they cannot be told to others. Errors: system.
Result<std::vector<InterfaceAddress>> list_interface_addresses();

// Those that lie in one of the ranges, ordered by the ranges, each once. Without ranges: all that are not
// loopback addresses, IPv4 first.
[[nodiscard]] std::vector<InterfaceAddress> select_addresses(
    std::span<const InterfaceAddress> addresses, std::span<const AddressRange> ranges);

// What UDP carries on such an interface without fragments: the MTU less the headers. 0 when it is not known.
[[nodiscard]] std::uint32_t datagram_bytes_max(const InterfaceAddress& address) noexcept;

}  // namespace acp::os
