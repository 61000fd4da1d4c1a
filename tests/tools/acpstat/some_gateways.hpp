// SPDX-License-Identifier: BSD-3-Clause
// Made-up gateways in the form in which acpstat finds them, without processes.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "datagram/counters.hpp"

#include "acpstat/job.hpp"

namespace acp::stat {

inline Gateway some_gateway(std::uint64_t job, std::uint32_t node, std::uint32_t nodes) {
    Gateway gateway;
    gateway.pid = static_cast<int>(1000 + node);
    gateway.job_id = job;
    gateway.first_process = 2 * node;
    gateway.values.node = node;
    gateway.values.nodes = nodes;
    gateway.values.local_procs = 2;
    gateway.values.started_ns = 1'000'000'000;
    gateway.values.updated_ns = 3'000'000'000;
    return gateway;
}

// Sets a counter of the endpoint by its name, as the gateway publishes it.
inline void count(gateway::StatsValues& values,
                  std::uint64_t datagram::EndpointCounters::*member,
                  std::uint64_t value) {
    datagram::EndpointCounters counters;
    std::memcpy(static_cast<void*>(&counters), values.tables.datagram.data(), sizeof counters);
    counters.*member = value;
    std::memcpy(values.tables.datagram.data(), &counters, sizeof counters);
}

}  // namespace acp::stat
