// SPDX-License-Identifier: BSD-3-Clause
// How much memory a node's gateway takes beside the node segment: the arithmetic of "acpinfo --memory" for its own
// process. What a connection costs follows from the parts it is made of; what the process takes before it has met
// anybody was measured. Knows no machine and no running gateway. Pure; any thread.
// Tests: tests/unit/engine/footprint_test.cpp holds connections to what they take of the heap,
// tests/tools/acpinfo_memory_test.py whole gateways to those of real jobs.
#pragma once

#include <cstdint>
#include <vector>

#include "node/footprint.hpp"

namespace acp::engine {

// Peers with a full record at a time that `in use` is stated for; one idle for a minute gives it up.
inline constexpr std::uint64_t hot_peers_stated = 1024;

// What a peer takes on a rail while it is connected there and not idle: its record and the keys of both directions.
inline constexpr std::uint64_t hot_peer_bytes = 7168;

// Commands of each rank under way that `in use` is stated for.
inline constexpr std::uint32_t stated_commands = 64;

// The longest datagram that `in use` is stated for: an Ethernet frame's. Buffers are as long as the path's.
inline constexpr std::uint64_t stated_datagram_bytes = 1472;

// The parts of the memory of a node's gateway, and of its rank's own where all nodes have one rank each; none in a
// job of one node.
//   rails  1 .. router::rails_max; in use, all have talked to all by each of them
[[nodiscard]] std::vector<node::FootprintPart> footprint_of(const node::Shape& shape,
                                                            std::uint32_t rails);

}  // namespace acp::engine
