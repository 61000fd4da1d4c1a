// SPDX-License-Identifier: BSD-3-Clause
// A plan: many copies between two arenas, the same on every rank because it is computed, not
// communicated. The owner of the source fills it with a pattern, the initiator copies, the owner of
// the target checks every byte with plain loads, also those between the pieces. Collective; main
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/arena.hpp"

namespace acp::test {

struct Piece {
    std::size_t target;  // offsets in the arenas
    std::size_t source;
    std::size_t bytes;
};

// The ranks of a copy: the caller of acp_copy and the owners of both ends.
struct Roles {
    int initiator;
    int target_owner;
    int source_owner;
};

// For example "starter of rank 1 -> registered of rank 2 by rank 0".
[[nodiscard]] std::string describe(const Roles& roles, Kind target, Kind source);

// Every arrangement of up to three ranks: all local, put, get, third party, remote to itself.
[[nodiscard]] std::vector<Roles> all_roles(int procs);

// Whether the mode that is tested can reach both ends.
[[nodiscard]] bool is_reachable(const Roles& roles, Kind target, Kind source);

// Runs the plan. Pieces must not overlap in the target and lie inside the arenas. Collective.
void run_copies(const Roles& roles,
                const Arena& target,
                const Arena& source,
                const std::vector<Piece>& pieces);

}  // namespace acp::test
