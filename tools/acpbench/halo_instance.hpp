// SPDX-License-Identifier: BSD-3-Clause
// The exchanges of paper 003 as `halo-plan` plans them and the report page draws them. Values; any
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "exchange_study/paper_patterns.hpp"

namespace acp::bench {

// The paper's figures 13 and 14: with short messages each engine begins about this much later than
// the engine before it.
inline constexpr double halo_stair_us = 1;
// the number of the paper's smallest grids that these figures show
inline constexpr std::size_t halo_stair_sizes = 6;

struct HaloInstance {
    exchange_study::PaperPattern pattern = exchange_study::PaperPattern::eight;
    std::uint32_t grid_size = 0;  // k of Table 1
    bool has_stairs = false;

    [[nodiscard]] exchange::NodeProblem problem() const;
    [[nodiscard]] std::string name() const;
};

[[nodiscard]] std::string directions_of(exchange_study::PaperPattern pattern);

}  // namespace acp::bench
