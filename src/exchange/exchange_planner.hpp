// SPDX-License-Identifier: BSD-3-Clause
// The planner of exchanges: decides which engine of a node sends which messages, or pieces of them, in what order (docs/guide/exchange.md).
// It makes greedy schedules with several sets of weights, moves pieces so that the engines end at the same time, and cuts long
// messages where that cannot be reached otherwise, until it has taken `fast_steps_per_message`. With the effort `standard` it does all of this, favours the messages that ended late in the
// round before, takes the plan of any other scheduler that is better, and anneals; with `deep` it anneals longer. So standard and
// deep plans are never worse than RoundRobin and BLbased in any of their variants. After each call it holds a whole plan and a lower
// bound that no plan can beat; improve() goes on from there. The same problem gives the same plan. One thread per object; an
// object keeps its memory from plan to plan.
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

// So much the effort `fast` takes (RateMemo::steps), and more only where a greedy schedule takes more than the one before; the first one is made
// whatever it takes.
inline constexpr std::uint64_t fast_steps_per_message = 55;

// Above this product of messages and route classes only RoundRobin and longest-first are tried.
inline constexpr std::size_t planned_work_max = 1U << 18;

class ExchangePlanner {
public:
    // Makes a plan from nothing. Keeps the problem's address until the next call.
    // Returns the time of the exchange, in microseconds.
    double plan(const NodeProblem& problem, PlanEffort effort);

    // Anneals the plan further.   evaluations  how many plans are tried at most
    // Returns the time of the exchange, never more than before.
    double improve(unsigned evaluations);

    // The best plan so far, its time, and a lower bound that no plan beats (split_us of LowerBounds); times in microseconds.
    [[nodiscard]] const EngineQueues& queues() const noexcept { return best_; }

    [[nodiscard]] double exchange() const noexcept { return best_us_; }

    [[nodiscard]] double bound() const noexcept { return bound_us_; }

    // What the plan has taken so far (RateMemo::steps).
    [[nodiscard]] std::uint64_t steps() const noexcept { return rates_.steps(); }

    // The plan with its bounds; with all three of them it takes longer (configuration_bound_us).
    [[nodiscard]] ExchangePlan made(bool has_all_bounds = false) const;

private:
    // How the messages were cut for an attempt.
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

    // The plan is good enough, or the effort is spent.
    [[nodiscard]] bool is_over() const {
        return best_us_ <= good_enough_us_ || !has_schedule_left();
    }

    // Whether there is effort left for another greedy schedule, if it takes as much as the last one.
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
    std::array<double, kinds_of_cuts> fast_us_{};  // of the attempt with the effort `fast`
    double best_us_ = 0;
    double bound_us_ = 0;
    double good_enough_us_ = 0;  // so close to the bound that the search ends
    double transfer_bound_us_ = 0;
    std::uint64_t schedule_steps_ = 0;  // that the last greedy schedule has taken
    std::size_t squeaky_left_ = 0;  // pieces that rounds with late classes favoured may schedule
    std::uint64_t rounds_ = 0;      // calls of improve() for this problem; the seed of annealing
};

}  // namespace acp::exchange
