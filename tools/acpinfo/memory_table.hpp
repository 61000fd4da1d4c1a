// SPDX-License-Identifier: BSD-3-Clause
// The memory a job would take, as a table for people and as JSON: node/footprint.hpp and
// engine/footprint.hpp per rank. Knows no machine: the job need not fit on this one. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/config.hpp"
#include "base/status.hpp"
#include "node/control.hpp"

#include "common/json.hpp"

namespace acp::acpinfo {

// The fullest node of a job.
//   procs           ranks of the job, 1 .. 2^20
//   procs_per_node  1 .. 1024, or 1023 where that takes several nodes; more than procs counts as
//                   procs
// Errors: argument, with the value and what fits.
[[nodiscard]] base::Result<node::Shape> shape_of_job(std::uint64_t procs,
                                                     std::uint64_t procs_per_node,
                                                     const base::Config& config);

//   rails  networks between the nodes (ACP_RAILS), 1 or more
[[nodiscard]] std::string memory_text(const node::Shape& shape, std::uint32_t rails);

[[nodiscard]] tool::Json memory_json(const node::Shape& shape, std::uint32_t rails);

}  // namespace acp::acpinfo
