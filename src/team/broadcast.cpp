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

namespace {

// Broadcasts a buffer in segments. A member receives the next segments from the node above while it
// passes on the one that has come.
class Broadcast {
public:
    Broadcast(Team& team, char* buffer, std::uint64_t bytes, std::uint32_t root)
        : team_(team), tree_(team, root), buffer_(buffer), bytes_(bytes) {}

    bool run() {
        const std::uint64_t count = std::max<std::uint64_t>(1, (bytes_ + segment - 1) / segment);
        std::uint64_t begun = 0;
        for (std::uint64_t number = 0; number < count; ++number) {
            for (; begun < count && begun < number + FarTree::in_flight; ++begun) {
                if (!tree_.begin_receive(begun, at(begun), bytes_of(begun))) return false;
            }
            if (!tree_.receive(number) ||
                !tree_.begin_sends(number, at(number), bytes_of(number)) ||
                !near_broadcast(team_, at(number), bytes_of(number),
                                team_.members().place_of(tree_.speaker())))
                return false;
        }
        return tree_.settle();
    }

private:
    static constexpr std::uint64_t segment = segment_bytes(1);

    [[nodiscard]] char* at(std::uint64_t number) const noexcept {
        return buffer_ + number * segment;
    }

    [[nodiscard]] std::uint64_t bytes_of(std::uint64_t number) const noexcept {
        return std::min(bytes_ - number * segment, segment);
    }

    Team& team_;
    FarTree tree_;
    char* buffer_;
    std::uint64_t bytes_;
};

}  // namespace

bool broadcast(Team& team, char* buffer, std::uint64_t bytes, std::uint32_t root) {
    return team.members().size() == 1 || Broadcast(team, buffer, bytes, root).run();
}

}  // namespace acp::team
