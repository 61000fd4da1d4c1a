// SPDX-License-Identifier: BSD-3-Clause
// Many nodes that all copy to one: does its socket overflow once things have settled, and does each sender get its
// share? Or one node, in a job of so many others that say nothing: does it get all? Knows no command line. One run, one thread.
#pragma once

#include <string>
#include <vector>

#include "sim/world.hpp"

namespace acp::sim {

struct IncastOptions {
    std::uint64_t seed = 0;
    NodeId senders = 16;
    NodeId silent_nodes = 0;  // of the job, beside them
    Time duration_ns = 1 * s;
    Time warm_up_ns = 200 * ms;               // not counted
    std::uint64_t receive_bytes = mib;        // of the receiver's socket
    std::uint32_t datagram_bytes_max = 1472;  // paths carry as much
    Time pause_ns = 0;  // so long does the receiver not read, of every three times as long
    std::uint64_t copy_bytes = 64 * kib;
};

struct IncastResult {
    std::string violation;                  // empty: none
    std::vector<std::uint64_t> bytes;       // per sender, after the warm-up
    std::uint64_t socket_full_warm_up = 0;  // datagrams dropped
    std::uint64_t socket_full = 0;          // after the warm-up
    std::uint64_t queue_full = 0;           // in the switch, after the warm-up
    double fairness = 0;                    // Jain's index
    double share_of_link = 0;               // bytes copied of what the receiver's link carries
};

[[nodiscard]] IncastResult run_incast(const IncastOptions& options);

}  // namespace acp::sim
