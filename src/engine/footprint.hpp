// SPDX-License-Identifier: BSD-3-Clause
// How much memory a node's gateway takes beside the node segment: the arithmetic of "acpinfo
// --memory" for its own process. The memory of a connection is computed from its parts; the memory
// of the process before its first connection was measured. Knows no machine and no running gateway.
// Pure; any thread.
// Tests: tests/unit/engine/footprint_test.cpp compares connections with their use of the heap,
// tests/tools/acpinfo_memory_test.py whole gateways with those of real jobs.
#pragma once

#include <cstdint>
#include <vector>

#include "node/footprint.hpp"

namespace acp::engine {

// `in use` is stated for this many peers with a full record at a time; a peer that is idle for a
// minute loses it.
inline constexpr std::uint64_t hot_peers_stated = 1024;

// The memory of a peer on a rail while it is connected there and not idle: its record and the keys
// of both directions.
inline constexpr std::uint64_t hot_peer_bytes = 7168;

// `in use` is stated for this many commands of each rank in flight.
inline constexpr std::uint32_t stated_commands = 64;

// `in use` is stated for datagrams of this length, an Ethernet frame's. Buffers are as long as the
// path's datagrams.
inline constexpr std::uint64_t stated_datagram_bytes = 1472;

// The parts of the memory of a node's gateway, or of its rank's own gateway where all nodes have
// one rank each; none in a job of one node.
//   rails  1 .. router::rails_max; `in use` is for the case that all nodes have talked by each
[[nodiscard]] std::vector<node::FootprintPart> footprint_of(const node::Shape& shape,
                                                            std::uint32_t rails);

}  // namespace acp::engine
