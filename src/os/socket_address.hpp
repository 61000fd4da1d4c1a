// SPDX-License-Identifier: BSD-3-Clause
// An IP address and a UDP port as plain bytes, its text, and ranges of addresses. Resolves no names
// and opens no sockets. Has the layout of datagram::Address, so that one may be copied to the other
// byte by byte. A value type.
// Tests: tests/unit/os/socket_address_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace acp::os {

using base::Result;

struct SocketAddress {
    // network order; IPv4 in the first four bytes, the others zero
    std::array<std::uint8_t, 16> ip{};
    std::uint16_t port = 0;    // host order
    std::uint16_t family = 0;  // 4, 6; 0 = none

    friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};

static_assert(sizeof(SocketAddress) == 20);

// "10.0.0.1", "fd00::1"; "none" without a family.
[[nodiscard]] std::string ip_text(const SocketAddress& address);

// "10.0.0.1:4711", "[fd00::1]:4711".
[[nodiscard]] std::string address_text(const SocketAddress& address);

// "10.0.0.1" or "fd00::1" with port 0; nullopt for names, zones ("fe80::1%eth0") and anything else.
[[nodiscard]] std::optional<SocketAddress> parse_ip(std::string_view text);

// Parses the output of address_text(); nullopt for any other text.
[[nodiscard]] std::optional<SocketAddress> parse_address(std::string_view text);

// All addresses whose first prefix_bits bits are those of `network`.
struct AddressRange {
    SocketAddress network;
    std::uint32_t prefix_bits = 0;  // 0 .. 32 or 128
};

// "10.1.0.0/16", "fd00::/8"; an address without a prefix means itself alone. Bits after the prefix
// are ignored. Errors: config (the message has the text and what is expected).
Result<AddressRange> parse_range(std::string_view text);

// Whether an address lies in a range; ports are ignored.
[[nodiscard]] bool contains(const AddressRange& range, const SocketAddress& address) noexcept;

}  // namespace acp::os
