// SPDX-License-Identifier: BSD-3-Clause
// The halo exchanges that paper 003 measures (its Table 1): grids of k x 16 x 16 points of 8 bytes
// with a halo of 2 on a torus of two dimensions, the first to the east, the second to the north.
// Constants; any thread.
// Tests: tests/unit/exchange_study/paper_patterns_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "exchange/node_problem.hpp"

namespace acp::exchange_study {

// East and west (2 messages); north and south (4); these four directions (6); diagonals (8); all
// eight directions (14).
enum class PaperPattern : std::uint8_t { east_west, north_south, four, diagonal, eight };

inline constexpr std::array<PaperPattern, 5> paper_patterns = {
    PaperPattern::east_west, PaperPattern::north_south, PaperPattern::four, PaperPattern::diagonal,
    PaperPattern::eight};

// Points of the grid in the third dimension.
inline constexpr std::array<std::uint32_t, 11> paper_grid_sizes = {60,  70,  80,  109, 218, 327,
                                                                   436, 545, 654, 763, 872};

[[nodiscard]] std::string_view name_of(PaperPattern pattern);  // "EW", "NS", "4", "DG", "8"

// Bytes of a message to the east, to the north, and along a diagonal.
struct PaperSizes {
    std::uint64_t east = 0;
    std::uint64_t north = 0;
    std::uint64_t diagonal = 0;
};

[[nodiscard]] PaperSizes paper_sizes(std::uint32_t grid_size);

// The messages in the order in which the paper's program issues them: with eight directions the
// diagonals first, and two messages of the same direction together.
[[nodiscard]] std::vector<exchange::OffsetMessage> paper_messages(PaperPattern pattern,
                                                                  std::uint32_t grid_size);

// These messages as a problem, on a torus of 6 x 8 nodes with the fitted rates, or on a
// two-dimensional torus with other rates.
[[nodiscard]] exchange::NodeProblem paper_problem(PaperPattern pattern, std::uint32_t grid_size);
[[nodiscard]] exchange::NodeProblem paper_problem(PaperPattern pattern,
                                                  std::uint32_t grid_size,
                                                  const exchange::NodeRates& node,
                                                  double link_rate);

}  // namespace acp::exchange_study
