// SPDX-License-Identifier: BSD-3-Clause
// Making, cutting and looking into two joined networks. A thread of its own enters each: this
// process stays outside.
#include "support/joined_networks.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <span>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "os/file_descriptor.hpp"
#include "os/netlink.hpp"

namespace acp::test {
namespace {

constexpr const char* device = "wire0";
constexpr unsigned char prefix_bits = 24;
constexpr int loopback_index = 1;  // the first device of every network

std::string refused(const std::string& what, int error) {
    return error == 0 ? "" : what + ": " + std::strerror(error);
}

// Runs the step on a thread of its own, so that its change of the network namespace ends with the
// thread.
void apart(const std::function<void()>& step) {
    std::thread(step).join();
}

ifinfomsg link(int index, bool is_up) {
    ifinfomsg head{};
    head.ifi_family = AF_UNSPEC;
    head.ifi_index = index;
    head.ifi_change = IFF_UP;
    head.ifi_flags = is_up ? IFF_UP : 0;
    return head;
}

int raise(os::NetlinkSocket& devices, int index, bool is_up) {
    os::NetlinkRequest request(RTM_NEWLINK, 0, link(index, is_up));
    return devices.ask(request);
}

int make_wire(os::NetlinkSocket& devices, int far_network) {
    os::NetlinkRequest request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, link(0, false));
    request.add_text(IFLA_IFNAME, device);
    const std::size_t information = request.open(IFLA_LINKINFO);
    request.add_text(IFLA_INFO_KIND, "veth");
    const std::size_t data = request.open(IFLA_INFO_DATA);
    const std::size_t peer = request.open(VETH_INFO_PEER);
    const ifinfomsg far = link(0, false);
    request.append(std::as_bytes(std::span(&far, 1)));
    request.add_text(IFLA_IFNAME, device);
    request.add_value(IFLA_NET_NS_FD, far_network);
    request.close(peer);
    request.close(data);
    request.close(information);
    return devices.ask(request);
}

int make_bridge(os::NetlinkSocket& devices, const std::string& name) {
    os::NetlinkRequest request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, link(0, true));
    request.add_text(IFLA_IFNAME, name);
    const std::size_t information = request.open(IFLA_LINKINFO);
    request.add_text(IFLA_INFO_KIND, "bridge");
    request.close(information);
    return devices.ask(request);
}

// Bursts are cut into datagrams before the wire, which then treats each by its length, as a switch
// would. A kernel without that setting (before 5.18) carries them whole.
void cut_bursts(os::NetlinkSocket& devices, int index) {
    ifinfomsg head{};
    head.ifi_index = index;
    os::NetlinkRequest request(RTM_NEWLINK, 0, head);
    request.add_value(IFLA_GSO_MAX_SEGS, std::uint32_t{1});
    static_cast<void>(devices.ask(request));
}

int set_address(os::NetlinkSocket& devices, int index, const char* text) {
    ifaddrmsg head{};
    head.ifa_family = AF_INET;
    head.ifa_prefixlen = prefix_bits;
    head.ifa_index = static_cast<unsigned>(index);
    in_addr address{};
    inet_pton(AF_INET, text, &address);
    os::NetlinkRequest request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, head);
    request.add_value(IFA_LOCAL, address);
    request.add_value(IFA_ADDRESS, address);
    return devices.ask(request);
}

}  // namespace

struct JoinedNetworks::Side {
    os::FileDescriptor network;
    std::unique_ptr<os::NetlinkSocket> devices;
    int index = 0;  // index of its device
};

JoinedNetworks::JoinedNetworks() : all_(sides) {}

JoinedNetworks::~JoinedNetworks() = default;

std::unique_ptr<JoinedNetworks> JoinedNetworks::create(std::string& why_not, int bridges) {
    std::unique_ptr<JoinedNetworks> made(new JoinedNetworks);
    for (Side& side : made->all_) {
        if (why_not = made->make(side, bridges); !why_not.empty()) {
            return nullptr;
        }
    }
    why_not = made->join();
    return why_not.empty() ? std::move(made) : nullptr;
}

// Returns the refused step and its error; "" on success. join() does so too.
std::string JoinedNetworks::make(Side& side, int bridges) {
    std::string why_not;
    apart([&] {
        if (unshare(CLONE_NEWNET) != 0) {
            why_not = refused("making a network namespace", errno);
            return;
        }
        side.network = os::FileDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
        auto devices = os::NetlinkSocket::open();
        if (!devices.is_ok()) {
            why_not = devices.failure().message();
            return;
        }
        side.devices = std::make_unique<os::NetlinkSocket>(std::move(devices).value());
        for (int number = 0; number < bridges && why_not.empty(); ++number) {
            const std::string name = "br" + std::to_string(number);
            const std::string address = "172." + std::to_string(17 + number) + ".0.1";
            why_not = refused("making a bridge", make_bridge(*side.devices, name));
            if (!why_not.empty()) return;
            const int index = static_cast<int>(if_nametoindex(name.c_str()));
            why_not = refused("giving a bridge its address",
                              set_address(*side.devices, index, address.c_str()));
        }
    });
    return why_not;
}

std::string JoinedNetworks::join() {
    if (const int error = make_wire(*all_[0].devices, all_[1].network.get()); error != 0) {
        return refused("making a veth pair", error);
    }
    for (std::size_t number = 0; number < all_.size(); ++number) {
        Side& side = all_[number];
        apart([&] {
            if (setns(side.network.get(), CLONE_NEWNET) == 0) {
                side.index = static_cast<int>(if_nametoindex(device));
            }
        });
        cut_bursts(*side.devices, side.index);
        for (const int error :
             {set_address(*side.devices, side.index, addresses[number]),
              raise(*side.devices, loopback_index, true), raise(*side.devices, side.index, true)}) {
            if (error != 0) {
                return refused("setting up a veth device", error);
            }
        }
    }
    return "";
}

std::vector<std::string> JoinedNetworks::environment() const {
    std::vector<std::string> entries;
    for (std::size_t side = 0; side < all_.size(); ++side) {
        entries.push_back("TEST_NETWORK_" + std::string(names[side]) + "=/proc/" +
                          std::to_string(getpid()) + "/fd/" +
                          std::to_string(all_[side].network.get()));
    }
    return entries;
}

void JoinedNetworks::set_up(int side, bool is_up) {
    Side& its = all_[static_cast<std::size_t>(side)];
    EXPECT_EQ(raise(*its.devices, its.index, is_up), 0) << "device of " << side;
}

void JoinedNetworks::set_mtu(int side, std::uint32_t bytes) {
    Side& its = all_[static_cast<std::size_t>(side)];
    ifinfomsg head{};
    head.ifi_index = its.index;
    os::NetlinkRequest request(RTM_NEWLINK, 0, head);
    request.add_value(IFLA_MTU, bytes);
    EXPECT_EQ(its.devices->ask(request), 0) << "MTU of " << side;
}

std::vector<std::string> JoinedNetworks::sockets() const {
    std::vector<std::string> found;
    for (std::size_t number = 0; number < all_.size(); ++number) {
        apart([&] {
            if (setns(all_[number].network.get(), CLONE_NEWNET) != 0) {
                found.emplace_back("cannot look");
                return;
            }
            for (const char* kind : {"udp", "udp6", "tcp", "unix"}) {
                std::ifstream table(std::string("/proc/thread-self/net/") + kind);
                std::string line;
                std::getline(table, line);  // the line of titles
                while (std::getline(table, line)) {
                    found.push_back(std::string(names[number]) + " " + kind + " " + line);
                }
            }
        });
    }
    return found;
}

}  // namespace acp::test
