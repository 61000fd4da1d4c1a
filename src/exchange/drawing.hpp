// SPDX-License-Identifier: BSD-3-Clause
// A plan drawn as paper 003 draws it: one column per engine, time upward, a rectangle per piece, its colour the direction; as text
// and as SVG. Knows no scheduler: it is given times. Pure; any thread.
// Tests: tests/unit/exchange/drawing_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exchange/engine_queues.hpp"

namespace acp::exchange {

struct DrawnPiece {
    unsigned engine = 0;
    QueuedPiece piece;
    double begin_us = 0;
    double end_us = 0;
};

// The pieces as they go through the network, by the simulation.
[[nodiscard]] std::vector<DrawnPiece> drawn(const NodeProblem& problem, const EngineQueues& queues);

// The pieces at one rate for all, whatever they share, as a scheduler sees them before it runs.
//   begin_us  when each message begins, by its index (BottomLeft::begin_us); empty: each piece when the one before it ends
[[nodiscard]] std::vector<DrawnPiece> drawn_at(double rate,
                                               const EngineQueues& queues,
                                               const std::vector<double>& begin_us = {});

// A line per engine: "engine 0: E 224256 0.00-44.85, N 112128 44.85-67.28".
[[nodiscard]] std::string drawing_text(const NodeProblem& problem,
                                       const std::vector<DrawnPiece>& pieces);

// A whole SVG document. Lines and letters have the colour of the text around it.
//   top_us  where the axis of time ends, if no piece ends later: drawings beside each other have one scale
[[nodiscard]] std::string drawing_svg(const NodeProblem& problem,
                                      const std::vector<DrawnPiece>& pieces,
                                      std::string_view title,
                                      double top_us = 0);

}  // namespace acp::exchange
