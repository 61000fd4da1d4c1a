// SPDX-License-Identifier: BSD-3-Clause
// Broadcast: between nodes down a binomial tree whose nodes are spoken for by their leaders, and the root's by the root; on each node
// through the board, while what goes to other nodes is on its way.
#include <algorithm>
#include <bit>
#include <cstring>

#include "team/collectives.hpp"
#include "team/far_tree.hpp"

namespace acp::team {

bool near_broadcast(Team& team, char* buffer, std::uint64_t bytes, std::uint32_t from) {
    const Membership& members = team.members();
    if (members.near().size() == 1) return true;
    std::uint64_t done = 0;
    do {
        const std::uint64_t now = std::min(bytes - done, board_chunk_bytes);
        const RoundNumber round = team.begin_round();
        if (members.own_place() == from) {
            char* const room = team.room(round, now);
            if (room == nullptr) return false;
            if (now != 0) std::memcpy(room, buffer + done, now);
            team.publish(round);
        } else {
            if (!team.read_to(from, round, buffer + done, now, members.near().size() == 2))
                return false;
        }
        team.finish(round);
        done += now;
    } while (done < bytes);
    return true;
}

bool broadcast(Team& team, char* buffer, std::uint64_t bytes, std::uint32_t root) {
    const Membership& members = team.members();
    if (members.size() == 1) return true;
    FarTree tree(team, root);
    const std::uint64_t segment = segment_bytes(1);
    std::uint64_t done = 0;
    do {
        const std::uint64_t now = std::min(bytes - done, segment);
        char* const part = buffer + done;
        if (!tree.receive(part, now) || !tree.begin_sends(part, now)) return false;
        if (!near_broadcast(team, part, now, members.place_of(tree.speaker()))) return false;
        if (!tree.settle()) return false;
        done += now;
    } while (done < bytes);
    return true;
}

}  // namespace acp::team
