// SPDX-License-Identifier: BSD-3-Clause
// The memory that the members of a team have allocated together: of each allocation, where the part of each member begins. A member finds
// the address of another one's part by that of its own, so nobody exchanges addresses after the allocation. Knows no heap and no
// team. Any thread.
// Tests: tests/unit/team/team_memory_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "gma/gma.hpp"

namespace acp::team {

using memory::GlobalAddress;

struct TeamAllocation {
    std::uint64_t number = 0;          // how many the team made before it, the same on all members
    std::uint64_t bytes = 0;           // of each member
    std::vector<GlobalAddress> parts;  // of each member, by team rank
};

class TeamMemory {
public:
    using Allocations = std::map<GlobalAddress, TeamAllocation>;  // by the address of the own part

    // Adds an allocation, which is the only one in `made`. Allocates no memory.
    void add(Allocations& made) noexcept {
        const std::scoped_lock lock(mutex_);
        allocations_.merge(made);
    }

    // The number of the allocation whose own part begins at an address.
    [[nodiscard]] std::optional<std::uint64_t> number_at(GlobalAddress own) const {
        const std::scoped_lock lock(mutex_);
        const auto found = allocations_.find(own);
        if (found == allocations_.end()) return std::nullopt;
        return found->second.number;
    }

    // The address in the part of a member that lies as far behind its beginning as `own` lies behind that of the own part.
    [[nodiscard]] std::optional<GlobalAddress> address(GlobalAddress own,
                                                       std::uint32_t rank) const {
        const std::scoped_lock lock(mutex_);
        auto found = allocations_.upper_bound(own);
        if (found == allocations_.begin()) return std::nullopt;
        --found;
        const std::uint64_t offset = own - found->first;
        if (offset >= found->second.bytes) return std::nullopt;
        return found->second.parts[rank] + offset;
    }

    void remove(GlobalAddress own) noexcept {
        const std::scoped_lock lock(mutex_);
        allocations_.erase(own);
    }

    // Takes all allocations out.
    [[nodiscard]] Allocations take_all() noexcept {
        const std::scoped_lock lock(mutex_);
        return std::exchange(allocations_, {});
    }

private:
    mutable std::mutex mutex_;
    Allocations allocations_;
};

}  // namespace acp::team
