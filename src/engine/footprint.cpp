// SPDX-License-Identifier: BSD-3-Clause
// Sizes of objects that are made at start are those of their types; the other figures were
// measured, and tests check them.
#include "engine/footprint.hpp"

#include <algorithm>

#include "datagram/endpoint.hpp"
#include "datagram/peer.hpp"
#include "datagram/sent_datagrams.hpp"
#include "router/records.hpp"
#include "router/router.hpp"

namespace acp::engine {

namespace {

// Measured: heap, the pools' first pages, stacks, the libraries of cipher and key agreement, room
// for one burst to send and one received.
constexpr std::uint64_t process_bytes = 3200ULL * 1024;

// The same in a rank that is its own gateway, beyond the memory of any rank.
constexpr std::uint64_t own_process_bytes = 2752ULL * 1024;

// Measured, for each rail but the first, in either kind of process: an endpoint with its pools,
// room for one burst to send and one received.
constexpr std::uint64_t further_rail_bytes = 1984ULL * 1024;

// Per node of the job: its first process index.
constexpr std::uint64_t node_bytes = 4;

// Per node and rail: its seat at the endpoint (16), its place in the router's list of lanes (8),
// the index of its first address (4), one address.
constexpr std::uint64_t unmet_node_bytes = 28 + sizeof(datagram::Address);

// After the first contact on that rail: the endpoint's record of an idle peer (WIRE-92), and the
// router's record of it.
constexpr std::uint64_t met_node_bytes = 128 - 16 + sizeof(router::RouterPeer);

// A command in flight: its record, its place in the index, and its entry in a backlog.
constexpr std::uint64_t command_bytes =
    sizeof(router::Outstanding) + 16 + sizeof(router::OperationRecord);

// The longest datagrams of any path: those of a loopback or of jumbo frames.
constexpr std::uint64_t longest_datagram_bytes = 8972;

std::uint64_t pool_bytes(std::uint64_t datagram_bytes) {
    const std::uint64_t buffers = datagram::Settings{}.send_buffers;
    const std::uint64_t stride = (datagram_bytes + 63) / 64 * 64;
    const std::uint64_t blocks = buffers / 8 + 64;
    return buffers * stride + blocks * sizeof(datagram::SentPool::Block);
}

// Names of the parts of one gateway.
struct Names {
    std::string_view process;
    std::string_view nodes;
    std::string_view connections;
    std::string_view commands;
    std::string_view buffers;
};

constexpr Names agents_names = {"gateway: process", "gateway: nodes", "gateway: connections",
                                "gateway: commands", "gateway: buffers"};
constexpr Names own_names = {"own gateway: process", "own gateway: nodes",
                             "own gateway: connections", "own gateway: commands",
                             "own gateway: buffers"};

void append(std::vector<node::FootprintPart>& parts,
            const Names& names,
            std::uint64_t one_rail_process,
            const node::Shape& shape,
            std::uint32_t rails) {
    const router::RouterSettings limits;
    const std::uint64_t process = one_rail_process + (rails - 1) * further_rail_bytes;
    const std::uint64_t lanes = std::uint64_t{rails} * (shape.nodes - 1);  // to other nodes
    const std::uint64_t unmet = shape.nodes * (node_bytes + rails * unmet_node_bytes);
    const std::uint64_t met = unmet + lanes * met_node_bytes;
    const std::uint64_t commands_most =
        limits.commands_max * command_bytes + limits.notes_max * sizeof(router::Note);
    const std::uint64_t commands =
        std::min(limits.commands_max, stated_commands * shape.local_procs) * command_bytes;
    const std::uint64_t hot = std::min(lanes, rails * hot_peers_stated) * hot_peer_bytes;
    parts.push_back({names.process, "", process, process, process});
    parts.push_back({names.nodes, "nodes talked to", met, unmet, met});
    parts.push_back(
        {names.connections, "nodes talked to in a minute", lanes * hot_peer_bytes, 0, hot});
    parts.push_back({names.commands, "commands under way", commands_most, 0, commands});
    parts.push_back({names.buffers, "bytes under way", rails * pool_bytes(longest_datagram_bytes),
                     0, rails * pool_bytes(stated_datagram_bytes)});
}

}  // namespace

std::vector<node::FootprintPart> footprint_of(const node::Shape& shape, std::uint32_t rails) {
    std::vector<node::FootprintPart> parts;
    if (shape.nodes == 1) return parts;
    append(parts, agents_names, process_bytes, shape, rails);
    if (shape.has_own_gateways != 0) append(parts, own_names, own_process_bytes, shape, rails);
    return parts;
}

}  // namespace acp::engine
