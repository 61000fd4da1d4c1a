// SPDX-License-Identifier: BSD-3-Clause
// The processes and nodes that are lost elsewhere: a bit each, and the reasons of the first
// losses_told losses. Writers: the node's gateway, and a process that is its own gateway
// (gateway/own_gateway.hpp). Readers: all processes of the node. The memory of the bits is
// untouched before the first loss. Any thread; never blocks.
// Tests: tests/unit/node/loss_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/process_end.hpp"

namespace acp::node {

class Segment;

// Why a node was given up.
enum class NodeFate : std::uint8_t {
    silent,
    unreachable,
    restarted,
    left,
    gave_up,
    told,
    no_memory,
    stalled,
    mismatched,
    own_socket
};

inline constexpr std::uint8_t every_rail = 0xFF;

// Why a node was given up; if the job has several rails, the one that lost the node first (the
// others may work); and the length of the datagrams that the path did not carry.
struct NodeLoss {
    NodeFate fate = NodeFate::told;
    // every_rail: the job has one rail, or the fate does not depend on a rail
    std::uint8_t rail = every_rail;
    std::uint16_t bytes = 0;  // stalled: length of the datagrams that did not arrive
};

inline constexpr std::uint32_t losses_told = 16;

// True if the loss was not noted before. Then the caller calls count_loss() (node/death.hpp) next.
bool note_lost_process(const Segment& segment,
                       std::uint32_t process,
                       const base::ProcessEnd& end) noexcept;
bool note_lost_node(const Segment& segment, std::uint32_t node, NodeLoss why) noexcept;

// Whether a process of another node is known to be gone, alone or with its node.   process < procs
[[nodiscard]] bool is_lost(const Segment& segment, std::uint32_t process) noexcept;
[[nodiscard]] bool is_node_lost(const Segment& segment, std::uint32_t node) noexcept;

// Whether any process of the job is gone: lost elsewhere, or dead on this node.
[[nodiscard]] bool is_gone(const Segment& segment, std::uint32_t process) noexcept;

// The end of a process of another node that note_lost_process() recorded. nullopt: only its node is
// known to be lost.
[[nodiscard]] std::optional<base::ProcessEnd> end_of_lost(const Segment& segment,
                                                          std::uint32_t process) noexcept;

// "rank 7 (process 4711) on node 3 (alpha, 10.0.0.4) was killed by signal 9", "node 3 (10.0.0.4) has not answered for 10
// s" and similar: the fate of a process that is_gone(), or that a command failed on.
//   otherwise  the caller's reason why its node is gone, used if none is recorded
[[nodiscard]] std::string fate_of_process(const Segment& segment,
                                          std::uint32_t process,
                                          NodeLoss otherwise = {});

// Whether the first recorded loss is a process that had left in order and ended (death.hpp,
// finished_status).
[[nodiscard]] bool first_loss_is_finished(const Segment& segment) noexcept;

// A sentence about recorded loss `index`, from 0; a lost node is described by its first rank. "":
// there are fewer.
[[nodiscard]] std::string told_loss(const Segment& segment, std::uint32_t index);

// "node 3 (alpha, 10.0.0.4)"; without the host name or the address where these are unknown
[[nodiscard]] std::string node_name(const Segment& segment, std::uint32_t node);

}  // namespace acp::node
