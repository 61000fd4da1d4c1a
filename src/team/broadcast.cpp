// SPDX-License-Identifier: BSD-3-Clause
// Broadcast. Between nodes: a binomial tree of one member per node, the root on its own node and
// the leader on every other. On each node: through the board, while messages to other nodes are in
// flight.
#include <algorithm>
#include <cstring>

#include "team/collectives.hpp"
#include "team/far_tree.hpp"
#include "team/rounds.hpp"

namespace acp::team {

bool near_broadcast(Team& team, char* buffer, std::uint64_t bytes, std::uint32_t from) {
    const Membership& members = team.members();
    if (members.near().size() == 1) return true;
    const bool is_alone = members.near().size() == 2;
    return by_rounds(team, bytes, board_chunk_bytes, [&](const RoundPiece& piece) {
        char* const part = buffer + piece.begin;
        if (members.own_place() != from)
            return team.read_to(from, piece.round, part, piece.bytes, is_alone);
        char* const room = team.room(piece.round, piece.bytes);
        if (room == nullptr) return false;
        copy(room, part, piece.bytes);
        team.publish(piece.round);
        return true;
    });
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
