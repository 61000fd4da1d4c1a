// SPDX-License-Identifier: BSD-3-Clause
// Where the gateways of a job listen: one node's addresses as words of a line, and the table of all
// nodes as bytes (per node two counts, the length of its host name and the name, per address a
// family, a port and 4 or 16 bytes). Opens no socket and resolves no name. Pure; any thread.
// Tests: tests/unit/launch/peer_table_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/socket_address.hpp"

namespace acp::launch {

inline constexpr std::size_t node_addresses_max = 8;    // most addresses of one node
inline constexpr std::size_t host_name_bytes_max = 64;  // HOST_NAME_MAX of Linux

// "127.0.1.1:4711 [fe80::1]:4711"
[[nodiscard]] std::string addresses_text(std::span<const os::SocketAddress> addresses);

// A host name with only the bytes that a GatewayRow may have.
[[nodiscard]] std::string sent_host_name(std::string_view host);

// "127.0.1.1 127.1.1.1": IP addresses between single blanks, at least one. Errors: argument.
base::Result<std::vector<os::SocketAddress>> ips_from(std::string_view words);

// 1 to node_addresses_max addresses between single blanks; empty when the text is anything else.
[[nodiscard]] std::vector<os::SocketAddress> addresses_from(std::string_view words);

// The row of one node.
struct GatewayRow {
    std::vector<os::SocketAddress> addresses;  // the preferred one first
    // addresses of its machine beyond node_addresses_max; 255 stands for 255 or more
    std::uint8_t left_out = 0;
    // name of its host, printable, at most host_name_bytes_max bytes; empty: unknown
    std::string host;

    friend bool operator==(const GatewayRow&, const GatewayRow&) = default;
};

using GatewayTable = std::vector<GatewayRow>;  // indexed by node

[[nodiscard]] std::string to_bytes(const GatewayTable& table);

// Errors: argument (truncated, a row without addresses or with too many, an invalid family, a host
// name that is too long or not printable, bytes left over, a number of rows other than `nodes`).
base::Result<GatewayTable> peer_table_from(std::string_view bytes, std::uint32_t nodes);

}  // namespace acp::launch
