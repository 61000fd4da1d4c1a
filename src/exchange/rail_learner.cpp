// SPDX-License-Identifier: BSD-3-Clause
// Tracks the rates of rails, and assigns each piece to the rail that finishes it first. One thread
// per object.
#include "exchange/rail_learner.hpp"

#include <algorithm>

namespace acp::exchange {

namespace {

constexpr double newest_weight = 0.5;  // weight of the last exchange; earlier ones have the rest
constexpr double rate_min = 0.001;     // the least rate of a rail, relative to the mean rate

}  // namespace

RailLearner::RailLearner(unsigned rails) : rates_(rails), idle_(rails) {}

// A rail without measurements is taken to be as fast as the mean of the others.
std::vector<double> RailLearner::believed() const {
    double sum = 0;
    double known = 0;
    for (const double rate : rates_) {
        sum += rate;
        known += rate > 0 ? 1 : 0;
    }
    const double mean = known > 0 ? sum / known : 1;
    std::vector<double> rates;
    for (const double rate : rates_)
        rates.push_back(std::max(rate > 0 ? rate : mean, rate_min * mean));
    return rates;
}

std::vector<unsigned> RailLearner::assign(std::span<const std::uint64_t> piece_bytes) {
    const std::vector<double> rates = believed();
    std::vector<double> bytes_of_rail(rates.size());
    std::vector<unsigned> rails(piece_bytes.size());
    for (std::size_t i = 0; i < piece_bytes.size(); ++i) {
        const auto bytes = static_cast<double>(piece_bytes[i]);
        if (bytes == 0) continue;
        unsigned best = 0;
        for (unsigned rail = 1; rail < rates.size(); ++rail) {
            if ((bytes_of_rail[rail] + bytes) / rates[rail] <
                (bytes_of_rail[best] + bytes) / rates[best])
                best = rail;
        }
        bytes_of_rail[best] += bytes;
        rails[i] = best;
    }
    for (unsigned rail = 0; rail < idle_.size(); ++rail)
        idle_[rail] = bytes_of_rail[rail] > 0 ? 0 : idle_[rail] + 1;
    try_idle_rail(piece_bytes, rails);
    return rails;
}

void RailLearner::try_idle_rail(std::span<const std::uint64_t> piece_bytes,
                                std::vector<unsigned>& rails) {
    const auto longest = std::max_element(idle_.begin(), idle_.end());
    if (*longest < idle_max) return;
    std::size_t shortest = piece_bytes.size();
    for (std::size_t i = 0; i < piece_bytes.size(); ++i) {
        if (piece_bytes[i] == 0) continue;
        if (shortest == piece_bytes.size() || piece_bytes[i] < piece_bytes[shortest]) shortest = i;
    }
    if (shortest == piece_bytes.size()) return;
    rails[shortest] = static_cast<unsigned>(longest - idle_.begin());
    *longest = 0;
}

void RailLearner::note(unsigned rail, std::uint64_t bytes, double took_us) {
    if (bytes == 0 || !(took_us > 0)) return;
    const double seen = static_cast<double>(bytes) / took_us;
    double& rate = rates_[rail];
    rate = rate > 0 ? rate + newest_weight * (seen - rate) : seen;
}

}  // namespace acp::exchange
