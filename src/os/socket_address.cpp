// SPDX-License-Identifier: BSD-3-Clause
// Converts addresses and ranges from and to text, through the C library.
#include "os/socket_address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>

#include "base/parse.hpp"

namespace acp::os {

namespace {

constexpr std::uint32_t bits_of(std::uint16_t family) noexcept {
    return family == 4 ? 32 : 128;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    const auto port = base::parse_unsigned(text);
    if (!port || *port > 65'535) return std::nullopt;
    return static_cast<std::uint16_t>(*port);
}

}  // namespace

std::string ip_text(const SocketAddress& address) {
    if (address.family == 0) return "none";
    char text[INET6_ADDRSTRLEN] = {};
    inet_ntop(address.family == 4 ? AF_INET : AF_INET6, address.ip.data(), text, sizeof text);
    return text;
}

std::string address_text(const SocketAddress& address) {
    const std::string port = ":" + std::to_string(address.port);
    return address.family == 6 ? "[" + ip_text(address) + "]" + port : ip_text(address) + port;
}

std::optional<SocketAddress> parse_ip(std::string_view text) {
    const std::string terminated(text);
    if (terminated.size() != std::strlen(terminated.c_str())) return std::nullopt;
    SocketAddress address;
    if (inet_pton(AF_INET, terminated.c_str(), address.ip.data()) == 1) {
        address.family = 4;
    } else if (inet_pton(AF_INET6, terminated.c_str(), address.ip.data()) == 1) {
        address.family = 6;
    } else {
        return std::nullopt;
    }
    return address;
}

std::optional<SocketAddress> parse_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view ip = text.substr(0, colon);
    const bool has_brackets = ip.size() >= 2 && ip.front() == '[' && ip.back() == ']';
    if (has_brackets) ip = ip.substr(1, ip.size() - 2);
    auto address = parse_ip(ip);
    const auto port = parse_port(text.substr(colon + 1));
    if (!address || !port || has_brackets != (address->family == 6)) return std::nullopt;
    address->port = *port;
    return address;
}

Result<AddressRange> parse_range(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto network = parse_ip(text.substr(0, slash));
    std::optional<std::uint64_t> bits;
    if (network) bits = bits_of(network->family);
    if (slash != std::string_view::npos) {
        const auto given = base::parse_unsigned(text.substr(slash + 1));
        bits = given && bits && *given <= *bits ? given : std::nullopt;
    }
    if (!bits) {
        return base::Status(base::Code::config,
                            "\"" + std::string(text) +
                                "\" is not a range of addresses like 10.1.0.0/16 or fd00::/8");
    }
    return AddressRange{*network, static_cast<std::uint32_t>(*bits)};
}

bool contains(const AddressRange& range, const SocketAddress& address) noexcept {
    if (range.network.family != address.family || address.family == 0) return false;
    const std::uint32_t whole = range.prefix_bits / 8;
    const std::uint32_t rest = range.prefix_bits % 8;
    if (!std::equal(address.ip.begin(), address.ip.begin() + whole, range.network.ip.begin())) {
        return false;
    }
    if (rest == 0) return true;
    const unsigned differing = static_cast<unsigned>(address.ip[whole]) ^ range.network.ip[whole];
    return (differing >> (8 - rest)) == 0;
}

}  // namespace acp::os
