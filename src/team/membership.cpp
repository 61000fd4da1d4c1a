// SPDX-License-Identifier: BSD-3-Clause
// Sorts members by node.
#include "team/membership.hpp"

#include <algorithm>
#include <map>

namespace acp::team {

Membership::Membership(std::span<const TeamMember> members, std::uint32_t own) : own_(own) {
    // job's node index -> number of the node in this team
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (const TeamMember& member : members) {
        const auto rank = static_cast<std::uint32_t>(processes_.size());
        const auto [found, is_new] =
            numbers.try_emplace(member.node, static_cast<std::uint32_t>(nodes_.size()));
        if (is_new) nodes_.emplace_back();
        std::vector<std::uint32_t>& node = nodes_[found->second];
        processes_.push_back(member.process);
        node_of_.push_back(found->second);
        place_of_.push_back(static_cast<std::uint32_t>(node.size()));
        node.push_back(rank);
    }
}

std::optional<std::uint32_t> Membership::rank_of(std::uint32_t process) const noexcept {
    const auto found = std::find(processes_.begin(), processes_.end(), process);
    if (found == processes_.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - processes_.begin());
}

}  // namespace acp::team
