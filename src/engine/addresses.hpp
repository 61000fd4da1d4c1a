// SPDX-License-Identifier: BSD-3-Clause
// Addresses as the gateway sees them: the same bytes under the names that os/ and datagram/ have for them, and
// those of emulated nodes. Texts are in os/socket_address.hpp. Pure; any thread.
// Tests: tests/unit/engine/addresses_test.cpp.
#pragma once

#include <bit>
#include <cstdint>

#include "datagram/address.hpp"
#include "os/socket_address.hpp"

namespace acp::engine {

using datagram::Address;

[[nodiscard]] constexpr os::SocketAddress as_socket_address(const Address& address) noexcept {
    return std::bit_cast<os::SocketAddress>(address);
}

[[nodiscard]] constexpr Address as_address(const os::SocketAddress& address) noexcept {
    return std::bit_cast<Address>(address);
}

// 127.0.0.0/8 and ::1.
[[nodiscard]] constexpr bool is_loopback(const Address& address) noexcept {
    Address own;
    own.ip[15] = 1;
    return address.family == 4 ? address.ip[0] == 127 : address.family == 6 && address.ip == own.ip;
}

inline constexpr std::uint32_t emulated_nodes_max = 62'500;

// Where emulated node k listens: 127.0.(1 + k / 250).(1 + k % 250), any port.   node < emulated_nodes_max
[[nodiscard]] constexpr Address emulated_address(std::uint32_t node) noexcept {
    return datagram::ipv4(127, 0, static_cast<std::uint8_t>(1 + node / 250),
                          static_cast<std::uint8_t>(1 + node % 250), 0);
}

}  // namespace acp::engine
