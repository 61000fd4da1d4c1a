// SPDX-License-Identifier: BSD-3-Clause
// Names and problems of the exchanges of paper 003. Any thread.
#include "halo_instance.hpp"

#include "exchange/network_presets.hpp"

namespace acp::bench {

exchange::NodeProblem HaloInstance::problem() const {
    exchange::NodeRates rates;
    rates.stair_us = has_stairs ? halo_stair_us : 0;
    return exchange_study::paper_problem(pattern, grid_size, rates, exchange::tofu_link_rate);
}

std::string HaloInstance::name() const {
    const std::string text = directions_of(pattern);
    return has_stairs ? text + ", engines 1 us apart" : text;
}

std::string directions_of(exchange_study::PaperPattern pattern) {
    switch (pattern) {
        case exchange_study::PaperPattern::east_west:
            return "east and west";
        case exchange_study::PaperPattern::north_south:
            return "north and south";
        case exchange_study::PaperPattern::four:
            return "four directions";
        case exchange_study::PaperPattern::diagonal:
            return "diagonals";
        case exchange_study::PaperPattern::eight:
            break;
    }
    return "eight directions";
}

}  // namespace acp::bench
