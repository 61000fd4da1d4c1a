// SPDX-License-Identifier: BSD-3-Clause
// Flows over rails: rank 0 copies long messages to other ranks, each flow by a rail of its own, all at once, and prints when each
// of them has arrived. The driver (shaped_rails_test.py) shapes the rails. Run by acprun with a rank per node.
//   nodes_shaped_rails BYTES ROW...
// A ROW is a list of ranks with commas: "1,1,2" has three flows, on rails 0, 1 and 2, the first two of them to rank 1. Waits for a line on
// standard input of rank 0 before the first row. Prints for each row the milliseconds until each flow and those named before it had
// arrived, to the last byte.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <acp.h>

#include "support/clock.hpp"

namespace {

constexpr int rails_max = 4;

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "nodes_shaped_rails: %s: %s\n", what, acp_error_message());
    acp_abort(what);
    std::abort();
}

void meet() {
    if (acp_sync() != 0) give_up("acp_sync");
}

struct Flow {
    acp_ga_t target = 0;
    acp_handle_t handle = ACP_HANDLE_NULL;
    double took_ms = 0;
};

// Every rank's memory, in every colour; all ranks tell theirs by their starter memory.
std::vector<std::vector<acp_ga_t>> told_addresses(std::vector<char>& memory) {
    auto* own = static_cast<acp_ga_t*>(acp_query_address(acp_query_starter_ga(acp_rank())));
    for (int rail = 0; rail < acp_colors(); ++rail) {
        const acp_atkey_t key = acp_register_memory(memory.data(), memory.size(), rail);
        if (key == ACP_ATKEY_NULL) give_up("acp_register_memory");
        own[rail] = acp_query_ga(key, memory.data());
    }
    meet();
    std::vector<std::vector<acp_ga_t>> all;
    for (int rank = 0; rank < acp_procs(); ++rank) {
        all.emplace_back(static_cast<std::size_t>(acp_colors()));
        const acp_ga_t here = acp_query_starter_ga(acp_rank()) + 64;
        const std::size_t bytes = all.back().size() * sizeof(acp_ga_t);
        acp_complete(acp_copy(here, acp_query_starter_ga(rank), bytes, ACP_HANDLE_NULL));
        std::memcpy(all.back().data(), own + 64 / sizeof(acp_ga_t), bytes);
    }
    meet();
    return all;
}

std::vector<int> ranks_of(const char* row) {
    std::vector<int> ranks;
    for (const char* at = row; at != nullptr; at = std::strchr(at, ',')) {
        if (*at == ',') ++at;
        ranks.push_back(std::atoi(at));
    }
    return ranks;
}

void send_row(const char* row,
              const std::vector<std::vector<acp_ga_t>>& addresses,
              acp_ga_t source,
              std::size_t bytes) {
    std::vector<Flow> flows;
    for (const int rank : ranks_of(row)) {
        Flow flow;
        flow.target =
            addresses[static_cast<std::size_t>(rank)][flows.size()] + flows.size() * bytes;
        flows.push_back(flow);
    }
    const std::int64_t began_ns = acp::test::now_ns();
    for (Flow& flow : flows) flow.handle = acp_copy(flow.target, source, bytes, ACP_HANDLE_NULL);
    for (Flow& flow : flows) {
        if (acp_wait(flow.handle, -1) != ACP_OK) give_up("acp_wait");
        flow.took_ms = static_cast<double>(acp::test::now_ns() - began_ns) * 1e-6;
    }
    std::printf("%s", row);
    for (const Flow& flow : flows) std::printf(" %.3f", flow.took_ms);
    std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
    if (acp_init(&count, &arguments) != 0) give_up("acp_init");
    const std::size_t bytes = std::strtoull(arguments[1], nullptr, 10);
    std::vector<char> memory(rails_max * bytes, 'x');
    const auto addresses = told_addresses(memory);
    if (acp_rank() == 0) {
        std::printf("ready\n");
        std::fflush(stdout);
        while (std::getchar() != '\n') {
        }
    }
    for (int i = 2; i < count; ++i) {
        meet();
        if (acp_rank() == 0) send_row(arguments[i], addresses, addresses[0][0], bytes);
    }
    meet();
    return acp_finalize();
}
