// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing addresses. IPv6 is written in the short form of RFC 5952.
#include "gateway/address_text.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <span>

#include "base/parse.hpp"

namespace acp::gateway {

namespace {

constexpr std::size_t groups = 8;  // of an IPv6 address
constexpr std::uint32_t port_max = 65535;

using Groups = std::array<std::uint16_t, groups>;

std::optional<std::uint32_t> parse_number(std::string_view text, int base, std::uint32_t most) {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value, base);
    const bool is_whole = error == std::errc{} && rest == end && text.size() <= 5;
    return is_whole && value <= most ? std::optional(value) : std::nullopt;
}

bool parse_ipv4(std::string_view text, Address& address) {
    for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t dot = text.find('.');
        if ((dot == std::string_view::npos) != (i == 3)) return false;
        const auto byte = parse_number(text.substr(0, dot), 10, 255);
        if (!byte) return false;
        address.ip[i] = static_cast<std::uint8_t>(*byte);
        text = i == 3 ? std::string_view() : text.substr(dot + 1);
    }
    address.family = 4;
    return true;
}

// Colon-separated groups; how many, or nothing.
std::optional<std::size_t> parse_groups(std::string_view text, std::span<std::uint16_t> into) {
    std::size_t count = 0;
    while (!text.empty()) {
        const std::size_t colon = text.find(':');
        const auto group = parse_number(text.substr(0, colon), 16, 0xffff);
        if (!group || count == into.size() || colon == text.size() - 1 ||
            text.substr(0, colon).size() > 4) {
            return std::nullopt;
        }
        into[count++] = static_cast<std::uint16_t>(*group);
        text = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    }
    return count;
}

bool parse_ipv6(std::string_view text, Address& address) {
    Groups found{};
    const std::size_t gap = text.find("::");
    const auto head = parse_groups(text.substr(0, gap), found);
    if (!head) return false;
    if (gap == std::string_view::npos) {
        if (*head != groups) return false;
    } else {
        Groups tail{};
        const auto count = parse_groups(text.substr(gap + 2), tail);
        if (!count || *head + *count >= groups) return false;
        for (std::size_t i = 0; i < *count; ++i) found[groups - *count + i] = tail[i];
    }
    for (std::size_t i = 0; i < groups; ++i) {
        address.ip[2 * i] = static_cast<std::uint8_t>(found[i] >> 8);
        address.ip[2 * i + 1] = static_cast<std::uint8_t>(found[i]);
    }
    address.family = 6;
    return true;
}

std::string ipv6_text(const Address& address) {
    Groups all{};
    for (std::size_t i = 0; i < groups; ++i) {
        all[i] = static_cast<std::uint16_t>(address.ip[2 * i] << 8 | address.ip[2 * i + 1]);
    }
    std::size_t gap = groups;  // the first of the longest runs of two or more zeros
    std::size_t gap_length = 1;
    for (std::size_t i = 0; i < groups; ++i) {
        std::size_t length = 0;
        while (i + length < groups && all[i + length] == 0) ++length;
        if (length > gap_length) {
            gap = i;
            gap_length = length;
        }
    }
    std::string text;
    for (std::size_t i = 0; i < groups; ++i) {
        if (i == gap) {
            text += "::";
            i += gap_length - 1;
            continue;
        }
        char group[6];
        std::snprintf(group, sizeof group, "%x", all[i]);
        if (!text.empty() && text.back() != ':') text += ":";
        text += group;
    }
    return text;
}

std::uint32_t address_bits(const Address& address) noexcept {
    return address.family == 4 ? 32 : 128;
}

}  // namespace

std::string address_text(const Address& address) {
    if (address.family == 6) {
        return "[" + ipv6_text(address) + "]:" + std::to_string(address.port);
    }
    if (address.family != 4) return "none";
    char text[24];
    std::snprintf(text, sizeof text, "%u.%u.%u.%u:%u", address.ip[0], address.ip[1], address.ip[2],
                  address.ip[3], address.port);
    return text;
}

std::optional<Address> parse_address(std::string_view text) {
    Address address;
    std::string_view port;
    bool is_read = false;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        is_read = parse_ipv6(text.substr(1, end - 1), address);
        port = text.substr(end + 1);
    } else if (text.find(':') != text.rfind(':')) {
        is_read = parse_ipv6(text, address);  // without brackets there is no port
    } else {
        const std::size_t colon = text.find(':');
        is_read = parse_ipv4(text.substr(0, colon), address);
        port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    }
    if (!is_read) return std::nullopt;
    if (port.empty()) return address;
    const auto number = parse_number(port.substr(1), 10, port_max);
    if (port.front() != ':' || !number) return std::nullopt;
    address.port = static_cast<std::uint16_t>(*number);
    return address;
}

bool Network::contains(const Address& address) const noexcept {
    if (address.family != first.family) return false;
    for (std::uint32_t bit = 0; bit < prefix_bits; ++bit) {
        const int differing = address.ip[bit / 8] ^ first.ip[bit / 8];
        if ((differing >> (7 - bit % 8) & 1) != 0) return false;
    }
    return true;
}

std::optional<Network> parse_network(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto address = parse_address(text.substr(0, slash));
    if (!address || address->port != 0) return std::nullopt;
    const std::uint32_t bits = address_bits(*address);
    if (slash == std::string_view::npos) return Network{*address, bits};
    const auto prefix = parse_number(text.substr(slash + 1), 10, bits);
    return prefix ? std::optional(Network{*address, *prefix}) : std::nullopt;
}

bool is_loopback(const Address& address) noexcept {
    if (address.family == 4) return address.ip[0] == 127;
    Address own;
    own.ip[15] = 1;
    return address.family == 6 && address.ip == own.ip;
}

Address emulated_address(std::uint32_t node) noexcept {
    return datagram::ipv4(127, 0, static_cast<std::uint8_t>(1 + node / 250),
                          static_cast<std::uint8_t>(1 + node % 250), 0);
}

}  // namespace acp::gateway
