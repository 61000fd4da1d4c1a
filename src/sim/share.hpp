// SPDX-License-Identifier: BSD-3-Clause
// What a sender gets beside TCP CUBIC on shallow and deep queues, what it loses alone on a queue of four packets, and
// how soon it uses a path that became longer: a table of what was seen and its bounds. Knows no command line. One
// thread.
#pragma once

#include <string>
#include <vector>

#include "base/datagram_modes.hpp"

namespace acp::sim {

struct ShareRow {
    std::string path;
    std::string what;
    double seen = 0;
    double least = 0;
    double most = 0;

    [[nodiscard]] bool is_good() const noexcept { return seen >= least && seen <= most; }
};

[[nodiscard]] std::vector<ShareRow> run_share(base::CongestionAlgorithm control);

}  // namespace acp::sim
