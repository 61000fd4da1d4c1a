// SPDX-License-Identifier: BSD-3-Clause
// The events of a schedule: engines become free, start pieces, take over parts. One thread per
// object.
#include "exchange/greedy_scheduler.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace acp::exchange {

namespace {

constexpr double piece_bytes_step = 64;  // pieces are cut at multiples of this
constexpr double part_bytes_min = 1024;  // the shortest part that is taken over
constexpr double never_ready = 1e300;

float power(float value, unsigned exponent) {
    for (; exponent > 1; exponent /= 2) value *= value;
    return value;
}

}  // namespace

void GreedyScheduler::prepare(RateMemo& rates, std::span<const QueuedPiece> pieces) {
    const NodeProblem& problem = rates.problem();
    prepared_.problem = &problem;
    prepared_.rates = &rates;
    const std::size_t classes = problem.classes().size();
    prepared_.class_first.assign(classes + 1, 0);
    for (const QueuedPiece& piece : pieces) ++prepared_.class_first[piece.route_class + 1U];
    for (std::size_t c = 1; c <= classes; ++c)
        prepared_.class_first[c] += prepared_.class_first[c - 1];
    next_.assign(prepared_.class_first.begin(), prepared_.class_first.end() - 1);
    prepared_.pieces.resize(pieces.size());
    for (const QueuedPiece& piece : pieces) prepared_.pieces[next_[piece.route_class]++] = piece;
    const auto first = prepared_.pieces.begin();
    prepared_.load.fill(0);
    prepared_.total = 0;
    for (std::size_t c = 0; c < classes; ++c) {
        std::stable_sort(
            first + prepared_.class_first[c], first + prepared_.class_first[c + 1],
            [](const QueuedPiece& a, const QueuedPiece& b) { return a.bytes > b.bytes; });
        double bytes = 0;
        for (std::size_t i = prepared_.class_first[c]; i < prepared_.class_first[c + 1]; ++i)
            bytes += prepared_.pieces[i].bytes;
        prepared_.total += static_cast<float>(bytes);
        for (std::uint64_t left = problem.classes()[c].links; left != 0; left &= left - 1) {
            const auto link = static_cast<unsigned>(std::countr_zero(left));
            prepared_.load[link] +=
                static_cast<float>(bytes * problem.uses(static_cast<ClassIndex>(c), link));
        }
    }
    prepared_.favour.assign(classes, 1);
    worth_.resize(classes);
    late_bytes_.resize(classes);
}

double GreedyScheduler::run(const GreedyWeights& weights, bool may_split, EngineQueues& queues) {
    begin_run(queues);
    do {
        if (left_ != 0) start_pieces(weights, queues);
        if (left_ == 0) help_others(may_split, queues);
    } while (advance());
    return end_us_;
}

// No piece is left to start: each free engine takes over part of a running piece, or is done. So
// every engine works without a pause from its first piece to its last.
void GreedyScheduler::help_others(bool may_split, EngineQueues& queues) {
    bool is_worth = may_split;
    for (unsigned lane = 0; lane < prepared_.problem->engines(); ++lane) {
        if (!is_free(lane)) continue;
        is_worth = is_worth && take_over(lane, queues);
        lanes_[lane].is_done = !is_worth;
    }
}

void GreedyScheduler::favour_late_classes(float step) {
    float most = 1e-9F;
    for (const float bytes : late_bytes_) most = std::max(most, bytes);
    for (std::size_t c = 0; c < late_bytes_.size(); ++c)
        prepared_.favour[c] *= 1 + step * late_bytes_[c] / most;
}

void GreedyScheduler::begin_run(EngineQueues& queues) {
    queues.clear();
    next_.assign(prepared_.class_first.begin(), prepared_.class_first.end() - 1);
    std::fill(late_bytes_.begin(), late_bytes_.end(), 0.0F);
    load_ = prepared_.load;
    total_ = prepared_.total;
    left_ = prepared_.pieces.size();
    now_ = 0;
    end_us_ = 0;
    idle_from_us_ = never_ready;
    for (unsigned lane = 0; lane < lanes_.size(); ++lane)
        lanes_[lane] = {0, prepared_.problem->node().stair_us * lane, 0, false, false};
}

void GreedyScheduler::find_prices(const GreedyWeights& weights) {
    const NodeProblem& problem = *prepared_.problem;
    const NodeRates& node = problem.node();
    const auto links = static_cast<unsigned>(problem.link_rates().size());
    const float injection = total_ / static_cast<float>(node.injection_rate);
    const float engines = total_ / static_cast<float>(node.engines * node.engine_rate);
    float horizon = std::max(injection, engines);
    std::array<float, problem_links_max> price;  // NOLINT: each that is read is set
    for (unsigned link = 0; link < links; ++link) {
        price[link] = load_[link] / static_cast<float>(problem.link_rates()[link]);
        horizon = std::max(horizon, price[link]);
    }
    inverse_horizon_ = 1 / std::max(horizon, 1e-12F);
    for (unsigned link = 0; link < links; ++link)
        price[link] = power(price[link] * inverse_horizon_, weights.exponent);
    const float common = power(injection * inverse_horizon_, weights.exponent) +
                         power(engines * inverse_horizon_, weights.exponent);
    for (std::size_t c = 0; c < worth_.size(); ++c) {
        float sum = common;
        for (std::uint64_t left = problem.classes()[c].links; left != 0; left &= left - 1) {
            const auto link = static_cast<unsigned>(std::countr_zero(left));
            sum += price[link] * static_cast<float>(problem.uses(static_cast<ClassIndex>(c), link));
        }
        worth_[c] = sum * prepared_.favour[c];
    }
}

void GreedyScheduler::start_pieces(const GreedyWeights& weights, EngineQueues& queues) {
    const unsigned engines = prepared_.problem->engines();
    bool are_prices_known = false;
    for (unsigned lane = 0; lane < engines && left_ != 0; ++lane) {
        if (!is_free(lane)) continue;
        if (!are_prices_known) find_prices(weights);
        are_prices_known = true;
        const ClassIndex route_class = dearest_class(weights);
        const QueuedPiece& piece = prepared_.pieces[next_[route_class]++];
        lanes_[lane].left = piece.bytes;
        lanes_[lane].route_class = route_class;
        lanes_[lane].is_busy = true;
        queues.of[lane].push_back(piece);
        --left_;
    }
}

unsigned GreedyScheduler::collect_busy() {
    unsigned flows = 0;
    for (unsigned lane = 0; lane < prepared_.problem->engines(); ++lane) {
        if (!lanes_[lane].is_busy) continue;
        flows_[flows] = lanes_[lane].route_class;
        flow_lane_[flows++] = lane;
    }
    return flows;
}

ClassIndex GreedyScheduler::dearest_class(const GreedyWeights& weights) {
    const NodeProblem& problem = *prepared_.problem;
    const float scale = inverse_horizon_ / static_cast<float>(problem.node().engine_rate);
    // The rest of the message counts too: an engine sends it no faster than its own rate.
    const auto own = [&](double bytes) {
        const float share = static_cast<float>(bytes) * scale;
        return weights.message_weight * power(std::min(1.0F, share), weights.exponent);
    };
    const unsigned flows = collect_busy();
    std::array<float, engines_max> running{};
    for (unsigned i = 0; i < flows; ++i)
        running[i] = worth_[flows_[i]] + own(lanes_[flow_lane_[i]].left);
    ClassIndex best = 0;
    double most = -1;
    // The worth that the running pieces earn now; with one more beside them they earn at most this.
    double running_value = 0;
    if (flows != 0) {
        const FlowShare* const shares = prepared_.rates->share(flows_.data(), flows);
        for (unsigned i = 0; i < flows; ++i) running_value += shares[i].rate * running[i];
    }
    const double by_size = (weights.size_bias + 1e-7) / (1 + total_);
    for (std::size_t c = 0; c < worth_.size(); ++c) {
        if (next_[c] == prepared_.class_first[c + 1]) continue;
        const double bytes = prepared_.pieces[next_[c]].bytes;
        const double worth = worth_[c] + own(bytes);
        const double bias = 1 + by_size * bytes +
                            weights.hop_bias * (static_cast<float>(problem.classes()[c].hops) - 1);
        if ((running_value + problem.classes()[c].rate_max * worth) * bias <= most) continue;
        flows_[flows] = static_cast<ClassIndex>(c);
        const FlowShare* const shares = prepared_.rates->share(flows_.data(), flows + 1);
        double value = shares[flows].rate * worth;
        for (unsigned i = 0; i < flows; ++i) value += shares[i].rate * running[i];
        value *= bias;
        if (value <= most) continue;
        most = value;
        best = static_cast<ClassIndex>(c);
    }
    return best;
}

// The running piece whose help shortens the rest most, by the fourth-power mean of the engines'
// ends; `flows`: none is worth a command.
unsigned GreedyScheduler::best_to_help(unsigned flows, double last_us, const FlowShare* shares) {
    const NodeProblem& problem = *prepared_.problem;
    const auto fourth = [](double value) { return value * value * value * value; };
    double before = 0;
    for (unsigned i = 0; i < flows; ++i)
        before += fourth(lanes_[flow_lane_[i]].left * shares[i].us_per_byte / last_us);
    unsigned best = flows;
    double most = problem.node().command_us;
    for (unsigned i = 0; i < flows; ++i) {
        if (lanes_[flow_lane_[i]].left < 2 * part_bytes_min) continue;
        flows_[flows] = flows_[i];
        const FlowShare* const helped = prepared_.rates->share(flows_.data(), flows + 1);
        double after = 0;
        for (unsigned k = 0; k < flows; ++k) {
            const double rate = helped[k].rate + (k == i ? helped[flows].rate : 0);
            after += fourth(lanes_[flow_lane_[k]].left / rate / last_us);
        }
        const double gain = last_us * (std::sqrt(std::sqrt(before)) - std::sqrt(std::sqrt(after)));
        if (gain <= most) continue;
        most = gain;
        best = i;
    }
    return best;
}

// Takes over part of a running piece. False: it is not worth it for any piece.
bool GreedyScheduler::take_over(unsigned lane, EngineQueues& queues) {
    const NodeProblem& problem = *prepared_.problem;
    const unsigned flows = collect_busy();
    if (flows == 0) return false;
    const FlowShare* shares = prepared_.rates->share(flows_.data(), flows);
    double last_us = 0;
    for (unsigned i = 0; i < flows; ++i)
        last_us = std::max(last_us, lanes_[flow_lane_[i]].left * shares[i].us_per_byte);
    if (last_us < 2 * problem.node().command_us + 0.2) return false;
    const unsigned helped = best_to_help(flows, last_us, shares);
    if (helped == flows) return false;
    flows_[flows] = flows_[helped];
    shares = prepared_.rates->share(flows_.data(), flows + 1);
    Lane& other = lanes_[flow_lane_[helped]];
    const double share = shares[flows].rate / (shares[flows].rate + shares[helped].rate);
    const double part = std::floor(other.left * share / piece_bytes_step) * piece_bytes_step;
    if (part < part_bytes_min || other.left - part < piece_bytes_step) return false;
    other.left -= part;
    QueuedPiece& whole = queues.of[flow_lane_[helped]].back();
    whole.bytes -= part;
    queues.of[lane].push_back({part, whole.message, whole.route_class});
    lanes_[lane].left = part;
    lanes_[lane].route_class = whole.route_class;
    lanes_[lane].is_busy = true;
    return true;
}

double GreedyScheduler::next_ready() const {
    double next = never_ready;
    for (unsigned lane = 0; lane < prepared_.problem->engines(); ++lane) {
        const Lane& one = lanes_[lane];
        if (!one.is_busy && !one.is_done && one.ready_us > now_ + 1e-9)
            next = std::min(next, one.ready_us);
    }
    return next;
}

// Lets the pieces run until one ends or an engine becomes ready. False: all pieces have ended.
bool GreedyScheduler::advance() {
    const NodeProblem& problem = *prepared_.problem;
    const unsigned flows = collect_busy();
    const double next = next_ready();
    if (flows == 0) {
        now_ = next;
        return next < never_ready;
    }
    const FlowShare* const shares = prepared_.rates->share(flows_.data(), flows);
    double elapsed = next - now_;
    for (unsigned i = 0; i < flows; ++i)
        elapsed = std::min(elapsed, lanes_[flow_lane_[i]].left * shares[i].us_per_byte);
    if (flows < problem.engines() && left_ == 0) idle_from_us_ = std::min(idle_from_us_, now_);
    now_ += elapsed;
    for (unsigned i = 0; i < flows; ++i) {
        Lane& lane = lanes_[flow_lane_[i]];
        const double sent = shares[i].rate * elapsed;
        if (now_ > idle_from_us_) late_bytes_[lane.route_class] += static_cast<float>(sent);
        lane.left -= sent;
        total_ -= static_cast<float>(sent);
        for (std::uint64_t left = problem.classes()[lane.route_class].links; left != 0;
             left &= left - 1) {
            const auto link = static_cast<unsigned>(std::countr_zero(left));
            load_[link] -= static_cast<float>(sent * problem.uses(lane.route_class, link));
        }
        if (lane.left > 1e-3) continue;
        lane.is_busy = false;
        lane.ready_us = now_;
        end_us_ = now_;
    }
    return true;
}

}  // namespace acp::exchange
