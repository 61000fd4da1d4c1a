// SPDX-License-Identifier: BSD-3-Clause
// Fits the rates and costs of a network model to exchanges that were measured: what each of them did is known, queue by queue, and how long
// it took. Exchanges in which all nodes of a torus send the same are simulated for one node; others on the whole network. The
// fit begins from several first guesses, for what is no bottleneck of a guess has no slope there; of what explains the times equally well
// it takes what is nearer to the first numbers. Pure; any thread.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/calibration_test.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "exchange/engine_queues.hpp"
#include "exchange/fluid.hpp"
#include "exchange/rate_fit.hpp"

namespace acp::exchange {

struct MeasuredExchange {
    std::string name;                    // for people
    std::optional<NodeProblem> problem;  // of one node of the first model, where all send the same
    EngineQueues queues;                 // its engines'
    std::vector<FluidQueue> copies;      // else: the queues of all nodes
    std::vector<double> seen_us;         // each time that it was measured
};

struct Calibration {
    NetworkModel model;
    std::vector<double> predicted_us;  // of each exchange
    double error = 0;                  // as RateFit::error
    std::array<bool, fitted_rates> is_determined{};
};

//   first  with numbers of the right order of magnitude; its engines, stairs and loss stay
// Errors: argument (nothing was measured; a time or a copy that cannot be), limit.
[[nodiscard]] base::Result<Calibration> calibrate(const NetworkModel& first,
                                                  std::span<const MeasuredExchange> measured);

}  // namespace acp::exchange
