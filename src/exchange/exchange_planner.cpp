// SPDX-License-Identifier: BSD-3-Clause
// The order of the planner's attempts. One thread per object.
#include "exchange/exchange_planner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "exchange/round_robin.hpp"

namespace acp::exchange {

namespace {

constexpr std::array<GreedyWeights, 3> greedy_weights = {{
    {8, 1, 0, 0.3F},
    {2, 1, 0.02F, 0},
    {16, 1, 0, 0},
}};
constexpr unsigned fast_weights = 2;     // sets of weights that `fast` uses
constexpr unsigned squeaky_rounds = 12;  // rounds of the first weights that favour late classes
// pieces that all of these rounds may schedule for one plan
constexpr std::size_t squeaky_pieces = 400;
// these rounds are made for plans at most this much over the best one
constexpr double squeaky_gap = 0.015;
constexpr float squeaky_step = 0.3F;
constexpr double stop_gap = 0.002;   // a plan this little over the bound is good enough
constexpr double halves_gap = 0.02;  // over the bound: large messages are cut, and plans annealed
constexpr double part_step = 64;
constexpr std::size_t evaluations_max = 2500;
// Pieces that annealing simulates, each in some tens of nanoseconds. `standard` simulates fewer if
// there are many messages, whose greedy schedules took longer.
constexpr std::size_t standard_events = 17'000;
constexpr std::size_t events_per_message = 200;
constexpr std::size_t standard_events_max = 15'000;
constexpr std::size_t deep_events = 20'000;
constexpr std::size_t longest_events = 8'000;
constexpr std::size_t longest_max = 3;  // the most messages that are cut before annealing

}  // namespace

double ExchangePlanner::plan(const NodeProblem& problem, PlanEffort effort) {
    problem_ = &problem;
    const bool is_fast = effort == PlanEffort::fast;
    rates_.begin(problem, is_fast ? fast_steps_per_message * problem.messages().size()
                                  : RateMemo::steps_unbounded);
    rounds_ = 0;
    squeaky_left_ = squeaky_pieces;
    best_us_ = 1e300;
    transfer_bound_us_ = load_bound_us(problem);
    bound_us_ = split_bound_us(problem, transfer_bound_us_);
    good_enough_us_ = bound_us_ * (1 + stop_gap);
    const auto& messages = problem.messages();
    if (messages.size() * problem.classes().size() > planned_work_max) {
        for (const unsigned engines : {1U, 2U, 4U, engines_max}) {
            round_robin(problem, engines, trial_);
            take(exchange_us(rates_, trial_), trial_);
            longest_first(engines, true);
        }
        return best_us_;
    }
    whole_.clear();
    for (std::uint32_t i = 0; i < messages.size(); ++i)
        whole_.push_back({messages[i].bytes, i, messages[i].route_class});
    fast_us_.fill(0);  // 0: not tried, so not known to be worse
    attempt_all(PlanEffort::fast);
    if (is_fast) return best_us_;
    if (!is_over()) attempt_all(effort);
    if (best_us_ > bound_us_ + 1e-9) guard();
    if (best_us_ > bound_us_ * (1 + halves_gap)) improve(standard_evaluations());
    if (effort != PlanEffort::deep) return best_us_;
    improve(evaluations_of(deep_events));
    for (std::size_t count = 1; count <= std::min(longest_max, whole_.size()); ++count) {
        if (best_us_ <= bound_us_ * (1 + halves_gap)) break;
        anneal_with_longest_cut(count);
    }
    return best_us_;
}

// Tries the whole messages; then long ones cut; then large ones halved.
void ExchangePlanner::attempt_all(PlanEffort effort) {
    attempt(whole_, effort, Cuts::none);
    if (!is_over()) attempt_with_long_ones_cut(effort);
    if (!is_over() && best_us_ > bound_us_ * (1 + halves_gap)) attempt_with_halves(effort);
}

double ExchangePlanner::improve(unsigned evaluations) {
    trial_ = best_;
    anneal(evaluations, trial_);
    return best_us_;
}

// Anneals a plan and keeps the result if it is better.
void ExchangePlanner::anneal(unsigned evaluations, EngineQueues& queues) {
    AnnealingOptions options;
    options.evaluations = evaluations;
    options.good_enough = good_enough_us_;
    options.seed = ++rounds_;
    take(annealing_.improve(rates_, options, queues), queues);
}

// A message that is short enough to be sent whole may still gain by two parts that run beside
// different messages. Annealing cuts one only if that is an immediate gain, so it starts here from
// plans with the longest messages cut, even if those are worse.
void ExchangePlanner::anneal_with_longest_cut(std::size_t count) {
    const auto alone_us = [this](std::uint32_t i) {
        return whole_[i].bytes / problem_->classes()[whole_[i].route_class].rate_max;
    };
    order_.resize(whole_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return alone_us(a) > alone_us(b); });
    pieces_.assign(whole_.begin(), whole_.end());
    for (const std::uint32_t i : std::span(order_).first(count)) {
        QueuedPiece part = pieces_[i];
        part.bytes = std::floor(part.bytes / 3 / part_step) * part_step;
        if (part.bytes == 0) return;
        pieces_[i].bytes -= part.bytes;
        pieces_.push_back(part);
    }
    attempt(pieces_, PlanEffort::fast, Cuts::longest);
    anneal(evaluations_of(longest_events), attempt_);
}

// How many plans may be tried if that many pieces are simulated in all.
unsigned ExchangePlanner::evaluations_of(std::size_t pieces) const {
    return static_cast<unsigned>(
        std::min(evaluations_max, pieces / std::max<std::size_t>(best_.pieces(), 1)));
}

unsigned ExchangePlanner::standard_evaluations() const {
    const std::size_t taken = std::min(standard_events, whole_.size() * events_per_message);
    return evaluations_of(std::min(standard_events - taken, standard_events_max));
}

ExchangePlan ExchangePlanner::made(bool has_all_bounds) const {
    return plan_of(*problem_, best_,
                   has_all_bounds ? all_bounds(*problem_) : quick_bounds(*problem_));
}

// Keeps a better plan. False: it is not better.
bool ExchangePlanner::take(double exchange, const EngineQueues& queues) {
    if (exchange >= best_us_) return false;
    best_us_ = exchange;
    best_ = queues;
    return true;
}

// Takes the best greedy schedule of these pieces, with its tail balanced.
void ExchangePlanner::attempt(std::span<const QueuedPiece> pieces, PlanEffort effort, Cuts cuts) {
    const bool is_fast = effort == PlanEffort::fast;
    const unsigned weights = is_fast ? fast_weights : static_cast<unsigned>(greedy_weights.size());
    double& fast_us = fast_us_[static_cast<std::size_t>(cuts)];
    const bool is_near = fast_us <= best_us_ * (1 + squeaky_gap);
    const unsigned rounds = weights + (is_fast || !is_near ? 0 : squeaky_rounds);
    greedy_.prepare(rates_, pieces);
    double best = 1e300;
    // The rounds of `fast` were made for the same pieces before, and their best plan was taken.
    const unsigned first = is_fast ? 0 : fast_weights;
    for (unsigned round = first; round < rounds && best > good_enough_us_; ++round) {
        if (round != first && !has_schedule_left()) break;
        if (round >= weights) {
            if (squeaky_left_ < pieces.size()) break;
            squeaky_left_ -= pieces.size();
            greedy_.favour_late_classes(squeaky_step);
        }
        const std::uint64_t steps = rates_.steps();
        const double transfer =
            greedy_.run(greedy_weights[round < weights ? round : 0], true, trial_);
        schedule_steps_ = rates_.steps() - steps;
        const double exchange = exchange_us(*problem_, transfer, trial_.pieces());
        if (exchange >= best) continue;
        best = exchange;
        std::swap(attempt_, trial_);
    }
    if (best > good_enough_us_)
        best = std::min(best, balance_.improve(rates_, good_enough_us_, true, attempt_));
    if (is_fast) fast_us = best;
    take(best, attempt_);
}

// Tries the messages with those cut that take longer alone than the bound of the transfer.
void ExchangePlanner::attempt_with_long_ones_cut(PlanEffort effort) {
    pieces_.clear();
    for (const QueuedPiece& piece : whole_) {
        const double alone = piece.bytes / problem_->classes()[piece.route_class].rate_max;
        const bool is_long = alone > transfer_bound_us_ * 1.02 &&
                             alone - transfer_bound_us_ > problem_->node().command_us;
        const double parts = is_long ? std::ceil(alone / transfer_bound_us_) : 1;
        const double part = std::floor(piece.bytes / parts / part_step) * part_step;
        QueuedPiece rest = piece;
        for (double i = 1; part > 0 && i < parts; ++i) {
            pieces_.push_back({part, piece.message, piece.route_class});
            rest.bytes -= part;
        }
        pieces_.push_back(rest);
    }
    if (pieces_.size() != whole_.size()) attempt(pieces_, effort, Cuts::long_ones);
}

// With few large messages the engines end at different times: halves the smallest of the large
// messages, a few of them, or all.
void ExchangePlanner::attempt_with_halves(PlanEffort effort) {
    const double command_us = problem_->node().command_us;
    order_.clear();
    for (std::uint32_t i = 0; i < whole_.size(); ++i) {
        const double alone = whole_[i].bytes / problem_->classes()[whole_[i].route_class].rate_max;
        const bool can_be_halved = whole_[i].bytes >= 2 * part_step;
        if (can_be_halved && alone > std::max(0.2 * transfer_bound_us_, 3 * command_us))
            order_.push_back(i);
    }
    std::stable_sort(order_.begin(), order_.end(), [this](std::uint32_t a, std::uint32_t b) {
        return whole_[a].bytes < whole_[b].bytes;
    });
    std::size_t last = 0;
    for (const auto& [cuts, most] : {std::pair{Cuts::two_halves, std::size_t{2}},
                                     {Cuts::four_halves, 4},
                                     {Cuts::all_halves, order_.size()}}) {
        const std::size_t count = std::min(most, order_.size());
        if (count <= last || is_over()) continue;
        if (command_us * static_cast<double>(count) > best_us_ - bound_us_) break;
        last = count;
        pieces_.assign(whole_.begin(), whole_.end());
        for (std::size_t i = 0; i < count; ++i) {
            QueuedPiece& first = pieces_[order_[i]];
            QueuedPiece second = first;
            first.bytes = std::floor(first.bytes / 2 / part_step) * part_step;
            second.bytes -= first.bytes;
            pieces_.push_back(second);
        }
        attempt(pieces_, effort, cuts);
    }
}

// Takes the plan of any other scheduler that is better.
void ExchangePlanner::guard() {
    const auto take_trial = [this] { take(exchange_us(rates_, trial_), trial_); };
    const bool has_stairs = problem_->node().stair_us > 0;
    for (const unsigned count : {1U, 2U, 4U}) {
        round_robin(*problem_, count, trial_);
        take_trial();
        for (const bool is_hop_aware : {false, true}) {
            BottomLeftRules rules;
            rules.diagonals = count;
            rules.is_hop_aware = is_hop_aware;
            packer_.pack(*problem_, rules, trial_);
            take_trial();
            if (!has_stairs) continue;
            rules.has_stairs = true;
            rules.rate = problem_->node().engine_rate;
            packer_.pack(*problem_, rules, trial_);
            take_trial();
        }
    }
    if (!has_stairs) return;
    for (unsigned engines = 1; engines <= problem_->engines(); ++engines) {
        longest_first(engines, false);
        longest_first(engines, true);
    }
}

// Takes the plan of longest-first list scheduling: each message to the engine that is free first.
void ExchangePlanner::longest_first(unsigned engines, bool has_stairs) {
    const auto& messages = problem_->messages();
    order_.resize(messages.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return messages[a].bytes > messages[b].bytes;
    });
    std::array<double, engines_max> end{};
    for (unsigned e = 0; has_stairs && e < engines_max; ++e) end[e] = problem_->node().stair_us * e;
    const auto last = end.begin() + std::min(engines, problem_->engines());
    trial_.clear();
    for (const std::uint32_t i : order_) {
        const auto first = std::min_element(end.begin(), last);
        *first += problem_->alone_us(messages[i]);
        trial_.of[static_cast<std::size_t>(first - end.begin())].push_back(
            {messages[i].bytes, i, messages[i].route_class});
    }
    take(exchange_us(rates_, trial_), trial_);
}

}  // namespace acp::exchange
