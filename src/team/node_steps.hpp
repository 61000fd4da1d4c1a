// SPDX-License-Identifier: BSD-3-Clause
// The messages between many nodes of a team in a collective call, as the steps of one node: O(log
// nodes) steps. In each step a node sends to one other node and receives from one, which may be
// different ones; both messages are in flight at once. Pure; any thread.
//
// Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
// Operations in MPICH" (2005), for recursive doubling and halving; J. Bruck et al., "Efficient
// Algorithms for All-to-All Communications in Multiport Message-Passing Systems" (1997), for
// gather_steps().
// Tests: tests/unit/team/node_steps_test.cpp, which runs the steps of up to 1,100 nodes.
#pragma once

#include <cstdint>
#include <vector>

namespace acp::team {

// How a node uses the elements that it receives.
enum class Received : std::uint8_t {
    none,
    is_first,   // combines them with its own elements; they are of earlier nodes
    is_second,  // combines them with its own elements; they are of later nodes
    is_result,  // stores them
};

// A range of elements, or of nodes. Nodes are counted modulo the number of nodes.
struct StepRange {
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
};

struct NodeStep {
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    std::uint32_t to = nobody;
    StepRange sent;
    std::uint32_t from = nobody;
    StepRange received;
    Received how = Received::none;
};

// Adjacent ranges of nodes are combined, in the order of the nodes: first with the next node, then
// with the node 2 away, 4 away ...

// A reduction with the result on all nodes, which get the same bits.
//   count     elements of each node
//   is_split  recursive halving, then doubling: a node receives each element about twice, in twice
//             as many steps; has no effect with fewer elements than nodes. Else recursive doubling:
//             a node receives each element once a step.
[[nodiscard]] std::vector<NodeStep> all_reduce_steps(std::uint32_t nodes,
                                                     std::uint32_t own,
                                                     std::uint64_t count,
                                                     bool is_split);

// A reduction with the result on one node, along a binomial tree to node 0.
[[nodiscard]] std::vector<NodeStep> reduce_steps(std::uint32_t nodes,
                                                 std::uint32_t own,
                                                 std::uint64_t count,
                                                 std::uint32_t root);

// Each node has a part, and all nodes get all parts. The ranges are ranges of nodes, whose parts
// are sent and received.
[[nodiscard]] std::vector<NodeStep> gather_steps(std::uint32_t nodes, std::uint32_t own);

}  // namespace acp::team
