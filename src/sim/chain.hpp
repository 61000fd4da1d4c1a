// SPDX-License-Identifier: BSD-3-Clause
// An experiment: how long do chains of copies take, each ordered after the one before it, on links
// that lose datagrams in bursts, duplicate and reorder them? Knows no command line. One run, one
// thread.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "sim/world.hpp"

namespace acp::sim {

struct ChainOptions {
    std::uint64_t seed = 0;
    NodeId nodes = 4;
    std::uint32_t chains = 200;       // run one after the other
    std::uint32_t copies = 7;         // length of a chain
    double loss = 0.3;                // share of all datagrams that is lost, in bursts
    std::uint32_t burst = 8;          // mean length of a burst, in datagrams
    double doubled = 0.2;             // share of datagrams that is duplicated
    double overtaken = 0.2;           // share of datagrams that is reordered
    std::uint32_t overtaken_by = 64;  // most datagrams that overtake one
    std::FILE* story = nullptr;
};

struct ChainResult {
    std::string violation;   // what went wrong; empty: nothing
    std::vector<Time> took;  // virtual time per chain, ascending
};

[[nodiscard]] ChainResult run_chains(const ChainOptions& options);

}  // namespace acp::sim
