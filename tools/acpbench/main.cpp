// SPDX-License-Identifier: BSD-3-Clause
// acpbench: measures ACP beside the machine's own speed, and draws the report. Finds the experiment
// and runs it. Main thread only.
#include <string_view>

#include "child.hpp"
#include "common/guard.hpp"
#include "experiment.hpp"

namespace acp::bench {

namespace {

constexpr Experiment all[] = {
    {"copy", "acp_copy of 4 B .. 4 MiB in four directions, as paper 000 measured it",
     "acprun -n 3 --starter-size 16M acpbench copy", run_copy},
    {"attach", "registered memory of another process beside process_vm_readv and writev",
     "acprun -n 2 acpbench attach", run_attach},
    {"mailbox", "commands run by their owner's service thread",
     "ACP_INTRANODE=mailbox acprun -n 4 acpbench mailbox", run_mailbox},
    {"atomic", "acp_add8 and acp_cas8 beside the CPU's own atomics, alone and contended",
     "acprun -n 2 acpbench atomic", run_atomic},
    {"sync", "acp_sync at the job's size", "acprun -n 2 acpbench sync", run_sync},
    {"net", "copies, atomics and streams between nodes beside bare datagrams",
     "acprun -n 2 --nodes 2 --starter-size 16M acpbench net", run_net},
    {"flag", "how long a receiver waits that spins on plain loads for a flag",
     "acprun -n 2 acpbench flag", run_flag},
    {"message",
     "messages through channels of 4 B .. 16 MiB, by PM and segmented buffers, to and fro and one "
     "way",
     "acprun -n 2 --starter-size 4M acpbench message", run_message},
    {"rma", "writes and reads of memory that PM messages have locked", "acprun -n 2 acpbench rma",
     run_rma},
    {"ipc",
     "messages to and fro between host and device processes: pipes, queues, sockets, and ACP",
     "acprun -n 2 --heap-size 1G acpbench ipc", run_ipc},
    {"collective", "collective calls of the team of all ranks, 8 B .. 1 MiB for each of them",
     "acprun -n 2 acpbench collective", run_collective},
    {"halo", "the halo exchange of paper 003 by a plan that is started again and again",
     "acprun -n 2 acpbench halo", run_halo},
    {"halo-plan", "all exchanges of paper 003 planned and simulated by every scheduler",
     "acpbench halo-plan", run_halo_plan},
    {"laplace", "LAPLACE of paper 001 on shared pages beside the same loops on private memory",
     "acpbench laplace (or: acprun -n 2 --nodes 2 acpbench laplace)", run_laplace},
    {"dsm", "shared pages: faults, prefetches, first writes and barriers beside gets and acp_sync",
     "acprun -n 2 --nodes 2 acpbench dsm", run_dsm},
    {"dsm-programs", "programs on shared pages beside the same on one process's private memory",
     "acprun -n 2 --nodes 2 acpbench dsm-programs", run_dsm_programs},
    {"stream", "shared pages of another node, read at a steady stride and at random",
     "acprun -n 2 --nodes 2 --heap-size 256M acpbench stream", run_stream},
    {"dsm-cache",
     "a product of matrices of four times the bound of copies beside one without a bound",
     "acprun -n 2 --nodes 2 acpbench dsm-cache", run_dsm_cache},
    {"heap", "acp_malloc and acp_free beside those of the C library, or a get from the same rank",
     "acprun -n 2 acpbench heap", run_heap},
    {"heap-full", "acp_malloc that finds no room, in a heap that is filled to 50 .. 99 %",
     "acprun -n 2 --nodes 2 --heap-size 1G acpbench heap-full", run_heap_full},
    {"map", "1024 inserts and finds of a map on one process or four, as paper 002 measured it",
     "acprun -n 4 acpbench map", run_map},
    {"map-rate", "how many operations on a map all ranks do in a second, by mixes of operations",
     "acprun -n 2 acpbench map-rate", run_map_rate},
    {"list", "calls on lists beside std::list, or a copy of 8 bytes", "acprun -n 2 acpbench list",
     run_list},
    {"vector", "calls on vectors and deques beside those of the C++ library, or a copy of 8 bytes",
     "acprun -n 2 acpbench vector", run_vector},
    {"memory", "memory per rank after acp_init beside the same program without ACP",
     "acpbench memory", run_memory},
    {"start", "from launch to end of a job that only joins and leaves", "acpbench start",
     run_start},
    {"poll", "one look at all incoming commands, idle and loaded, by kind of mailbox",
     "acpbench poll", run_poll},
    {"idle", "CPU that sleeping ranks use", "acprun -n 4 acpbench idle", run_idle},
    {"resolve", "acp_query_address while the owner registers and unregisters other memory",
     "acprun -n 2 acpbench resolve", run_resolve},
};

int run(int argc, char** argv) {
    const Options options = parse_options(argc, argv);
    if (options.experiment == "report") return run_report(options);
    for (const Experiment& experiment : all) {
        if (experiment.name == options.experiment) {
            return experiment.run(Call{options, argc, argv, experiment.usage});
        }
    }
    return 2;
}

// Processes an experiment starts take the short way: their start and size are measured.
int run_or_child(int argc, char** argv) {
    return argc >= 2 && is_child_name(argv[1]) ? run_child(argc, argv) : run(argc, argv);
}

}  // namespace

std::span<const Experiment> experiments() {
    return all;
}

}  // namespace acp::bench

int main(int argc, char** argv) {
    return acp::tool::run_guarded({"acpbench", 1}, acp::bench::run_or_child, argc, argv);
}
