// SPDX-License-Identifier: BSD-3-Clause
// All schedulers by name, behind one interface, for tools that compare them. Pure; any thread.
// Tests: tests/unit/exchange_study/scheduler_table_test.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "exchange/exchange_plan.hpp"

#include "exchange_study/two_phase.hpp"

namespace acp::exchange_study {

struct ScheduledExchange {
    std::vector<ExchangePhase> phases;  // one, except for two-phase
    std::size_t more_commands = 0;      // commands without bytes, which request leave to send
    double exchange = 0;                // simulated time in us
};

struct SchedulerEntry {
    std::string_view name;     // "RR4", "BL4", "standard"
    std::string_view meaning;  // one line
    ScheduledExchange (*schedule)(const exchange::NodeProblem& problem);
};

[[nodiscard]] std::span<const SchedulerEntry> scheduler_table();

// nullptr: no scheduler has this name.
[[nodiscard]] const SchedulerEntry* scheduler_named(std::string_view name);

}  // namespace acp::exchange_study
