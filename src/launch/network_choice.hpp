// SPDX-License-Identifier: BSD-3-Clause
// Chooses at which addresses the nodes of a job listen: those that acprun --net names, or by
// default all except loopback; best first, where best means that other nodes probably reach it.
// Makes no system call: the caller passes the interfaces of all nodes. Pure; any thread. Tests:
// tests/unit/launch/network_choice_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/socket_address.hpp"

#include "launch/interface_list.hpp"
#include "launch/peer_table.hpp"

namespace acp::launch {

class NetworkChoice {
public:
    // Parses "10.0.0.0/8,eth1,!docker0": networks and names of interfaces; "!" excludes one; "" is
    // no wish. Errors: argument, config (the message has the word).
    static base::Result<NetworkChoice> from(std::string_view text);

    // For each node the addresses to listen on, without ports, best first:
    //   1. by the order of the wishes;
    //   2. those in a network in which most other nodes have an address too;
    //   3. bridges and ends of veth pairs without a default route last: Docker makes such ones, for
    //      this machine alone;
    //   4. those with a carrier, those with a default route, IPv4, then in the kernel's order.
    // An address that another node has too, as the 172.17.0.1 of each Docker, connects no nodes.
    // Nodes with an address in the network of node 0's i-th one have it at the same place. A node
    // that has only loopback listens there if there is no wish.
    //   rails  1: each node gets at most node_addresses_max addresses. 2 or more: it gets this
    //          many, on different interfaces if it has enough interfaces, and none that 3. puts
    //          last; a node with fewer gets all that fit.
    // A node gets none when nothing fits the wish.
    [[nodiscard]] GatewayTable choose(std::span<const Interfaces> nodes, std::uint32_t rails) const;

private:
    struct Wish {
        std::string interface;  // "" = the wish is a network
        os::AddressRange range;
        bool is_exclusion = false;
    };

    struct Candidate;
    class Networks;

    static bool fits(const Wish& wish, const os::InterfaceAddress& address) noexcept;
    [[nodiscard]] std::size_t place_of(const os::InterfaceAddress& address) const noexcept;

    [[nodiscard]] std::vector<Candidate> candidates_of(const Interfaces& interfaces,
                                                       const Networks& networks) const;
    static void sort_for_rails(std::vector<Candidate>& candidates);
    static void follow(std::span<const os::AddressRange> order, std::vector<Candidate>& candidates);

    std::vector<Wish> wishes_;
};

}  // namespace acp::launch
