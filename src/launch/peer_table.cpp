// SPDX-License-Identifier: BSD-3-Clause
// Converts addresses to text and bytes, and back.
#include "launch/peer_table.hpp"

#include <algorithm>

namespace acp::launch {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t ip_bytes(std::uint16_t family) noexcept {
    return family == 4 ? 4U : 16U;
}

// Removes one address from the front; false when it is incomplete or invalid.
bool take_address(std::string_view& bytes, os::SocketAddress& address) {
    constexpr std::size_t head_bytes = 3;
    if (bytes.size() < head_bytes) return false;
    const auto byte = [&bytes](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    address.family = byte(0);
    address.port = static_cast<std::uint16_t>(byte(1) | byte(2) << 8U);
    if (address.family != 4 && address.family != 6) return false;
    const std::size_t length = ip_bytes(address.family);
    if (bytes.size() < head_bytes + length) return false;
    for (std::size_t i = 0; i < length; ++i) address.ip[i] = byte(head_bytes + i);
    bytes.remove_prefix(head_bytes + length);
    return true;
}

bool is_printable(char c) noexcept {
    return c > ' ' && c <= '~';
}

// Removes a host name and its length from the front; false when it is incomplete or invalid.
bool take_host(std::string_view& bytes, std::string& host) {
    if (bytes.empty()) return false;
    const std::size_t length = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (length > host_name_bytes_max || length > bytes.size()) return false;
    host = bytes.substr(0, length);
    bytes.remove_prefix(length);
    return std::all_of(host.begin(), host.end(), is_printable);
}

}  // namespace

std::string sent_host_name(std::string_view host) {
    std::string sent(host.substr(0, host_name_bytes_max));
    std::erase_if(sent, [](char c) { return !is_printable(c); });
    return sent;
}

std::string addresses_text(std::span<const os::SocketAddress> addresses) {
    std::string text;
    for (const os::SocketAddress& address : addresses) {
        if (!text.empty()) text += ' ';
        text += os::address_text(address);
    }
    return text;
}

Result<std::vector<os::SocketAddress>> ips_from(std::string_view words) {
    std::vector<os::SocketAddress> ips;
    for (;;) {
        const std::size_t blank = words.find(' ');
        const std::string_view word = words.substr(0, blank);
        const auto ip = os::parse_ip(word);
        if (!ip) return Status(Code::argument, "\"" + std::string(word) + "\" is no address");
        ips.push_back(*ip);
        if (blank == std::string_view::npos) return ips;
        words.remove_prefix(blank + 1);
    }
}

std::vector<os::SocketAddress> addresses_from(std::string_view words) {
    std::vector<os::SocketAddress> addresses;
    for (;;) {
        const std::size_t blank = words.find(' ');
        const auto address = os::parse_address(words.substr(0, blank));
        if (!address || addresses.size() == node_addresses_max) return {};
        addresses.push_back(*address);
        if (blank == std::string_view::npos) return addresses;
        words.remove_prefix(blank + 1);
    }
}

std::string to_bytes(const GatewayTable& table) {
    std::string bytes;
    for (const GatewayRow& row : table) {
        bytes += static_cast<char>(row.addresses.size());
        bytes += static_cast<char>(row.left_out);
        bytes += static_cast<char>(row.host.size());
        bytes += row.host;
        for (const os::SocketAddress& address : row.addresses) {
            bytes += static_cast<char>(address.family);
            bytes += static_cast<char>(address.port & 0xffU);
            bytes += static_cast<char>(address.port >> 8U);
            bytes.append(reinterpret_cast<const char*>(address.ip.data()),
                         ip_bytes(address.family));
        }
    }
    return bytes;
}

Result<GatewayTable> peer_table_from(std::string_view bytes, std::uint32_t nodes) {
    GatewayTable table;
    while (!bytes.empty()) {
        constexpr std::size_t head_bytes = 2;
        const std::size_t count = static_cast<std::uint8_t>(bytes.front());
        bool is_whole = bytes.size() >= head_bytes && count >= 1 && count <= node_addresses_max &&
                        table.size() < nodes;
        GatewayRow row;
        if (is_whole) {
            row.left_out = static_cast<std::uint8_t>(bytes[1]);
            row.addresses.resize(count);
            bytes.remove_prefix(head_bytes);
            is_whole = take_host(bytes, row.host);
        }
        for (os::SocketAddress& address : row.addresses)
            is_whole = is_whole && take_address(bytes, address);
        if (!is_whole) {
            return Status(Code::argument,
                          "the table of peers breaks off at node " + std::to_string(table.size()));
        }
        table.push_back(std::move(row));
    }
    if (table.size() != nodes) {
        return Status(Code::argument, "the table of peers has " + std::to_string(table.size()) +
                                          " rows for " + std::to_string(nodes) + " nodes");
    }
    return table;
}

}  // namespace acp::launch
