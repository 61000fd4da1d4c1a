// SPDX-License-Identifier: BSD-3-Clause
// The planner of exchanges: decides which engine of a node sends which messages, or pieces of them,
// in which order (docs/guide/exchange.md). `fast`: makes greedy schedules with several sets of
// weights, moves pieces so that the engines end at the same time, and cuts long messages where
// needed, until it has used `fast_steps_per_message`. `standard`: does all of this, favours
// messages that ended late in the previous round, takes the plan of any other scheduler that is
// better, and anneals. `deep`: anneals longer. So standard and deep plans are never worse than
// RoundRobin and BLbased in any variant. After each call the planner has a whole plan and a lower
// bound of all plans, from which improve() continues. It is deterministic. One thread per object,
// which keeps its memory from plan to plan.
// Tests: tests/unit/exchange/exchange_planner_test.cpp, planner_quality_test.cpp.
#pragma once

#include <array>
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

// The steps of `fast` (RateMemo::steps). It uses more only if a greedy schedule takes more than the
// one before; the first schedule is always made.
inline constexpr std::uint64_t fast_steps_per_message = 55;

// Above this product of messages and route classes only RoundRobin and longest-first are tried.
inline constexpr std::size_t planned_work_max = 1U << 18;

class ExchangePlanner {
public:
    // Makes a plan from scratch. Keeps the problem's address until the next call. Returns the time
    // of the exchange in microseconds.
    double plan(const NodeProblem& problem, PlanEffort effort);

    // Anneals the plan further. Returns the time of the exchange, never more than before.
    //   evaluations  the most plans that are tried
    double improve(unsigned evaluations);

    // The best plan so far, its time, and a lower bound for all plans (split_us of LowerBounds);
    // times in microseconds.
    [[nodiscard]] const EngineQueues& queues() const noexcept { return best_; }

    [[nodiscard]] double exchange() const noexcept { return best_us_; }

    [[nodiscard]] double bound() const noexcept { return bound_us_; }

    // The steps made so far (RateMemo::steps).
    [[nodiscard]] std::uint64_t steps() const noexcept { return rates_.steps(); }

    // The plan with its bounds; computing all three takes longer (configuration_bound_us).
    [[nodiscard]] ExchangePlan made(bool has_all_bounds = false) const;

private:
    // How messages are cut in an attempt.
    enum class Cuts : std::uint8_t {
        none,
        long_ones,
        two_halves,
        four_halves,
        all_halves,
        longest
    };
    static constexpr std::size_t kinds_of_cuts = 6;

    bool take(double exchange, const EngineQueues& queues);
    void attempt_all(PlanEffort effort);
    void attempt(std::span<const QueuedPiece> pieces, PlanEffort effort, Cuts cuts);
    void attempt_with_long_ones_cut(PlanEffort effort);
    void attempt_with_halves(PlanEffort effort);
    void anneal(unsigned evaluations, EngineQueues& queues);
    void anneal_with_longest_cut(std::size_t count);
    void guard();
    void longest_first(unsigned engines, bool has_stairs);

    [[nodiscard]] unsigned evaluations_of(std::size_t pieces) const;
    [[nodiscard]] unsigned standard_evaluations() const;

    // Whether the plan is good enough, or the effort is spent.
    [[nodiscard]] bool is_over() const {
        return best_us_ <= good_enough_us_ || !has_schedule_left();
    }

    // Whether effort is left for another greedy schedule, if it takes as much as the last one.
    [[nodiscard]] bool has_schedule_left() const { return rates_.steps_left() >= schedule_steps_; }

    const NodeProblem* problem_ = nullptr;
    RateMemo rates_;
    GreedyScheduler greedy_;
    TailBalance balance_;
    Annealing annealing_;
    BottomLeft packer_;
    EngineQueues best_, attempt_, trial_;
    std::vector<QueuedPiece> whole_, pieces_;
    std::vector<std::uint32_t> order_;
    std::array<double, kinds_of_cuts> fast_us_{};  // results of the attempts with `fast`
    double best_us_ = 0;
    double bound_us_ = 0;
    double good_enough_us_ = 0;  // ends the search: close enough to the bound
    double transfer_bound_us_ = 0;
    std::uint64_t schedule_steps_ = 0;  // steps of the last greedy schedule
    std::size_t squeaky_left_ = 0;  // pieces that rounds favouring late classes may still schedule
    std::uint64_t rounds_ = 0;      // calls of improve() for this problem: seeds annealing
};

}  // namespace acp::exchange
