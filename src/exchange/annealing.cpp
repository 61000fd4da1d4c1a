// SPDX-License-Identifier: BSD-3-Clause
// Tries one change of a plan per evaluation. One thread per object.
#include "exchange/annealing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace acp::exchange {

namespace {

constexpr double heat = 0.004;  // the first temperature, as a share of the exchange's time
// weight of the mean end of the engines; the rest is the last end
constexpr double ends_share = 0.6;
constexpr double shift_step = 64;
constexpr double shifted_bytes_min = 256;  // the least that a piece keeps
constexpr double split_bytes_min = 4096;
constexpr std::size_t mates_max = 64;

}  // namespace

double Annealing::improve(RateMemo& rates, const AnnealingOptions& options, EngineQueues& queues) {
    const NodeProblem& problem = rates.problem();
    random_ = base::Random(options.seed);
    now_ = queues;
    trial_ = queues;
    changed_ = 0;
    const double first = transfer_us(rates, now_, ends_);
    double best = exchange_us(problem, first, now_.pieces());
    double current = measure(problem, first, ends_, now_.pieces());
    for (unsigned i = 0; i < options.evaluations && best > options.good_enough; ++i) {
        const double rest = 1 - static_cast<double>(i) / options.evaluations;
        const double temperature = heat * best * rest * rest + 1e-6;
        if (!change(problem.engines(), options.may_split)) {
            copy_changed(now_, trial_);
            continue;
        }
        EngineEnds ends{};
        const double transfer = transfer_us(rates, trial_, ends);
        const std::size_t pieces = trial_.pieces();
        const double value = measure(problem, transfer, ends, pieces);
        const double worse = value - current;
        if (!is_taken(worse, temperature)) {
            copy_changed(now_, trial_);
            continue;
        }
        current = value;
        copy_changed(trial_, now_);
        ends_ = ends;
        const double exchange = exchange_us(problem, transfer, pieces);
        if (exchange >= best - 1e-6) continue;
        best = exchange;
        queues = now_;
    }
    return best;
}

// Takes a worse plan with a probability that falls with the temperature.
bool Annealing::is_taken(double worse, double temperature) noexcept {
    if (worse <= 0) return true;
    if (worse > 6 * temperature) return false;
    return std::exp(-worse / temperature) * 4294967296.0 > any(std::size_t{1} << 32);
}

// Copies the queues in changed_, after which both plans are the same.
void Annealing::copy_changed(const EngineQueues& from, EngineQueues& to) {
    for (; changed_ != 0; changed_ &= changed_ - 1) {
        const auto engine = static_cast<unsigned>(std::countr_zero(changed_));
        to.of[engine] = from.of[engine];
    }
}

double Annealing::measure(const NodeProblem& problem,
                          double transfer,
                          const EngineEnds& ends,
                          std::size_t pieces) const {
    double sum = 0;
    for (unsigned e = 0; e < problem.engines(); ++e) {
        double share = ends[e] / std::max(transfer, 1e-9);
        share *= share;
        share *= share;
        sum += share * share;
    }
    const double spread = std::sqrt(std::sqrt(std::sqrt(sum / problem.engines())));
    return exchange_us(problem, transfer * (1 - ends_share + ends_share * spread), pieces);
}

bool Annealing::change(unsigned engines, bool may_split) {
    const unsigned kind = any(10);
    unsigned engine = any(engines);
    const unsigned other = any(engines);
    if (any(2) != 0) {  // more often than not it starts from the engine that ends last
        for (unsigned e = 0; e < engines; ++e) engine = ends_[e] > ends_[engine] ? e : engine;
    }
    if (trial_.of[engine].empty()) return false;
    const std::size_t place = any(trial_.of[engine].size());
    if (kind < 4) return swap_pieces(engine, other, place);
    if (kind < 7 || !may_split) {
        const QueuedPiece piece = trial_.of[engine][place];
        remove(engine, place);
        insert(other, piece);
        return true;
    }
    return any(3) != 0 && shift(engine, place) ? true : split(engine, other, place);
}

bool Annealing::swap_pieces(unsigned engine, unsigned other, std::size_t place) {
    if (trial_.of[other].empty()) return false;
    const std::size_t other_place = any(trial_.of[other].size());
    if (engine == other && place == other_place) return false;
    std::swap(changed(engine)[place], changed(other)[other_place]);
    return true;
}

bool Annealing::split(unsigned engine, unsigned other, std::size_t place) {
    QueuedPiece& piece = changed(engine)[place];
    if (piece.bytes < split_bytes_min) return false;
    QueuedPiece part = piece;
    part.bytes = std::floor(piece.bytes * (0.1 + 0.01 * any(80)) / shift_step) * shift_step;
    piece.bytes -= part.bytes;
    insert(other, part);
    return true;
}

bool Annealing::shift(unsigned engine, std::size_t place) {
    QueuedPiece& piece = changed(engine)[place];
    std::array<std::pair<unsigned, std::size_t>, mates_max>
        mates;  // NOLINT: the first `count` are set
    std::size_t count = 0;
    for (unsigned e = 0; e < engines_max; ++e) {
        for (std::size_t i = 0; i < trial_.of[e].size() && count < mates_max; ++i) {
            const bool is_itself = e == engine && i == place;
            if (!is_itself && trial_.of[e][i].message == piece.message) mates[count++] = {e, i};
        }
    }
    if (count == 0) return false;
    const auto [mate_engine, mate_place] = mates[any(count)];
    QueuedPiece& mate = changed(mate_engine)[mate_place];
    if (any(3) == 0) {
        mate.bytes += piece.bytes;
        remove(engine, place);
        return true;
    }
    const double share = 0.01 * any(100) * (any(2) != 0 ? 0.2 : 1);
    const double bytes = std::floor(piece.bytes * share / shift_step) * shift_step;
    if (bytes < shift_step || piece.bytes - bytes < shifted_bytes_min) return false;
    mate.bytes += bytes;
    piece.bytes -= bytes;
    return true;
}

void Annealing::insert(unsigned engine, const QueuedPiece& piece) {
    auto& queue = changed(engine);
    queue.insert(queue.begin() + any(queue.size() + 1), piece);
}

void Annealing::remove(unsigned engine, std::size_t place) {
    auto& queue = changed(engine);
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(place));
}

}  // namespace acp::exchange
