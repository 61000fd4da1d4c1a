// SPDX-License-Identifier: BSD-3-Clause
// Makes bridges, pairs of devices and addresses by netlink requests.
#include "os/network_namespace.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "os/netlink.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

constexpr int loopback_index = 1;  // the first device of every network namespace

// The MTU of the paired devices, large enough for jumbo frames. A smaller one that is set while a
// job runs is noticed by its senders; a larger one is not.
constexpr std::uint32_t mtu_bytes = 9000;

Status status_of(int error, const std::string& what) {
    if (error == 0) return {};
    if (error == EPERM) {
        return Status(base::Code::system,
                      what +
                          ": operation not permitted; networks of one's own take root "
                          "(CAP_SYS_ADMIN and CAP_NET_ADMIN)");
    }
    if (error == EOPNOTSUPP) {
        return Status(base::Code::unsupported,
                      what + ": this kernel has no such device (modules bridge and veth)");
    }
    return system_failure("netlink", error, what);
}

Status leave_network() {
    if (unshare(CLONE_NEWNET) == 0) return {};
    return status_of(errno, "making a network namespace");
}

ifinfomsg link(int index, bool is_up) noexcept {
    ifinfomsg head{};
    head.ifi_family = AF_UNSPEC;
    head.ifi_index = index;
    head.ifi_change = is_up ? IFF_UP : 0;
    head.ifi_flags = is_up ? IFF_UP : 0;
    return head;
}

Status start_device(NetlinkSocket& socket, int index, const std::string& name) {
    NetlinkRequest request(RTM_NEWLINK, 0, link(index, true));
    return status_of(socket.ask(request), "starting " + name);
}

std::string bridge_name(std::size_t number) {
    return "acp-bridge" + std::to_string(number);
}

std::string interface_name(std::size_t bridge) {
    return "acp" + std::to_string(bridge);
}

Status make_bridge(NetlinkSocket& socket, const std::string& name) {
    NetlinkRequest request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, link(0, true));
    request.add_text(IFLA_IFNAME, name);
    const std::size_t information = request.open(IFLA_LINKINFO);
    request.add_text(IFLA_INFO_KIND, "bridge");
    request.close(information);
    return status_of(socket.ask(request), "making a bridge");
}

// Makes a pair of devices: one end on a bridge, in the socket's network, the other in the network
// of a descriptor.
Status make_pair(NetlinkSocket& socket,
                 const std::string& name,
                 int bridge_index,
                 const std::string& inner_name,
                 int network) {
    NetlinkRequest request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, link(0, true));
    request.add_text(IFLA_IFNAME, name);
    request.add_value(IFLA_MASTER, bridge_index);
    request.add_value(IFLA_MTU, mtu_bytes);
    const std::size_t information = request.open(IFLA_LINKINFO);
    request.add_text(IFLA_INFO_KIND, "veth");
    const std::size_t data = request.open(IFLA_INFO_DATA);
    const std::size_t peer = request.open(VETH_INFO_PEER);
    const ifinfomsg peer_head = link(0, false);
    request.append(std::as_bytes(std::span(&peer_head, 1)));
    request.add_text(IFLA_IFNAME, inner_name);
    request.add_value(IFLA_MTU, mtu_bytes);
    request.add_value(IFLA_NET_NS_FD, network);
    request.close(peer);
    request.close(data);
    request.close(information);
    return status_of(socket.ask(request), "making a pair of devices");
}

Status set_address(NetlinkSocket& socket,
                   int index,
                   const SocketAddress& address,
                   std::uint32_t prefix_bits) {
    ifaddrmsg head{};
    head.ifa_family = AF_INET;
    head.ifa_prefixlen = static_cast<std::uint8_t>(prefix_bits);
    head.ifa_index = static_cast<unsigned>(index);
    NetlinkRequest request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, head);
    const auto ip = std::as_bytes(std::span(address.ip).first<4>());
    request.add(IFA_LOCAL, ip);
    request.add(IFA_ADDRESS, ip);
    return status_of(socket.ask(request), "setting " + ip_text(address));
}

// The index of a device in the current network.
base::Result<int> index_of(const std::string& name) {
    const unsigned index = if_nametoindex(name.c_str());
    if (index == 0) return system_failure("if_nametoindex", errno, name);
    return static_cast<int>(index);
}

}  // namespace

Status make_private_network(std::uint32_t bridges) {
    if (auto status = leave_network(); !status.is_ok()) return status;
    auto socket = NetlinkSocket::open();
    if (!socket.is_ok()) return std::move(socket).failure();
    if (auto status = start_device(socket.value(), loopback_index, "lo"); !status.is_ok())
        return status;
    for (std::uint32_t number = 0; number < bridges; ++number) {
        if (auto status = make_bridge(socket.value(), bridge_name(number)); !status.is_ok())
            return status;
    }
    return {};
}

Status join_private_network(std::uint32_t number,
                            std::span<const SocketAddress> addresses,
                            std::uint32_t prefix_bits) {
    auto outer = NetlinkSocket::open();
    if (!outer.is_ok()) return std::move(outer).failure();
    std::vector<int> bridges;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        auto index = index_of(bridge_name(i));
        if (!index.is_ok()) return std::move(index).failure();
        bridges.push_back(index.value());
    }
    if (auto status = leave_network(); !status.is_ok()) return status;
    const FileDescriptor network(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!network.is_open()) return system_failure("open", errno, "/proc/thread-self/ns/net");
    auto inner = NetlinkSocket::open();
    if (!inner.is_ok()) return std::move(inner).failure();
    if (auto status = start_device(inner.value(), loopback_index, "lo"); !status.is_ok())
        return status;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const std::string name = "node" + std::to_string(number) + "-" + std::to_string(i);
        auto status = make_pair(outer.value(), name, bridges[i], interface_name(i), network.get());
        if (!status.is_ok()) return status;
        auto index = index_of(interface_name(i));
        if (!index.is_ok()) return std::move(index).failure();
        status = set_address(inner.value(), index.value(), addresses[i], prefix_bits);
        if (!status.is_ok()) return status;
        status = start_device(inner.value(), index.value(), interface_name(i));
        if (!status.is_ok()) return status;
    }
    return {};
}

}  // namespace acp::os
