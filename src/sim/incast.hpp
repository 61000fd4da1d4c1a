// SPDX-License-Identifier: BSD-3-Clause
// Two experiments. Incast: many nodes copy to one node. Measured: whether its socket overflows
// after the warm-up, and how fairly the senders share its link. Silent nodes: in a job of many
// nodes one copies and most are silent. Measured: whether the copying node gets the whole link.
// Knows no command line. One run, one thread.
#pragma once

#include <string>
#include <vector>

#include "sim/world.hpp"

namespace acp::sim {

struct IncastOptions {
    std::uint64_t seed = 0;
    NodeId senders = 16;
    NodeId silent_nodes = 0;  // further nodes of the job, which send nothing
    Time duration_ns = 1 * s;
    Time warm_up_ns = 200 * ms;               // the first part of a run, which is not measured
    std::uint64_t receive_bytes = mib;        // size of the receiver's socket buffer
    std::uint32_t datagram_bytes_max = 1472;  // the path MTU is as large
    // The receiver is stopped for pause_ns in every 3 * pause_ns.
    Time pause_ns = 0;
    std::uint64_t copy_bytes = 64 * kib;
};

struct IncastResult {
    std::string violation;                  // what went wrong; empty: nothing
    std::vector<std::uint64_t> bytes;       // copied per sender, after the warm-up
    std::uint64_t socket_full_warm_up = 0;  // datagrams dropped by the socket during the warm-up
    std::uint64_t socket_full = 0;          // datagrams dropped by the socket after it
    std::uint64_t queue_full = 0;           // datagrams dropped by the switch after it
    double fairness = 0;                    // Jain's index
    double share_of_link = 0;               // bytes copied as a share of what the link carries
};

[[nodiscard]] IncastResult run_incast(const IncastOptions& options);

}  // namespace acp::sim
