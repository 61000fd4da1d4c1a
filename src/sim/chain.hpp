// SPDX-License-Identifier: BSD-3-Clause
// Chains of ordered copies on links that lose datagrams in bursts, double and overtake them: how long does each chain
// take, of which every copy waits for the one before it? Knows no command line. One run, one thread.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "sim/world.hpp"

namespace acp::sim {

struct ChainOptions {
    std::uint64_t seed = 0;
    NodeId nodes = 4;
    std::uint32_t chains = 200;  // one after the other
    std::uint32_t copies = 7;    // of a chain
    double loss = 0.3;           // of all datagrams, lost in bursts
    std::uint32_t burst = 8;     // datagrams of a burst, on average
    double doubled = 0.2;
    double overtaken = 0.2;
    std::uint32_t overtaken_by = 64;  // datagrams at most
    std::FILE* story = nullptr;
};

struct ChainResult {
    std::string violation;   // empty: none
    std::vector<Time> took;  // per chain, ascending
};

[[nodiscard]] ChainResult run_chains(const ChainOptions& options);

}  // namespace acp::sim
