// SPDX-License-Identifier: BSD-3-Clause
// The settings of a gateway, in an agent or in a rank. All nodes have the same settings, except
// node and bind; each has its own copy of the key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/config.hpp"
#include "crypto/choose.hpp"
#include "datagram/address.hpp"
#include "datagram/endpoint.hpp"
#include "local/numbered_operation.hpp"

namespace acp::engine {

using datagram::Address;
using datagram::NodeId;
using datagram::Time;

// Sockets of one gateway: datagram::AddressBook::addresses_max.
inline constexpr std::size_t sockets_max = 8;

struct GatewaySettings {
    std::uint64_t job_id = 0;
    NodeId node = 0;
    NodeId nodes = 1;
    // first_process[k] is node k's first process index, [nodes] the number of processes of the job;
    // ascending.
    std::vector<std::uint32_t> first_process;
    std::array<std::byte, 32> job_key{};  // open() wipes this copy after it has derived its keys
    // The addresses to listen on: each becomes a socket, port 0 is any free one. Families may be
    // mixed. With several rails (config.rails) it has one address for each rail.
    std::vector<Address> bind;  // 1 .. sockets_max
    // The user named the network (--net): then security may be off.
    bool is_interface_named = false;
    base::Config config;  // security, faults, attach, peer timeout, socket buffer, rails
    // UDP payload to start with, and the longest one to probe for. 0: what every IPv4 path carries
    // (IPv6, if the gateway uses no other), and what the interfaces carry, at most 8972.
    std::uint32_t datagram_bytes = 0;
    std::uint32_t datagram_bytes_max = 0;
    // How long a node may take to its first answer; 0: the peer timeout.
    Time connect_timeout_ns = 0;
    // Equal on all nodes: the launcher resolves `automatic` once for the job.
    crypto::CipherWish cipher = crypto::CipherWish::automatic;
    crypto::BackendWish cipher_backend = crypto::BackendWish::automatic;
    // Reports on stderr which settings weaken the job's safety or speed; node 0 reports those of
    // the whole job.
    bool is_outspoken = true;
    // Operations that other nodes may run in processes of this node: the same table on all nodes;
    // must outlive the gateway. nullptr: none.
    const local::OperationTable* operations = nullptr;
};

}  // namespace acp::engine
