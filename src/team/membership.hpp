// SPDX-License-Identifier: BSD-3-Clause
// The members of a team and their nodes: members by team rank, and nodes in the order of their
// first members, which lead them. Pure; immutable; any thread.
// Tests: tests/unit/team/membership_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace acp::team {

// The number of the n-th team that is made from another one. Two teams of a job have the same
// number with a probability of 2^-62.
[[nodiscard]] constexpr std::uint64_t number_of_child(std::uint64_t parent,
                                                      std::uint64_t n) noexcept {
    // The parent is mixed before n is added: otherwise the numbers of the first teams, which are
    // small, would cancel n out.
    return base::mix64(base::mix64(parent) ^ n) >> 1;
}

// A member, as an argument for making a team.
struct TeamMember {
    std::uint32_t process = 0;  // its index in the job
    std::uint32_t node = 0;     // the index of its node in the job
};

class Membership {
public:
    //   members  1 or more, in the order of team ranks; each process once
    //   own      the team rank of the calling process
    Membership(std::span<const TeamMember> members, std::uint32_t own);

    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(processes_.size());
    }

    [[nodiscard]] std::uint32_t own() const noexcept { return own_; }

    [[nodiscard]] std::uint32_t process(std::uint32_t rank) const noexcept {
        return processes_[rank];
    }

    // Indexed by team rank.
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

    // The team ranks of a node's members, ascending.
    [[nodiscard]] std::span<const std::uint32_t> on_node(std::uint32_t node) const noexcept {
        return nodes_[node];
    }

    [[nodiscard]] std::uint32_t leader(std::uint32_t node) const noexcept {
        return nodes_[node].front();
    }

    // The team ranks of the members on the caller's node, itself included.
    [[nodiscard]] std::span<const std::uint32_t> near() const noexcept {
        return nodes_[own_node()];
    }

    // The caller's index in near().
    [[nodiscard]] std::uint32_t own_place() const noexcept { return place_of_[own_]; }

    // The index of a member in on_node() of its node.
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
