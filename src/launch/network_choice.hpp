// SPDX-License-Identifier: BSD-3-Clause
// Chooses which of a machine's addresses a job uses between nodes: those that acprun --net names, or by default all except
// loopback, IPv4 first. Makes no system call: the caller passes the addresses. Pure; any thread. Tests:
// tests/unit/launch/network_choice_test.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/interfaces.hpp"

#include "launch/peer_table.hpp"

namespace acp::launch {

class NetworkChoice {
public:
    // Parses "10.0.0.0/8,eth1,!docker0": networks and names of interfaces; "!" excludes one; "" is no wish. Errors: argument,
    // config (the message has the word).
    static base::Result<NetworkChoice> from(std::string_view text);

    // The addresses to listen on, without ports, best first, at most node_addresses_max. Without a wish and any other address,
    // loopback alone; empty when no address fits the wish.
    [[nodiscard]] std::vector<os::SocketAddress> choose(
        std::span<const os::InterfaceAddress> all) const;

private:
    struct Wish {
        std::string interface;  // "" = the wish is a network
        os::AddressRange range;
        bool is_exclusion = false;
    };

    static bool fits(const Wish& wish, const os::InterfaceAddress& address) noexcept;
    [[nodiscard]] std::size_t place_of(const os::InterfaceAddress& address) const noexcept;

    std::vector<Wish> wishes_;
};

}  // namespace acp::launch
