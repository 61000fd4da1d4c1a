// SPDX-License-Identifier: BSD-3-Clause
// The node of each rank in a job over emulated nodes. acprun assigns the ranks to the nodes in
// order, the same number to each if they can be divided. Not valid after acp_reset. Any thread.
#pragma once

#include <cstdlib>
#include <string_view>

#include <acp.h>

namespace acp::test {

// The number of nodes of this job, from acprun's environment; 1 without nodes.
[[nodiscard]] inline int nodes_of_job() {
    const char* text = std::getenv("ACP_NODES");
    const int nodes = text == nullptr ? 1 : std::atoi(text);
    return nodes < 1 ? 1 : nodes;
}

// The number of rails between nodes; 1 without ACP_RAILS.
[[nodiscard]] inline int rails_of_job() {
    const char* text = std::getenv("ACP_RAILS");
    const int rails = text == nullptr ? 1 : std::atoi(text);
    return rails < 1 ? 1 : rails;
}

[[nodiscard]] inline int ranks_per_node() {
    return acp_procs() / nodes_of_job();
}

[[nodiscard]] inline int node_of(int rank) {
    return rank / ranks_per_node();
}

// Whether the rank is on the caller's node.
[[nodiscard]] inline bool is_near(int rank) {
    return node_of(rank) == node_of(acp_rank());
}

// Whether each rank is the gateway of its node.
[[nodiscard]] inline bool has_own_gateways() {
    const char* place = std::getenv("ACP_GATEWAY");
    return nodes_of_job() > 1 && ranks_per_node() == 1 &&
           (place == nullptr || std::string_view(place) != "agent");
}

// The ranks with which one rank communicates in a round. Each of the three is a permutation of all
// ranks, so every rank is partner, neighbour and other of exactly one rank each. After
// ranks_per_node() rounds every rank had every rank of the next node as partner.
struct Companions {
    int partner;    // a rank on the next node
    int neighbour;  // on the partner's node, another rank than the partner if there are several
    int other;      // on the node after the next, which is the own node when there are two
};

[[nodiscard]] inline Companions companions_of(int rank, int round) {
    const int each = ranks_per_node();
    const auto at = [&](int nodes_on, int ranks_on) {
        const int node = (node_of(rank) + nodes_on) % nodes_of_job();
        return node * each + (rank + ranks_on) % each;
    };
    return {at(1, round), at(1, round + 1), at(2, round + 1)};
}

}  // namespace acp::test
