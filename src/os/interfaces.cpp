// SPDX-License-Identifier: BSD-3-Clause
// Uses getifaddrs, and asks the kernel for the MTU by ioctl, because /sys may show the interfaces
// of another network namespace.
#include "os/interfaces.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <string_view>
#include <sys/ioctl.h>

#include "os/file_descriptor.hpp"
#include "os/kernel_address.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

constexpr std::uint32_t udp_header_bytes = 8;
constexpr std::uint32_t ipv4_header_bytes = 20;
constexpr std::uint32_t ipv6_header_bytes = 40;
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

//   socket  any socket
std::uint32_t mtu_of(const FileDescriptor& socket, std::string_view interface) {
    ifreq request{};
    interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
    if (ioctl(socket.get(), SIOCGIFMTU, &request) != 0) return 0;
    return static_cast<std::uint32_t>(request.ifr_mtu);
}

}  // namespace

Result<std::vector<InterfaceAddress>> list_interface_addresses() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return system_failure("getifaddrs", errno, "");
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
    const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::vector<InterfaceAddress> found;
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
        SocketAddress address = address_of(entry->ifa_addr);
        if (address.family == 0 || is_of_one_link(address)) continue;
        if ((entry->ifa_flags & IFF_UP) == 0) continue;
        address.port = 0;
        found.push_back({entry->ifa_name, address, prefix_of(address_of(entry->ifa_netmask)),
                         mtu_of(socket, entry->ifa_name), (entry->ifa_flags & IFF_LOOPBACK) != 0});
    }
    return found;
}

std::vector<InterfaceAddress> select_addresses(std::span<const InterfaceAddress> addresses,
                                               std::span<const AddressRange> ranges) {
    std::vector<InterfaceAddress> chosen;
    const auto take_all = [&](auto is_wanted) {
        for (const InterfaceAddress& candidate : addresses) {
            const bool is_new = std::none_of(
                chosen.begin(), chosen.end(),
                [&](const InterfaceAddress& other) { return other.address == candidate.address; });
            if (is_new && is_wanted(candidate)) chosen.push_back(candidate);
        }
    };
    for (const AddressRange& range : ranges) {
        take_all(
            [&](const InterfaceAddress& candidate) { return contains(range, candidate.address); });
    }
    if (ranges.empty()) {
        for (const std::uint16_t family : {std::uint16_t{4}, std::uint16_t{6}}) {
            take_all([&](const InterfaceAddress& candidate) {
                return !candidate.is_loopback && candidate.address.family == family;
            });
        }
    }
    return chosen;
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
