// SPDX-License-Identifier: BSD-3-Clause
// The addresses of this host's network interfaces, and what the kernel says of each interface. Does
// not know which of them other hosts can reach. Any thread; control paths only.
// Tests: tests/unit/os/interfaces_test.cpp.
#pragma once

#include <cstdint>
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
    bool has_carrier = true;  // IFF_LOWER_UP: a cable is plugged in, or a bridge has a member
    // a default route for addresses of this family goes through the interface
    bool has_default_route = false;
    bool is_virtual = false;  // a bridge, or an end of a veth pair
};

// The addresses of all interfaces that are up, in the kernel's order. Link-local addresses
// (fe80::/10) are left out, since they mean nothing on another host. Errors: system.
Result<std::vector<InterfaceAddress>> list_interface_addresses();

// The most bytes that UDP carries on such an interface without fragments: the MTU less the headers.
// 0 when the MTU is not known.
[[nodiscard]] std::uint32_t datagram_bytes_max(const InterfaceAddress& address) noexcept;

}  // namespace acp::os
