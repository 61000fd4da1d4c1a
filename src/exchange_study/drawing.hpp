// SPDX-License-Identifier: BSD-3-Clause
// Draws a plan as paper 003 does, as text and as SVG: one column per engine, time upward, a
// rectangle per piece, whose colour is the direction. Knows no scheduler: the caller supplies
// times. Pure; any thread.
// Tests: tests/unit/exchange_study/drawing_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exchange/engine_queues.hpp"

namespace acp::exchange_study {

struct DrawnPiece {
    unsigned engine = 0;
    exchange::QueuedPiece piece;
    double begin_us = 0;
    double end_us = 0;
};

// The pieces with their times in the simulated network.
[[nodiscard]] std::vector<DrawnPiece> drawn(const exchange::NodeProblem& problem,
                                            const exchange::EngineQueues& queues);

// The pieces with one rate for all, without sharing, as a scheduler assumes.
//   begin_us  begin of each message, by index (BottomLeft::begin_us); empty: a piece begins when
//             the one before it ends
[[nodiscard]] std::vector<DrawnPiece> drawn_at(double rate,
                                               const exchange::EngineQueues& queues,
                                               const std::vector<double>& begin_us = {});

// A line per engine: "engine 0: E 224256 0.00-44.85, N 112128 44.85-67.28".
[[nodiscard]] std::string drawing_text(const exchange::NodeProblem& problem,
                                       const std::vector<DrawnPiece>& pieces);

// A whole SVG document. Lines and letters have the colour of the surrounding text.
//   top_us  the least end of the time axis, so that drawings beside each other have one scale
[[nodiscard]] std::string drawing_svg(const exchange::NodeProblem& problem,
                                      const std::vector<DrawnPiece>& pieces,
                                      std::string_view title,
                                      double top_us = 0);

}  // namespace acp::exchange_study
