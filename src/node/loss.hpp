// SPDX-License-Identifier: BSD-3-Clause
// What was lost on other nodes: which processes and nodes are gone, a bit each, and why, for the first
// losses_told of them. Written by the node's gateway, and by a process that is its own (gateway/own_gateway.hpp); read by all processes of the node. The memory of the
// bits is touched with the first loss only. Any thread; never blocks.
// Tests: tests/unit/node/loss_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

// The same, which rail has lost the node first where the job has several (then the others may be well), and how long the
// datagrams were that the path did not carry.
struct NodeLoss {
    NodeFate fate = NodeFate::told;
    std::uint8_t rail =
        every_rail;           // every_rail: the job has one, or the fate is not one of a rail
    std::uint16_t bytes = 0;  // stalled: length of the datagrams that did not arrive
};

inline constexpr std::uint32_t losses_told = 16;

// true when it is news. Whoever notes news calls count_loss() (node/death.hpp) next.
bool note_lost_process(const Segment& segment,
                       std::uint32_t process,
                       std::uint32_t wait_status) noexcept;
bool note_lost_node(const Segment& segment, std::uint32_t node, NodeLoss why) noexcept;

// Whether a process of another node is known to be gone, alone or with its node.   process < procs
[[nodiscard]] bool is_lost(const Segment& segment, std::uint32_t process) noexcept;
[[nodiscard]] bool is_node_lost(const Segment& segment, std::uint32_t node) noexcept;

// The same of any process of the job: one of this node is gone when it is dead.
[[nodiscard]] bool is_gone(const Segment& segment, std::uint32_t process) noexcept;

// How a process of another node has ended, as note_lost_process() was told. Nothing where only its node is known to be lost.
[[nodiscard]] std::optional<std::uint32_t> status_of_lost(const Segment& segment,
                                                          std::uint32_t process) noexcept;

// "rank 7 on node 3 (10.0.0.4) was killed by signal 9", "node 3 (10.0.0.4) has not answered for 10 s" and kin:
// what is known of a process that is_gone(), or of one that a command failed on.
//   otherwise  why its node is gone, as the caller knows, where nothing was told yet
[[nodiscard]] std::string fate_of_process(const Segment& segment,
                                          std::uint32_t process,
                                          NodeLoss otherwise = {});

// Whether the first loss that was told is a process that had left in order, and ended (death.hpp, finished_status).
[[nodiscard]] bool first_loss_is_finished(const Segment& segment) noexcept;

// The same of a loss as it was told, index 0 .. ; of a node, for its first rank. "" when there are fewer.
[[nodiscard]] std::string told_loss(const Segment& segment, std::uint32_t index);

// "node 3 (10.0.0.4)"
[[nodiscard]] std::string node_name(const Segment& segment, std::uint32_t node);

}  // namespace acp::node
