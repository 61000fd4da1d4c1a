// SPDX-License-Identifier: BSD-3-Clause
// Exchanges over rails: rank 0 issues a queue of copies on each rail, all rails at once, and prints
// when each copy is done. The driver (shaped_rails_test.py) shapes the rails. Run by acprun with a
// rank per node.
//   nodes_shaped_rails BYTES EXCHANGE...
// An EXCHANGE is a list of ranks with commas, "1,1,2": a message of BYTES to each, by rails 0, 1
// and 2. Another form is a pattern of paper 003 and a scheduler, "NS/rr4": its messages, the
// largest with BYTES, go to ranks 1 (east), 2 (west), 3 (north) and 4 (south) in the order of the
// scheduler's plan, engine i on rail i. The program waits for a line on standard input of rank 0
// before the first exchange. It prints for each the milliseconds that the model of three caps
// (below) predicts, and those until the last byte of each copy, and of the copies issued before it,
// has arrived.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "exchange/bottom_left.hpp"
#include "exchange/exchange_planner.hpp"
#include "exchange/round_robin.hpp"

#include <acp.h>

#include "exchange_study/paper_patterns.hpp"
#include "support/clock.hpp"
#include "support/rank_check.hpp"

namespace {

using acp::exchange::EngineQueues;
using acp::exchange::NodeProblem;
using acp::test::give_up;

constexpr std::size_t rails_max = 4;
// Bytes per microsecond.
constexpr double engine_rate = 82 / 8.0;
constexpr double link_rate = 100 / 8.0;
constexpr double injection_rate = 280 / 8.0;

void meet() {
    if (acp_sync() != 0) give_up("acp_sync");
}

// The addresses of every rank's memory in every colour; ranks exchange them through their starter
// memories.
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

struct Copy {
    std::size_t rank = 0;
    std::size_t bytes = 0;
};

struct Exchange {
    std::array<std::vector<Copy>, rails_max> queues;
    double expected_ms = 0;
};

// Rank 0's problem with the caps, and messages in the four directions.
NodeProblem problem_of(acp::exchange_study::PaperPattern pattern) {
    acp::exchange::NodeRates node;
    node.engines = rails_max;
    node.engine_rate = engine_rate;
    node.injection_rate = node.reception_rate = injection_rate;
    node.start_us = node.command_us = node.stair_us = 0;
    return acp::exchange_study::paper_problem(pattern, 872, node, link_rate);
}

// Link l leads to rank 1 + l.
Exchange exchange_of(const NodeProblem& problem, const EngineQueues& queues) {
    Exchange made;
    std::array<double, acp::exchange::engines_max> ends{};
    made.expected_ms = transfer_us(problem, queues, ends) / 1e3;
    for (std::size_t rail = 0; rail < rails_max; ++rail) {
        for (const auto& piece : queues.of[rail]) {
            const std::uint64_t links = problem.classes()[piece.route_class].links;
            made.queues[rail].push_back({1 + static_cast<std::size_t>(__builtin_ctzll(links)),
                                         static_cast<std::size_t>(piece.bytes)});
        }
    }
    return made;
}

Exchange flows_of(const std::string& ranks, std::size_t bytes) {
    const NodeProblem network = problem_of(acp::exchange_study::PaperPattern::four);
    EngineQueues queues;
    std::size_t rail = 0;
    for (std::size_t at = 0; at < ranks.size(); at += 2) {
        const std::uint64_t link = std::uint64_t{1} << (ranks[at] - '1');
        const auto& classes = network.classes();
        const auto its = std::find_if(classes.begin(), classes.end(),
                                      [&](const auto& one) { return one.links == link; });
        queues.of.at(rail++).push_back(
            {static_cast<double>(bytes), 0,
             static_cast<acp::exchange::ClassIndex>(its - classes.begin())});
    }
    return exchange_of(network, queues);
}

Exchange planned(const std::string& pattern, const std::string& scheduler, std::size_t bytes) {
    NodeProblem problem =
        problem_of(pattern == "NS" ? acp::exchange_study::PaperPattern::north_south
                                   : acp::exchange_study::PaperPattern::four);
    auto messages = problem.messages();
    double most = 0;
    for (const auto& message : messages) most = std::max(most, message.bytes);
    for (auto& message : messages)
        message.bytes = static_cast<double>(
            static_cast<std::uint64_t>(message.bytes / most * static_cast<double>(bytes)));
    problem = problem.with_messages(messages);
    EngineQueues queues;
    if (scheduler == "rr4") round_robin(problem, 4, queues);
    if (scheduler == "rr1") round_robin(problem, 1, queues);
    if (scheduler == "bl") acp::exchange::BottomLeft().pack(problem, {}, queues);
    acp::exchange::ExchangePlanner planner;
    if (scheduler == "ours") {
        planner.plan(problem, acp::exchange::PlanEffort::standard);
        queues = planner.queues();
    }
    return exchange_of(problem, queues);
}

void carry_out(const char* name,
               const Exchange& exchange,
               const std::vector<std::vector<acp_ga_t>>& addresses) {
    std::vector<acp_handle_t> copies;
    const std::int64_t began_ns = acp::test::now_ns();
    // Each copy of a queue is ordered after the copy before it, and after no other, like the
    // commands of an engine.
    for (std::size_t rail = 0; rail < rails_max; ++rail) {
        acp_handle_t order = ACP_HANDLE_NULL;
        for (const Copy& copy : exchange.queues[rail]) {
            copies.push_back(
                acp_copy(addresses[copy.rank][rail], addresses[0][0], copy.bytes, order));
            order = ACP_HANDLE_CONT;
        }
    }
    std::printf("%s %.3f", name, exchange.expected_ms);
    for (const acp_handle_t handle : copies) {
        if (acp_wait(handle, -1) != ACP_OK) give_up("acp_wait");
        std::printf(" %.3f", static_cast<double>(acp::test::now_ns() - began_ns) * 1e-6);
    }
    std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
    if (acp_init(&count, &arguments) != 0) give_up("acp_init");
    const std::size_t bytes = std::strtoull(arguments[1], nullptr, 10);
    std::vector<char> memory(bytes, 'x');
    const auto addresses = told_addresses(memory);
    if (acp_rank() == 0) {
        std::printf("ready\n");
        std::fflush(stdout);
        while (std::getchar() != '\n') {
        }
    }
    for (int i = 2; i < count; ++i) {
        meet();
        if (acp_rank() != 0) continue;
        const std::string name = arguments[i];
        const std::size_t slash = name.find('/');
        carry_out(arguments[i],
                  slash == std::string::npos
                      ? flows_of(name, bytes)
                      : planned(name.substr(0, slash), name.substr(slash + 1), bytes),
                  addresses);
    }
    meet();
    return acp_finalize();
}
