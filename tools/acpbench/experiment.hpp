// SPDX-License-Identifier: BSD-3-Clause
// The list of experiments: one function each, one file each. An experiment that needs ranks joins
// the job itself and runs on every rank; one that starts jobs runs alone. Main thread only.
#pragma once

#include <span>
#include <string_view>

#include "options.hpp"

namespace acp::bench {

// The arguments of an experiment.
struct Call {
    const Options& options;
    int& argc;  // passed on to acp_init
    char**& argv;
    std::string_view usage;  // of the experiment, to be shown where ranks are missing
};

struct Experiment {
    std::string_view name;
    std::string_view summary;
    std::string_view usage;
    int (*run)(const Call& call);  // the exit code
};

[[nodiscard]] std::span<const Experiment> experiments();

int run_copy(const Call& call);
int run_copy_fine(const Call& call);
int run_copy_modes(const Call& call);
int run_attach(const Call& call);
int run_mailbox(const Call& call);
int run_message(const Call& call);
int run_rma(const Call& call);
int run_ipc(const Call& call);
int run_collective(const Call& call);
int run_halo(const Call& call);
int run_halo_plan(const Call& call);
int run_atomic(const Call& call);
int run_sync(const Call& call);
int run_net(const Call& call);
int run_flag(const Call& call);
int run_laplace(const Call& call);
int run_dsm(const Call& call);
int run_dsm_programs(const Call& call);
int run_stream(const Call& call);
int run_dsm_cache(const Call& call);
int run_heap(const Call& call);
int run_heap_full(const Call& call);
int run_map(const Call& call);
int run_map_rate(const Call& call);
int run_list(const Call& call);
int run_vector(const Call& call);
int run_memory(const Call& call);
int run_start(const Call& call);
int run_poll(const Call& call);
int run_idle(const Call& call);
int run_resolve(const Call& call);
int run_report(const Options& options);

}  // namespace acp::bench
