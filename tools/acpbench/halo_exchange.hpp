// SPDX-License-Identifier: BSD-3-Clause
// One rank's part of the halo exchange that paper 003 measures: 14 messages to eight directions on
// a torus of ranks, sent by a plan of acp_compile_pattern(3); and what the experiment `halo`
// compares with. Knows nothing of time. Each rank's main thread; the calls that are collective say
// so.
#pragma once

#include <cstdint>
#include <vector>

#include <acp.h>

#include "job.hpp"

namespace acp::bench {

class HaloExchange {
public:
    // Collective. All ranks are a torus of two columns where their number is even and 4 or more,
    // else all messages go to the next rank.
    //   grid_size  k of the paper's Table 1
    //   is_shared  sources and targets lie in memory of acp_malloc, else in private memory
    HaloExchange(const Job& job, std::uint32_t grid_size, bool is_shared);
    HaloExchange(const HaloExchange&) = delete;
    HaloExchange& operator=(const HaloExchange&) = delete;
    ~HaloExchange();  // collective

    void start();
    void wait();

    // The number of rails that connect the nodes, from the environment that acprun sets; 1 on one
    // node.
    [[nodiscard]] int rails() const { return rails_; }

    // Makes start(), wait() and check() use the plan for a network of one rail, or again that for
    // all rails. The first exists only where rails() > 1.
    void use_one_rail(bool is_wanted);

    // Ends the process when a message is not what its sender has.
    void check();

    // Copies all messages once within the rank.
    void copy_within();

    // Puts all messages where the neighbours' targets are, by the rails in turn, and completes
    // them.
    void put_all();

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
    struct Message {
        int to = 0;
        int from = 0;
        // offset of the source, and, within the second half of the memory, of the target
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };

    void add_messages(const Job& job, std::uint32_t grid_size);
    void compile(int rank, int ranks);
    void find_targets(const Job& job);

    std::vector<Message> messages_;
    std::uint64_t bytes_ = 0;
    std::uint64_t half_bytes_ = 0;  // all sources, each from a cache line on
    int rails_ = 1;
    acp_ga_t heap_ = ACP_GA_NULL;
    // one list per rail: addresses of all ranks' targets
    std::vector<std::vector<acp_ga_t>> targets_;
    std::vector<acp_atkey_t> keys_;  // one per rail: registration of this rank's targets
    std::vector<char> private_;
    char* memory_ = nullptr;  // sources, then targets
    acp_pattern_t pattern_ = ACP_PATTERN_NULL;
    std::vector<acp_plan_t> plans_;  // for all rails; and, where there are several, for one of them
    acp_plan_t plan_ = ACP_PLAN_NULL;  // one of these
};

}  // namespace acp::bench
