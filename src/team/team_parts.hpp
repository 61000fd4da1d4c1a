// SPDX-License-Identifier: BSD-3-Clause
// The parts of memory that the members of a team allocate together, one in the heap of each member.
// For the one thread that is in a call on the team.
// Tests: tests/conformance/team_memory_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "team/team_entry.hpp"

namespace acp::team {

// Allocates a part on each member. On success all members know all parts; on failure all parts are
// freed. A failed allocation does not break the team. Errors: memory, unsupported, on all members;
// those of a broken team.
//   bytes  >= 1, the same on all members
//   made   receives the address of the caller's part
base::Status allocate_parts(TeamTools& tools,
                            TeamEntry& entry,
                            std::uint64_t bytes,
                            GlobalAddress& made);

// Frees one part of the caller.
base::Status free_part(TeamTools& tools, GlobalAddress own);

// Frees the caller's parts of all allocations, after all members have left the team. Returns the
// first error.
base::Status free_all_parts(TeamTools& tools, TeamEntry& entry);

}  // namespace acp::team
