// SPDX-License-Identifier: BSD-3-Clause
// Allocates and frees memory that members of a team have together.
#include "team/team_parts.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "team/collectives.hpp"

namespace acp::team {

using base::Code;
using base::Status;

namespace {

constexpr std::uint64_t part_alignment = 64;

// What each member gathers about a member's part.
struct Part {
    GlobalAddress address = 0;
    std::uint64_t code = 0;  // the error, if it could not be allocated
};

}  // namespace

Status allocate_parts(TeamTools& tools,
                      TeamEntry& entry,
                      std::uint64_t bytes,
                      GlobalAddress& made) {
    Team& team = *entry.team;
    const std::uint32_t members = team.members().size();
    const std::uint64_t number = entry.allocations++;
    TeamMemory::Allocations fresh;
    std::vector<Part> all(members);
    Part own;
    Status status;
    try {
        TeamAllocation allocation{number, bytes, std::vector<GlobalAddress>(members)};
        auto part = tools.allocator.allocate(tools.gma.space().process(), bytes, part_alignment,
                                             allocator::BlockOwner::separate);
        if (part.is_ok()) {
            own.address = part.value();
            fresh.try_emplace(own.address, std::move(allocation));
        } else {
            status = std::move(part).failure();
        }
    } catch (const std::bad_alloc&) {
        status = Status::bare(Code::memory);
    }
    own.code = static_cast<std::uint64_t>(status.code());
    // If the team breaks here, other members may have the address: the part stays until the epoch
    // ends.
    if (!all_gather(team, reinterpret_cast<const char*>(&own), reinterpret_cast<char*>(all.data()),
                    sizeof own))
        return team.failure();
    const auto refused =
        std::find_if(all.begin(), all.end(), [](const Part& part) { return part.code != 0; });
    if (refused == all.end()) {
        TeamAllocation& allocation = fresh.begin()->second;
        std::transform(all.begin(), all.end(), allocation.parts.begin(),
                       [](const Part& part) { return part.address; });
        entry.memory.add(fresh);
        made = own.address;
        return {};
    }
    if (own.address != 0) (void)free_part(tools, own.address);
    if (!status.is_ok()) return status;
    return {static_cast<Code>(refused->code), "member " + std::to_string(refused - all.begin()) +
                                                  " has no memory for its part of " +
                                                  std::to_string(bytes) + " bytes"};
}

Status free_part(TeamTools& tools, GlobalAddress own) {
    return tools.allocator.free(own, allocator::BlockOwner::separate);
}

Status free_all_parts(TeamTools& tools, TeamEntry& entry) {
    Status status;
    for (const auto& [own, allocation] : entry.memory.take_all()) {
        Status freed = free_part(tools, own);
        if (status.is_ok()) status = std::move(freed);
    }
    return status;
}

}  // namespace acp::team
