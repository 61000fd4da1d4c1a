// SPDX-License-Identifier: BSD-3-Clause
// Makes one move per round. One thread per object.
#include "exchange/tail_balance.hpp"

#include <algorithm>
#include <cmath>

namespace acp::exchange {

namespace {

constexpr double cut_step = 64;
constexpr double cut_bytes_min = 512;
// pieces of this many classes are tried, from the end of the queue
constexpr unsigned classes_tried_max = 6;
constexpr double even_us = 0.05;  // ends that differ by less are equal
constexpr double least_gain_us = 0.02;

// A mean of the engines' ends that is close to the last of them: an early end counts little.
double ends_measure(const std::array<double, engines_max>& ends, unsigned engines) {
    double last = 1e-9;
    for (unsigned e = 0; e < engines; ++e) last = std::max(last, ends[e]);
    double sum = 0;
    for (unsigned e = 0; e < engines; ++e) {
        double share = ends[e] / last;
        share *= share;
        share *= share;
        sum += share * share;
    }
    return last * std::sqrt(std::sqrt(std::sqrt(sum / engines)));
}

}  // namespace

double TailBalance::improve(RateMemo& rates,
                            double good_enough,
                            bool may_split,
                            EngineQueues& queues) {
    const unsigned engines = rates.problem().engines();
    now_.queues = queues;
    evaluate(rates, now_);
    double best = now_.exchange;
    for (int round = 0; round < balance_rounds_max && best > good_enough; ++round) {
        const auto begin = now_.ends.begin();
        const auto last = static_cast<unsigned>(std::max_element(begin, begin + engines) - begin);
        const auto first = static_cast<unsigned>(std::min_element(begin, begin + engines) - begin);
        if (now_.ends[last] - now_.ends[first] < even_us) break;
        if (!try_moves(rates, last, first, may_split)) break;
        std::swap(now_, best_move_);
        if (now_.exchange >= best - 1e-6) continue;
        best = now_.exchange;
        queues = now_.queues;
    }
    return best;
}

void TailBalance::evaluate(RateMemo& rates, Trial& trial) const {
    const double transfer = transfer_us(rates, trial.queues, trial.ends);
    const std::size_t pieces = trial.queues.pieces();
    trial.exchange = exchange_us(rates.problem(), transfer, pieces);
    trial.measure =
        exchange_us(rates.problem(), ends_measure(trial.ends, rates.problem().engines()), pieces);
}

// Stores the best move in best_move_. False: no move is a gain.
bool TailBalance::try_moves(RateMemo& rates, unsigned last, unsigned first, bool may_split) {
    const NodeRates& node = rates.problem().node();
    const double gap = now_.ends[last] - now_.ends[first];
    const auto& queue = now_.queues.of[last];
    std::array<ClassIndex, classes_tried_max> tried{};
    unsigned tried_count = 0;
    best_move_.measure = now_.measure - least_gain_us;
    bool is_found = false;
    for (std::size_t place = queue.size(); place-- > 0 && tried_count < classes_tried_max;) {
        const QueuedPiece piece = queue[place];
        const auto end = tried.begin() + tried_count;
        if (std::find(tried.begin(), end, piece.route_class) != end) continue;
        tried[tried_count++] = piece.route_class;
        for (const double share : {0.5, 0.8}) {
            const double bytes = std::min(piece.bytes, gap * share * node.engine_rate);
            const bool is_whole = bytes >= piece.bytes * 0.97;
            const bool is_worth = may_split && gap * 0.5 >= node.command_us * 0.8;
            if (!is_whole && !is_worth) continue;
            if (!cut(rates, last, place, first, is_whole ? piece.bytes : bytes)) continue;
            const auto more = static_cast<double>(trial_.queues.pieces()) -
                              static_cast<double>(now_.queues.pieces());
            const bool is_no_later =
                trial_.exchange < now_.exchange + 0.01 + node.command_us * more;
            if (trial_.measure < best_move_.measure && is_no_later) {
                std::swap(trial_, best_move_);
                is_found = true;
            }
            if (is_whole) break;
        }
    }
    return is_found;
}

// Computes the trial in which `bytes` bytes of a piece move to another engine. False: too few
// bytes, or no steps are left.
bool TailBalance::cut(
    RateMemo& rates, unsigned last, std::size_t place, unsigned first, double bytes) {
    if (rates.steps_left() == 0) return false;
    trial_.queues = now_.queues;
    auto& from = trial_.queues.of[last];
    QueuedPiece part = from[place];
    if (bytes >= part.bytes) {
        from.erase(from.begin() + static_cast<std::ptrdiff_t>(place));
    } else {
        part.bytes = std::floor(bytes / cut_step) * cut_step;
        if (part.bytes < cut_bytes_min) return false;
        from[place].bytes -= part.bytes;
    }
    trial_.queues.of[first].push_back(part);
    evaluate(rates, trial_);
    return true;
}

}  // namespace acp::exchange
