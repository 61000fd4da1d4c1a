// SPDX-License-Identifier: BSD-3-Clause
// Long buffers by rounds of the board, a piece in each. A member that shows may be board_depth rounds ahead of those that take.
// For the one thread that is in a call on the team. Tests: tests/conformance/team_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "team/team.hpp"

namespace acp::team {

// The part of the buffers that is moved in a round.
struct RoundPiece {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    RoundNumber round = 0;
};

// Moves `bytes` bytes, at most so many in a round, in one round at least.
//   body(piece)  moves it: false: the team is broken
template <typename Body>
bool by_rounds(Team& team, std::uint64_t bytes, std::uint64_t piece_bytes, const Body& body) {
    std::uint64_t done = 0;
    do {
        const RoundPiece piece{done, std::min(bytes - done, piece_bytes), team.begin_round()};
        if (!body(piece)) return false;
        team.finish(piece.round);
        done += piece.bytes;
    } while (done < bytes);
    return true;
}

}  // namespace acp::team
