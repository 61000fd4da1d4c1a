// SPDX-License-Identifier: BSD-3-Clause
// Who is in a team, and on which node: members by team rank, and nodes by the team rank of their first member, which leads them. Pure;
// never changed; any thread.
// Tests: tests/unit/team/membership_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace acp::team {

// The number of the n-th team that is made of another one. Two teams of a job have the same by chance alone: 2^-62 for each two.
[[nodiscard]] constexpr std::uint64_t number_of_child(std::uint64_t parent,
                                                      std::uint64_t n) noexcept {
    // Mixed before n comes in too: else the numbers of the first teams, which are small, cancel it out.
    return base::mix64(base::mix64(parent) ^ n) >> 1;
}

// A member as a team is made of it.
struct TeamMember {
    std::uint32_t process = 0;  // its index in the job
    std::uint32_t node = 0;     // the index in the job of the node it is on
};

class Membership {
public:
    //   members  1 or more, by team rank; every process once
    //   own      the team rank of the calling process
    Membership(std::span<const TeamMember> members, std::uint32_t own);

    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(processes_.size());
    }

    [[nodiscard]] std::uint32_t own() const noexcept { return own_; }

    [[nodiscard]] std::uint32_t process(std::uint32_t rank) const noexcept {
        return processes_[rank];
    }

    // By team rank.
    [[nodiscard]] std::span<const std::uint32_t> processes() const noexcept { return processes_; }

    // The team rank of a process.
    [[nodiscard]] std::optional<std::uint32_t> rank_of(std::uint32_t process) const noexcept;

    [[nodiscard]] std::uint32_t nodes() const noexcept {
        return static_cast<std::uint32_t>(nodes_.size());
    }

    // The number in the team of a member's node.
    [[nodiscard]] std::uint32_t node_of(std::uint32_t rank) const noexcept {
        return node_of_[rank];
    }

    [[nodiscard]] std::uint32_t own_node() const noexcept { return node_of_[own_]; }

    // The team ranks of a node's members, rising.
    [[nodiscard]] std::span<const std::uint32_t> on_node(std::uint32_t node) const noexcept {
        return nodes_[node];
    }

    [[nodiscard]] std::uint32_t leader(std::uint32_t node) const noexcept {
        return nodes_[node].front();
    }

    // Those on the node of the caller, itself included.
    [[nodiscard]] std::span<const std::uint32_t> near() const noexcept {
        return nodes_[own_node()];
    }

    // The caller's place among near().
    [[nodiscard]] std::uint32_t own_place() const noexcept { return place_of_[own_]; }

    // The place of a member among those of its node.
    [[nodiscard]] std::uint32_t place_of(std::uint32_t rank) const noexcept {
        return place_of_[rank];
    }

    [[nodiscard]] bool is_leader() const noexcept { return own_place() == 0; }

private:
    std::vector<std::uint32_t> processes_;
    std::vector<std::uint32_t> node_of_;
    std::vector<std::uint32_t> place_of_;
    std::vector<std::vector<std::uint32_t>> nodes_;
    std::uint32_t own_;
};

}  // namespace acp::team
