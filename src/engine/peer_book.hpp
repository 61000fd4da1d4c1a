// SPDX-License-Identifier: BSD-3-Clause
// The addresses of the gateways of all nodes: 20 bytes per address and 4 per node. Filled once,
// before the endpoint asks for an address. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "datagram/endpoint.hpp"

namespace acp::engine {

class PeerBook final : public datagram::AddressBook {
public:
    //   peers  a row per node, each of 1 .. addresses_max addresses
    // Errors: argument.
    base::Status fill(const std::vector<std::vector<datagram::Address>>& peers,
                      std::uint32_t nodes) {
        if (peers.size() != nodes) {
            return {base::Code::argument, "addresses of " + std::to_string(peers.size()) +
                                              " nodes were given in a job of " +
                                              std::to_string(nodes)};
        }
        std::vector<datagram::Address> all;
        std::vector<std::uint32_t> first{0};
        for (const auto& row : peers) {
            if (row.empty() || row.size() > addresses_max) {
                return {base::Code::argument, "node " + std::to_string(first.size() - 1) + " has " +
                                                  std::to_string(row.size()) + " addresses; 1 to " +
                                                  std::to_string(addresses_max) + " are possible"};
            }
            all.insert(all.end(), row.begin(), row.end());
            first.push_back(static_cast<std::uint32_t>(all.size()));
        }
        addresses_ = std::move(all);
        first_ = std::move(first);
        return {};
    }

    [[nodiscard]] std::span<const datagram::Address> addresses_of(
        datagram::NodeId node) const noexcept override {
        if (node + std::size_t{1} >= first_.size()) return {};
        return std::span(addresses_).subspan(first_[node], first_[node + 1] - first_[node]);
    }

private:
    std::vector<datagram::Address> addresses_;
    // index of each node's first address, and the number of addresses
    std::vector<std::uint32_t> first_;
};

}  // namespace acp::engine
