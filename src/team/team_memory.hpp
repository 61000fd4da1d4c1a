// SPDX-License-Identifier: BSD-3-Clause
// The memory that the members of a team have allocated together: for each allocation, the address
// of each member's part. A member finds the address of another member's part by that of its own, so
// the members exchange no addresses after the allocation. Knows no heap and no team. Any thread.
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
    std::uint64_t number = 0;  // number of earlier allocations of the team; the same on all members
    std::uint64_t bytes = 0;   // size of each part
    std::vector<GlobalAddress> parts;  // address of each member's part, by team rank
};

class TeamMemory {
public:
    // key: the address of the own part
    using Allocations = std::map<GlobalAddress, TeamAllocation>;

    // Moves the only allocation in `made` into this. Allocates no memory.
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

    // The address in a member's part at the same offset as `own` in the own part.
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

    // Removes all allocations and returns them.
    [[nodiscard]] Allocations take_all() noexcept {
        const std::scoped_lock lock(mutex_);
        return std::exchange(allocations_, {});
    }

private:
    mutable std::mutex mutex_;
    Allocations allocations_;
};

}  // namespace acp::team
