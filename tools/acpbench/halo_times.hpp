// SPDX-License-Identifier: BSD-3-Clause
// The times of the experiment `halo`: of one rank's exchanges, of those with a computation between
// start and wait, and of those by all rails and by one. All ranks make each call together, with the
// same numbers; rank 0 looks at the times. Each rank's main thread.
#pragma once

#include <cstdint>
#include <vector>

#include "halo_exchange.hpp"

namespace acp::bench {

// The times of one exchange: one value for each round.
struct HaloTimes {
    std::vector<double> exchange_ns;
    std::vector<double> start_ns;
    std::vector<double> yardstick_ns;
};

// By the plan for all rails, and by that for one.
struct RailTimes {
    std::vector<double> all_ns;
    std::vector<double> one_ns;
};

struct OverlapTimes {
    std::vector<double> exchange_ns;
    std::vector<double> compute_ns;
    std::vector<double> both_ns;
};

// Measures one step of the computation of measure_overlap() while no exchange runs.
double time_of_step_ns();

//   count  exchanges in each round
HaloTimes measure_exchange(HaloExchange& halo,
                           bool is_one_node,
                           std::uint64_t rounds,
                           std::uint64_t count);

//   steps  of the computation, on this rank
OverlapTimes measure_overlap(HaloExchange& halo,
                             std::uint64_t rounds,
                             std::uint64_t count,
                             std::uint64_t steps);

// Where several rails connect the nodes.
RailTimes measure_rails(HaloExchange& halo, std::uint64_t rounds, std::uint64_t count);

}  // namespace acp::bench
