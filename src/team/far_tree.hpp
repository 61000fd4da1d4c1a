// SPDX-License-Identifier: BSD-3-Clause
// A binomial tree of the nodes of a team. One member speaks for each node: the root for its own
// node, the leader for every other. Data are passed down the tree in segments, some of which are in
// flight at once on each edge.
// For the one thread that is in a call on the team. Tests: tests/unit/team/collectives_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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
        received_ = std::vector<FarMessage>(parent_.size() * in_flight);
        sent_ = std::vector<FarMessage>(children_.size() * in_flight);
    }

    // How many segments may be in flight on an edge.
    static constexpr std::uint64_t in_flight = 4;

    // The team rank of the member that speaks for the caller's node.
    [[nodiscard]] std::uint32_t speaker() const noexcept {
        const Membership& members = team_.members();
        return members.own_node() == members.node_of(root_) ? root_
                                                            : members.leader(members.own_node());
    }

    // The functions below do nothing on members that do not speak for their node.

    // Begins to receive segment `number` from the node above. Segment number - in_flight has been
    // received.
    bool begin_receive(std::uint64_t number, void* target, std::uint64_t bytes) noexcept {
        return parent_.empty() ||
               team_.begin_receive(received_[number % in_flight], parent_.front(), target, bytes);
    }

    // Waits until segment `number` has been received.
    bool receive(std::uint64_t number) {
        return parent_.empty() || team_.settle(std::span(&received_[number % in_flight], 1));
    }

    // Begins to send segment `number` to the nodes below, after segment number - in_flight has
    // arrived there.
    bool begin_sends(std::uint64_t number, const void* source, std::uint64_t bytes) {
        const std::span<FarMessage> messages = sends_of(number);
        if (number >= in_flight && !team_.settle(messages)) return false;
        for (std::size_t i = 0; i < children_.size(); ++i) {
            if (!team_.begin_send(messages[i], children_[i], source, bytes)) return false;
        }
        return true;
    }

    // Waits until all segments have arrived at the nodes below.
    bool settle() { return team_.settle(sent_); }

private:
    [[nodiscard]] std::span<FarMessage> sends_of(std::uint64_t number) noexcept {
        return std::span(sent_).subspan(number % in_flight * children_.size(), children_.size());
    }

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
    // The messages of the segments in flight: from the parent; to each child, segment by segment.
    std::vector<FarMessage> received_;
    std::vector<FarMessage> sent_;
};

}  // namespace acp::team
