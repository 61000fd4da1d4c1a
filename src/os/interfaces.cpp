// SPDX-License-Identifier: BSD-3-Clause
// Uses getifaddrs, and asks the kernel for MTU and driver by ioctl, because /sys may show the
// interfaces of another network namespace; /proc/thread-self/net has the routes of the caller's.
#include "os/interfaces.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <memory>
#include <net/if.h>
#include <sstream>
#include <string_view>
#include <sys/ioctl.h>

#include "os/file_descriptor.hpp"
#include "os/kernel_address.hpp"
#include "os/system_error.hpp"
#include "os/text_file.hpp"

namespace acp::os {

namespace {

constexpr std::uint32_t udp_header_bytes = 8;
constexpr std::uint32_t ipv4_header_bytes = 20;
constexpr std::uint32_t ipv6_header_bytes = 40;
// IFF_LOWER_UP of linux/if.h, which net/if.h lacks. IFF_RUNNING follows it up to a second later.
constexpr std::uint32_t flag_carrier = 1U << 16U;
// the longest IPv4 packet, and the longest IPv6 packet without its header
constexpr std::uint32_t ip_length_max = 65'535;

SocketAddress address_of(const sockaddr* kernel) noexcept {
    KernelAddress copy{};
    if (kernel == nullptr) return {};
    if (kernel->sa_family == AF_INET) {
        copy.ipv4 = *reinterpret_cast<const sockaddr_in*>(kernel);
    } else if (kernel->sa_family == AF_INET6) {
        copy.ipv6 = *reinterpret_cast<const sockaddr_in6*>(kernel);
    }
    return from_kernel(copy);
}

std::uint32_t prefix_of(const SocketAddress& mask) noexcept {
    std::uint32_t bits = 0;
    for (const std::uint8_t byte : mask.ip) bits += static_cast<std::uint32_t>(std::popcount(byte));
    return bits;
}

bool is_of_one_link(const SocketAddress& address) noexcept {
    return address.family == 6 && address.ip[0] == 0xfe && (address.ip[1] & 0xc0) == 0x80;
}

ifreq request_for(std::string_view interface) noexcept {
    ifreq request{};
    interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
    return request;
}

//   socket  any socket
std::uint32_t mtu_of(const FileDescriptor& socket, std::string_view interface) {
    ifreq request = request_for(interface);
    if (ioctl(socket.get(), SIOCGIFMTU, &request) != 0) return 0;
    return static_cast<std::uint32_t>(request.ifr_mtu);
}

// False also where the driver does not say its name.
bool is_bridge_or_pair(const FileDescriptor& socket, std::string_view interface) {
    ifreq request = request_for(interface);
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    request.ifr_data = reinterpret_cast<char*>(&driver);
    if (ioctl(socket.get(), SIOCETHTOOL, &request) != 0) return false;
    const std::string_view name(driver.driver, strnlen(driver.driver, sizeof driver.driver));
    return name == "bridge" || name == "veth";
}

// The fields of each line of a table of /proc; none where there is no such file, as in a kernel without IPv6.
std::vector<std::vector<std::string>> lines_of(const char* path) {
    std::vector<std::vector<std::string>> lines;
    std::istringstream text(read_text_file(path).value_or(""));
    for (std::string line; std::getline(text, line);) {
        std::istringstream fields(line);
        auto& row = lines.emplace_back();
        for (std::string field; fields >> field;) row.push_back(std::move(field));
    }
    return lines;
}

bool is_zero(std::string_view digits) noexcept {
    return digits.find_first_not_of('0') == std::string_view::npos;
}

// The interfaces of the default routes of one family, whose destination has a prefix of 0 bits. The kernel keeps an IPv6
// one of its own, on lo.
std::vector<std::string> default_interfaces(std::uint16_t family) {
    std::vector<std::string> found;
    if (family == 4) {  // Iface Destination Gateway Flags RefCnt Use Metric Mask ...
        for (const auto& row : lines_of("/proc/thread-self/net/route")) {
            if (row.size() > 7 && is_zero(row[1]) && is_zero(row[7])) found.push_back(row[0]);
        }
    } else {  // destination, its prefix, source, its prefix, next hop, metric, counts, use, flags, interface
        for (const auto& row : lines_of("/proc/thread-self/net/ipv6_route")) {
            if (row.size() > 9 && is_zero(row[0]) && is_zero(row[1])) found.push_back(row[9]);
        }
    }
    return found;
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<std::vector<InterfaceAddress>> list_interface_addresses() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return system_failure("getifaddrs", errno, "");
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
    const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto ipv4_defaults = default_interfaces(4);
    const auto ipv6_defaults = default_interfaces(6);
    std::vector<InterfaceAddress> found;
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
        SocketAddress address = address_of(entry->ifa_addr);
        if (address.family == 0 || is_of_one_link(address)) continue;
        if ((entry->ifa_flags & IFF_UP) == 0) continue;
        address.port = 0;
        InterfaceAddress one;
        one.interface = entry->ifa_name;
        one.address = address;
        one.prefix_bits = prefix_of(address_of(entry->ifa_netmask));
        one.mtu_bytes = mtu_of(socket, one.interface);
        one.is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
        one.has_carrier = (entry->ifa_flags & flag_carrier) != 0;
        one.has_default_route =
            is_among(address.family == 4 ? ipv4_defaults : ipv6_defaults, one.interface);
        one.is_virtual = is_bridge_or_pair(socket, one.interface);
        found.push_back(std::move(one));
    }
    return found;
}

std::uint32_t datagram_bytes_max(const InterfaceAddress& address) noexcept {
    const bool is_ipv4 = address.address.family == 4;
    const std::uint32_t headers =
        udp_header_bytes + (is_ipv4 ? ipv4_header_bytes : ipv6_header_bytes);
    if (address.mtu_bytes <= headers) return 0;
    // The maximum of UDP itself: the same value for both families, so that a job may mix them.
    const std::uint32_t udp_max = ip_length_max - udp_header_bytes - ipv4_header_bytes;
    return std::min(address.mtu_bytes - headers, udp_max);
}

}  // namespace acp::os
