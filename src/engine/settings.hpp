// SPDX-License-Identifier: BSD-3-Clause
// What a gateway is told when it is opened, whoever runs it. The same on all nodes, but for node, bind and the key's copy.
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

inline constexpr std::size_t sockets_max =
    8;  // of one gateway: datagram::AddressBook::addresses_max

struct GatewaySettings {
    std::uint64_t job_id = 0;
    NodeId node = 0;
    NodeId nodes = 1;
    // first_process[k] is node k's first process index, [nodes] the number of processes of the job; ascending.
    std::vector<std::uint32_t> first_process;
    std::array<std::byte, 32> job_key{};  // wiped here when open() has derived from it
    // Where to listen: each address becomes a socket, port 0 is any free one. Families may be mixed.
    // Where there are several rails (config.rails): the address on each.
    std::vector<Address> bind;  // 1 .. sockets_max
    // The user named the network (--net): security off is allowed there.
    bool is_interface_named = false;
    base::Config config;  // security, faults, attach, peer timeout, socket buffer, rails
    // UDP payload to start with, and longest to probe for. 0: what every IPv4 (or, if it uses no other, IPv6) path carries, and
    // 8972, or what the interfaces carry.
    std::uint32_t datagram_bytes = 0;
    std::uint32_t datagram_bytes_max = 0;
    Time connect_timeout_ns =
        0;  // how long a node may take to its first answer; 0: the peer timeout
    // The same on all nodes: who starts the job resolves `automatic` once.
    crypto::CipherWish cipher = crypto::CipherWish::automatic;
    crypto::BackendWish cipher_backend = crypto::BackendWish::automatic;
    bool is_outspoken =
        true;  // says on stderr what weakens the job's safety or speed; what all nodes share, at node 0
    // What other nodes may have run here: the same on all nodes; outlives the gateway. nullptr: nothing.
    const local::OperationTable* operations = nullptr;
};

}  // namespace acp::engine
