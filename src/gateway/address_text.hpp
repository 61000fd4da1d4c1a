// SPDX-License-Identifier: BSD-3-Clause
// Addresses as text, for the lines a launcher and its agents exchange and for people: "192.0.2.7:4711",
// "[2001:db8::1]:4711"; and networks in CIDR notation. Resolves no name. Pure; any thread.
// Tests: tests/unit/gateway/address_text_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "datagram/address.hpp"

namespace acp::gateway {

using datagram::Address;

[[nodiscard]] std::string address_text(const Address& address);

// The inverse; the port may be left out (0). nullopt for anything else.
[[nodiscard]] std::optional<Address> parse_address(std::string_view text);

// "10.0.0.0/8", "fd00::/64", or an address alone.
struct Network {
    Address first;
    std::uint32_t prefix_bits = 0;

    [[nodiscard]] bool contains(const Address& address) const noexcept;
};

[[nodiscard]] std::optional<Network> parse_network(std::string_view text);

// 127.0.0.0/8 and ::1.
[[nodiscard]] bool is_loopback(const Address& address) noexcept;

// Where emulated node k listens: 127.0.(1 + k / 250).(1 + k % 250).   node < 63'500
[[nodiscard]] Address emulated_address(std::uint32_t node) noexcept;

}  // namespace acp::gateway
