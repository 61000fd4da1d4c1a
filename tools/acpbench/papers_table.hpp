// SPDX-License-Identifier: BSD-3-Clause
// The table of `acpbench report --papers`: each figure that a paper states beside the row that
// measures the same thing here. Knows nothing of how rows came to be. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "row.hpp"

namespace acp::bench {

// One line for each row that has a paper's figure, in the order of the rows: what was measured, the
// paper's figure with its place in the paper, ours in the same unit, and how many times better ours
// is. Empty where no row has one.
[[nodiscard]] std::string papers_table(const std::vector<Row>& rows);

}  // namespace acp::bench
