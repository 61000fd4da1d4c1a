// SPDX-License-Identifier: BSD-3-Clause
// The machines that a batch system has allocated to the job in which acprun was started, and the
// number of ranks for each. Slurm, PBS and LSF give these in variables and files. Starts nothing.
// One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"

#include "placement.hpp"

namespace acp::run {

struct Allocation {
    std::vector<HostSlots> hosts;  // at least one; this machine has its own name
    std::string source;            // "Slurm job 17 (SLURM_JOB_NODELIST=n[1-2])", for messages
    // what runs a command on one of the hosts and carries its standard streams, in the form of
    // PlannedJob::ssh; "" = the batch system has no such command
    std::string command;
};

// "n[01-03,7]-ib,login" gives n01-ib, n02-ib, n03-ib, n7-ib, login. Errors: argument (the message
// has the list).
base::Result<std::vector<std::string>> hosts_from_node_list(std::string_view list);

// "4(x2),3" gives 4, 4, 3: tasks per node in Slurm's notation. nullopt when it does not parse.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> counts_from(std::string_view text);

// An empty optional: no batch system was found. Errors: argument (the batch system's values are not
// understood), system (a file that it names cannot be read).
//   host_name  the name of this machine
base::Result<std::optional<Allocation>> find_allocation(const base::Environment& environment,
                                                        const std::string& host_name);

}  // namespace acp::run
