// SPDX-License-Identifier: BSD-3-Clause
// The jobs that `acpbench laplace` starts without acprun: the jobs of paper 001's table, or one job
// that the options describe. Main thread only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "options.hpp"
#include "row.hpp"

namespace acp::bench {

struct LaplaceSize {
    std::size_t width = 0;  // points of a side of the square
    int steps = 0;
    bool is_quick = false;
};

// 2048 and 50, as in the paper; less with --quick.
[[nodiscard]] LaplaceSize laplace_size(const Options& options);

// Whether a launcher started this process.
[[nodiscard]] bool is_in_job();

// Runs 1, 2 and 4 ranks on 1, 2 and 4 nodes, or `options.job_ranks` on `options.job_nodes`, and
// prints their speedups beside those of the paper. Returns the exit code.
int run_laplace_jobs(const Options& options);

// The speedups of all jobs that the rows have, a line each; "" without rows.
[[nodiscard]] std::string laplace_table(const std::vector<Row>& rows);

// Notes in each row how many ranks share a CPU, and prints a sentence, if they are more than one.
void note_crowd(std::vector<Row>& rows);

}  // namespace acp::bench
