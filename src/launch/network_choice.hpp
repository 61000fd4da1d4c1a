// SPDX-License-Identifier: BSD-3-Clause
// Which of a machine's addresses a job uses between nodes: what acprun --net says, and without it all but loopback,
// IPv4 first. Asks no kernel: it is handed what there is. Pure; any thread.
// Tests: tests/unit/launch/network_choice_test.cpp.
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
    // From "10.0.0.0/8,eth1,!docker0": networks and names of interfaces, those to leave out with a "!"; "" is no
    // wish. Errors: argument, config (the message names the word).
    static base::Result<NetworkChoice> from(std::string_view text);

    // The addresses to listen on, without ports, best first, at most node_addresses_max; loopback alone when no
    // wish was said and there is nothing else; empty when nothing fits the wish.
    [[nodiscard]] std::vector<os::SocketAddress> choose(
        std::span<const os::InterfaceAddress> all) const;

private:
    struct Wish {
        std::string interface;  // "" = a network
        os::AddressRange range;
        bool is_exclusion = false;
    };

    static bool fits(const Wish& wish, const os::InterfaceAddress& address) noexcept;
    [[nodiscard]] std::size_t place_of(const os::InterfaceAddress& address) const noexcept;

    std::vector<Wish> wishes_;
};

}  // namespace acp::launch
