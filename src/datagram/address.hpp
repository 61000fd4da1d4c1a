// SPDX-License-Identifier: BSD-3-Clause
// The source or destination of a datagram: an IP address and a UDP port as plain bytes. Knows no
// socket and resolves no name. A value; any thread.
#pragma once

#include <array>
#include <cstdint>

namespace acp::datagram {

struct Address {
    std::array<std::uint8_t, 16> ip{};  // network byte order; IPv4 uses the first four bytes
    std::uint16_t port = 0;             // host byte order
    std::uint16_t family = 0;           // 4 or 6; 0: no address

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
