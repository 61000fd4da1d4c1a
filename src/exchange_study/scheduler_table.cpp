// SPDX-License-Identifier: BSD-3-Clause
// One row per scheduler. Any thread.
#include "exchange_study/scheduler_table.hpp"

#include <algorithm>
#include <utility>

#include "exchange/bottom_left.hpp"
#include "exchange/exchange_planner.hpp"
#include "exchange/round_robin.hpp"

#include "exchange_study/eager_rendezvous.hpp"

namespace acp::exchange_study {

namespace {

ScheduledExchange scheduled(const exchange::NodeProblem& problem,
                            exchange::EngineQueues queues,
                            std::size_t more_commands = 0) {
    ScheduledExchange one;
    one.exchange = exchange_us(problem, queues) +
                   problem.node().command_us * static_cast<double>(more_commands);
    one.phases.push_back({problem, std::move(queues)});
    one.more_commands = more_commands;
    return one;
}

template <unsigned engines>
ScheduledExchange by_round_robin(const exchange::NodeProblem& problem) {
    exchange::EngineQueues queues;
    exchange::round_robin(problem, engines, queues);
    return scheduled(problem, std::move(queues));
}

template <unsigned diagonals, bool is_hop_aware>
ScheduledExchange by_bottom_left(const exchange::NodeProblem& problem) {
    exchange::BottomLeftRules rules;
    rules.diagonals = diagonals;
    rules.is_hop_aware = is_hop_aware;
    exchange::EngineQueues queues;
    exchange::BottomLeft().pack(problem, rules, queues);
    return scheduled(problem, std::move(queues));
}

ScheduledExchange with_stairs(const exchange::NodeProblem& problem) {
    exchange::BottomLeftRules rules;
    rules.has_stairs = true;
    rules.rate = problem.node().engine_rate;
    exchange::EngineQueues queues;
    exchange::BottomLeft().pack(problem, rules, queues);
    return scheduled(problem, std::move(queues));
}

ScheduledExchange in_phases(const exchange::NodeProblem& problem) {
    ScheduledExchange one;
    one.phases = two_phase(problem);
    one.exchange = exchange_us(one.phases);
    return one;
}

ScheduledExchange by_message_library(const exchange::NodeProblem& problem) {
    exchange::EngineQueues queues;
    const std::size_t asked = eager_rendezvous(problem, queues);
    return scheduled(problem, std::move(queues), asked);
}

template <exchange::PlanEffort effort>
ScheduledExchange planned(const exchange::NodeProblem& problem) {
    exchange::ExchangePlanner planner;
    planner.plan(problem, effort);
    return scheduled(problem, planner.queues());
}

constexpr SchedulerEntry table[] = {
    {"RR1", "RoundRobin(1) of paper 003", by_round_robin<1>},
    {"RR2", "RoundRobin(2)", by_round_robin<2>},
    {"RR4", "RoundRobin(4)", by_round_robin<4>},
    {"BL1", "BLbased(1) of paper 003: one direction at a time, one diagonal",
     by_bottom_left<1, false>},
    {"BL2", "BLbased(2)", by_bottom_left<2, false>},
    {"BL4", "BLbased(4)", by_bottom_left<4, false>},
    {"hop-aware", "BLbased(4) that lets no two share any link of their routes",
     by_bottom_left<4, true>},
    {"stairs", "BLbased(4) that knows how late each engine begins", with_stairs},
    {"two-phase", "one dimension after the other, diagonals forwarded", in_phases},
    {"orig", "a model of the message library that paper 003 compares with", by_message_library},
    {"fast", "our planner, some microseconds", planned<exchange::PlanEffort::fast>},
    {"standard", "our planner, no worse than those above", planned<exchange::PlanEffort::standard>},
    {"deep", "our planner, with annealing", planned<exchange::PlanEffort::deep>},
};

}  // namespace

std::span<const SchedulerEntry> scheduler_table() {
    return table;
}

const SchedulerEntry* scheduler_named(std::string_view name) {
    const auto found = std::find_if(std::begin(table), std::end(table),
                                    [name](const SchedulerEntry& one) { return one.name == name; });
    return found == std::end(table) ? nullptr : found;
}

}  // namespace acp::exchange_study
