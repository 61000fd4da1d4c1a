// SPDX-License-Identifier: BSD-3-Clause
// Which rail carries which piece, where nodes send different things and a piece is received by the rail that sends it. Then neither end can
// choose alone: what the source has evened out is uneven at the target, and the other way round. So whoever plans sees the pieces of all, and
// all come to the same choice. Pure; any thread.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/rail_choice_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exchange/network_model.hpp"

namespace acp::exchange {

// As its source would send it.
struct OfferedPiece {
    ModelNode from = 0;
    ModelNode to = 0;
    std::uint64_t bytes = 0;
    std::uint32_t rail = 0;
};

// The rail of each piece. Those that the sources have chosen, where by them no rail of a node has much more to send or receive than by the
// best choice that was found; else longest first, each piece to the rail that has least to do at that one of its two ends that has more.
//   pieces  of all nodes; from and to are less than nodes, rail less than rails
//   rails   >= 1
[[nodiscard]] std::vector<std::uint32_t> choose_rails(std::span<const OfferedPiece> pieces,
                                                      std::uint32_t nodes,
                                                      std::uint32_t rails);

}  // namespace acp::exchange
