// SPDX-License-Identifier: BSD-3-Clause
// Chooses the rail of each piece, where nodes send different messages and a piece is received by
// the rail that sends it. Neither end can choose alone: rails with equal loads at the source may
// have unequal loads at the target, and vice versa. So each planner sees the pieces of all nodes,
// and all planners make the same choice. Pure; any thread.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/rail_choice_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exchange/network_model.hpp"

namespace acp::exchange {

// A piece with the rail that its source would choose.
struct OfferedPiece {
    ModelNode from = 0;
    ModelNode to = 0;
    std::uint64_t bytes = 0;
    std::uint32_t rail = 0;
};

// The rail of each piece. The sources' choices are kept if no rail of a node has much more to send
// or receive than in the best choice found. Otherwise longest first: each piece to the rail with
// the least load at the busier of its two ends.
//   pieces  of all nodes; from and to are less than nodes, rail less than rails
//   rails   >= 1
[[nodiscard]] std::vector<std::uint32_t> choose_rails(std::span<const OfferedPiece> pieces,
                                                      std::uint32_t nodes,
                                                      std::uint32_t rails);

}  // namespace acp::exchange
