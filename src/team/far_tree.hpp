// SPDX-License-Identifier: BSD-3-Clause
// A binomial tree of the nodes of a team. One member speaks for each node: the root for its own
// node, the leader for every other.
// For the one thread that is in a call on the team. Tests: tests/unit/team/collectives_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "team/team.hpp"

namespace acp::team {

class FarTree {
public:
    // Throws std::bad_alloc.
    //   root  a team rank; its node is the root of the tree
    FarTree(Team& team, std::uint32_t root) : team_(team), root_(root) {
        const Membership& members = team.members();
        const std::uint32_t nodes = members.nodes();
        if (speaker() != members.own()) return;
        const std::uint32_t own = (members.own_node() + nodes - members.node_of(root)) % nodes;
        std::uint32_t distance = 1;
        while (distance < nodes && (own & distance) == 0) distance *= 2;
        if (own != 0) parent_.push_back(speaker_of(own - distance));
        for (distance /= 2; distance > 0; distance /= 2) {
            if (own + distance < nodes) children_.push_back(speaker_of(own + distance));
        }
        messages_ = std::vector<FarMessage>(parent_.size() + children_.size());
    }

    // The team rank of the member that speaks for the caller's node.
    [[nodiscard]] std::uint32_t speaker() const noexcept {
        const Membership& members = team_.members();
        return members.own_node() == members.node_of(root_) ? root_
                                                            : members.leader(members.own_node());
    }

    // The functions below do nothing on members that do not speak for their node.

    // Receives from the node above; does nothing at the root.
    bool receive(void* target, std::uint64_t bytes) {
        if (parent_.empty()) return true;
        FarMessage& message = messages_.back();
        return team_.begin_receive(message, parent_.front(), target, bytes) &&
               team_.settle(std::span(&message, 1));
    }

    // Begins sends to the nodes below.
    bool begin_sends(const void* source, std::uint64_t bytes) noexcept {
        for (std::size_t i = 0; i < children_.size(); ++i) {
            if (!team_.begin_send(messages_[i], children_[i], source, bytes)) return false;
        }
        return true;
    }

    bool settle() { return team_.settle(std::span(messages_).first(children_.size())); }

private:
    //   node  counted from the root's node
    [[nodiscard]] std::uint32_t speaker_of(std::uint32_t node) const noexcept {
        const Membership& members = team_.members();
        return node == 0 ? root_
                         : members.leader((node + members.node_of(root_)) % members.nodes());
    }

    Team& team_;
    std::uint32_t root_;
    std::vector<std::uint32_t> parent_;  // empty at the root
    std::vector<std::uint32_t> children_;
    std::vector<FarMessage> messages_;  // to the children, then from the parent
};

}  // namespace acp::team
