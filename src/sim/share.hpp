// SPDX-License-Identifier: BSD-3-Clause
// Experiments on the modelled link: the share of a sender beside TCP CUBIC on shallow and deep
// queues, the losses of a single sender on a queue of four packets, and the time until a sender
// fills a path that has become longer. The result is a table of measured values and their bounds.
// Knows no command line. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/datagram_modes.hpp"

namespace acp::sim {

struct ShareRow {
    std::string path;  // describes the link
    std::string what;  // what was measured
    double seen = 0;
    double least = 0;  // lower bound of `seen`
    double most = 0;   // upper bound of `seen`

    [[nodiscard]] bool is_good() const noexcept { return seen >= least && seen <= most; }
};

[[nodiscard]] std::vector<ShareRow> run_share(base::CongestionAlgorithm control);

}  // namespace acp::sim
