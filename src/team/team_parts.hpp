// SPDX-License-Identifier: BSD-3-Clause
// The parts of memory that the members of a team allocate together, in the heap of each. For the one thread that is in a call on the team.
// Tests: tests/conformance/team_memory_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "team/team_entry.hpp"

namespace acp::team {

// Allocates a part on each member. Either all have theirs and know them all, or those that were made are freed. The team goes on in either case.
//   bytes  >= 1, the same on all members
//   made   becomes the address of the caller's part
// Errors: memory, unsupported, of any member; those of a team that is broken by this.
base::Status allocate_parts(TeamTools& tools,
                            TeamEntry& entry,
                            std::uint64_t bytes,
                            GlobalAddress& made);

// Frees a part of the caller's.
base::Status free_part(TeamTools& tools, GlobalAddress own);

// Frees the caller's parts of all that the team has allocated, after all members have left it. The first error.
base::Status free_all_parts(TeamTools& tools, TeamEntry& entry);

}  // namespace acp::team
