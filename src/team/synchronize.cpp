// SPDX-License-Identifier: BSD-3-Clause
// The barrier. In a small team on one node each member reads the arrival of every other. Else
// members publish their arrival to the leader of their node, the leaders of all nodes run a
// dissemination barrier, and each leader then releases its node. In a step of the dissemination, a
// leader sends a message to the leader `distance` nodes ahead and receives one from the leader as
// far behind; then the distance doubles.
#include "team/collectives.hpp"

namespace acp::team {

namespace {

bool is_flat(const Membership& members) noexcept {
    return members.nodes() == 1 && members.size() <= flat_members_max;
}

bool read_all(Team& team, RoundNumber round) {
    const Membership& members = team.members();
    const auto count = static_cast<std::uint32_t>(members.near().size());
    for (std::uint32_t place = 0; place < count; ++place) {
        if (place != members.own_place() && team.read(place, round, 0) == nullptr) return false;
    }
    team.note_all_came(round);
    return true;
}

bool meet_leaders(Team& team, PendingSync& sync) {
    const Membership& members = team.members();
    const std::uint32_t nodes = members.nodes();
    for (; sync.distance < nodes; sync.distance *= 2) {
        if (sync.messages.empty()) {
            sync.messages = std::vector<FarMessage>(2);
            const std::uint32_t own = members.own_node();
            const std::uint32_t next = (own + sync.distance) % nodes;
            const std::uint32_t previous = (own + nodes - sync.distance) % nodes;
            if (!team.begin_send(sync.messages[0], members.leader(next), nullptr, 0)) return false;
            if (!team.begin_receive(sync.messages[1], members.leader(previous), nullptr, 0))
                return false;
        }
        if (!team.settle(sync.messages)) return false;
        sync.messages.clear();
    }
    return true;
}

bool go_on(Team& team, PendingSync& sync) {
    if (!sync.is_arrived) {
        if (team.room(sync.arrival, 0) == nullptr) return false;
        team.publish(sync.arrival);
        sync.is_arrived = true;
    }
    const Membership& members = team.members();
    if (is_flat(members)) return read_all(team, sync.arrival);
    if (!members.is_leader()) return team.read_release(sync.arrival, sync.release) != nullptr;
    if (!read_all(team, sync.arrival) || !meet_leaders(team, sync)) return false;
    if (team.room(sync.release, 0) == nullptr) return false;
    team.publish(sync.release);
    return true;
}

}  // namespace

bool synchronize(Team& team) {
    if (team.members().size() == 1) return true;
    PendingSync& sync = team.pending_sync();
    if (!sync.is_begun) {
        sync.is_begun = true;
        sync.is_arrived = false;
        sync.distance = 1;
        sync.arrival = team.begin_round();
        sync.release = is_flat(team.members()) ? sync.arrival : team.begin_round();
    }
    if (!go_on(team, sync)) return false;
    team.finish(sync.release);
    sync.is_begun = false;
    return true;
}

}  // namespace acp::team
