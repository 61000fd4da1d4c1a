// SPDX-License-Identifier: BSD-3-Clause
// Moves long buffers in rounds of the board, one piece per round. A publisher may be board_depth
// rounds ahead of its readers.
// For the one thread that is in a call on the team. Tests: tests/unit/team/collectives_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "team/team.hpp"

namespace acp::team {

// The part of the buffers that one round moves.
struct RoundPiece {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    RoundNumber round = 0;
};

// Moves `bytes` bytes in one or more rounds of at most `piece_bytes`.
//   body(piece)  moves a piece; false: the team is broken
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
