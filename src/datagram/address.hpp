// SPDX-License-Identifier: BSD-3-Clause
// Where a datagram comes from or goes to: an IP address and a UDP port as plain bytes. Knows no socket and
// resolves no name. A value; any thread.
#pragma once

#include <array>
#include <cstdint>

namespace acp::datagram {

struct Address {
    std::array<std::uint8_t, 16> ip{};  // network order; IPv4 in the first four bytes
    std::uint16_t port = 0;             // host order
    std::uint16_t family = 0;           // 4, 6; 0 = none

    friend bool operator==(const Address&, const Address&) = default;
};

static_assert(sizeof(Address) == 20);

[[nodiscard]] constexpr Address ipv4(
    std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d, std::uint16_t port) noexcept {
    Address address;
    address.ip[0] = a;
    address.ip[1] = b;
    address.ip[2] = c;
    address.ip[3] = d;
    address.port = port;
    address.family = 4;
    return address;
}

}  // namespace acp::datagram
