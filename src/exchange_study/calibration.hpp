// SPDX-License-Identifier: BSD-3-Clause
// Fits the rates and costs of a network model to measured exchanges, whose queues and times are
// known. Exchanges in which all nodes of a torus send the same messages are simulated for one node;
// others on the whole network. The fit starts from several first guesses, because the error has no
// slope for a number that is no bottleneck in a guess. If several solutions explain the times
// equally well, the fit takes the one nearest to the first numbers. Pure; any thread.
// Source: docs/guide/exchange.md.
// Tests: tests/unit/exchange_study/calibration_test.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "exchange/engine_queues.hpp"

#include "exchange_study/fluid.hpp"
#include "exchange_study/rate_fit.hpp"

namespace acp::exchange_study {

struct MeasuredExchange {
    std::string name;  // messages about failures contain it
    // one node's, on the first model, if all nodes send the same
    std::optional<exchange::NodeProblem> problem;
    exchange::EngineQueues queues;   // the queues of that node
    std::vector<FluidQueue> copies;  // the queues of all nodes, if there is no problem
    std::vector<double> seen_us;     // the time of each measurement
};

struct Calibration {
    exchange::NetworkModel model;
    std::vector<double> predicted_us;  // one for each exchange
    double error = 0;                  // see RateFit::error
    std::array<bool, fitted_rates> is_determined{};
};

// Errors: argument (no measurement; an impossible time or copy), limit.
//   first  numbers of the right order of magnitude; its engines, stairs and loss are kept
[[nodiscard]] base::Result<Calibration> calibrate(const exchange::NetworkModel& first,
                                                  std::span<const MeasuredExchange> measured);

}  // namespace acp::exchange_study
