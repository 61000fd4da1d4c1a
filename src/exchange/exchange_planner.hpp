// SPDX-License-Identifier: BSD-3-Clause
// Our planner: greedy schedules by several weights, evened out in the end, with long messages cut where engines would not come out
// even; then, by the effort, late messages favoured in turn, all other schedulers as a guard, and annealing. It can be stopped
// after each step and asked to go on: what it has is always a whole plan, with a bound that no plan can beat. Standard and deep
// plans are never worse than RoundRobin and BLbased in any of their variants. Same problem, same plan. One thread per object, which
// keeps its memory from plan to plan.
// Source: docs/exchange.md. Tests: tests/unit/exchange/exchange_planner_test.cpp, planner_quality_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exchange/annealing.hpp"
#include "exchange/bottom_left.hpp"
#include "exchange/exchange_plan.hpp"
#include "exchange/greedy_scheduler.hpp"
#include "exchange/tail_balance.hpp"

namespace acp::exchange {

enum class PlanEffort : std::uint8_t { fast, standard, deep };

// Above this product of messages and directions only RoundRobin and longest-first are tried.
inline constexpr std::size_t planned_work_max = 1U << 18;

class ExchangePlanner {
public:
    // Makes a plan from nothing. Keeps the problem's address until the next call.
    // Returns the time of the exchange.
    double plan(const NodeProblem& problem, PlanEffort effort);

    // Anneals the plan further.   evaluations  how many plans are tried at most
    // Returns the time of the exchange, never more than before.
    double improve(unsigned evaluations);

    // The best so far, its time, and a bound by loads that no plan beats (split_us of LowerBounds).
    [[nodiscard]] const EngineQueues& queues() const noexcept { return best_; }

    [[nodiscard]] double exchange() const noexcept { return best_us_; }

    [[nodiscard]] double bound() const noexcept { return bound_us_; }

    // The plan with its bounds; with all three of them it takes longer (configuration_bound_us).
    [[nodiscard]] ExchangePlan made(bool has_all_bounds = false) const;

private:
    bool take(double exchange, const EngineQueues& queues);
    void attempt_all(PlanEffort effort);
    void attempt(std::span<const QueuedPiece> pieces, PlanEffort effort);
    void attempt_with_long_ones_cut(PlanEffort effort);
    void attempt_with_halves(PlanEffort effort);
    void guard();
    void longest_first(unsigned engines, bool has_stairs);

    [[nodiscard]] unsigned evaluations_of(std::size_t pieces) const;

    [[nodiscard]] bool is_good_enough() const { return best_us_ <= good_enough_us_; }

    const NodeProblem* problem_ = nullptr;
    GreedyScheduler greedy_;
    TailBalance balance_;
    Annealing annealing_;
    BottomLeft packer_;
    EngineQueues best_, attempt_, trial_;
    std::vector<QueuedPiece> whole_, pieces_;
    std::vector<std::uint32_t> order_;
    double best_us_ = 0;
    double bound_us_ = 0;
    double good_enough_us_ = 0;  // closer to the bound than it is worth to look for
    double transfer_bound_us_ = 0;
    std::uint64_t rounds_ = 0;  // of annealing: the seed
};

}  // namespace acp::exchange
