// SPDX-License-Identifier: BSD-3-Clause
// Rates that follow what was seen, and rails that are filled one after the other. One thread per object.
#include "exchange/rail_learner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace acp::exchange {

namespace {

constexpr double newest_weight = 0.5;  // of the last exchange, beside all before
constexpr double share_min =
    0.01;  // of a rail, of an equal share: by it one sees that the rail has recovered
constexpr std::uint64_t rail_piece_step = 64;  // messages are cut at multiples of it

}  // namespace

RailLearner::RailLearner(unsigned rails) : rates_(rails) {}

// Of each rail, of all bytes. Rails of which nothing is known are as fast as the mean of the others.
std::vector<double> RailLearner::shares() const {
    double sum = 0;
    double known = 0;
    for (const double rate : rates_) {
        sum += rate;
        known += rate > 0 ? 1 : 0;
    }
    const double mean = known > 0 ? sum / known : 1;
    std::vector<double> shares;
    for (const double rate : rates_)
        shares.push_back(std::max(rate > 0 ? rate : mean, share_min * mean));
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= all;
    return shares;
}

std::vector<std::vector<SentPiece>> RailLearner::divide(
    std::span<const std::uint64_t> message_bytes) const {
    const auto shares_of_rails = shares();
    const auto total = static_cast<double>(
        std::accumulate(message_bytes.begin(), message_bytes.end(), std::uint64_t{0}));
    std::vector<std::vector<SentPiece>> rails(rates_.size());
    std::size_t rail = 0;
    double room = total * shares_of_rails[0];
    for (std::uint32_t i = 0; i < message_bytes.size(); ++i) {
        for (std::uint64_t sent = 0; sent < message_bytes[i];) {
            const std::uint64_t left = message_bytes[i] - sent;
            const auto fitting = static_cast<std::uint64_t>(std::max(std::round(room), 0.0)) /
                                 rail_piece_step * rail_piece_step;
            const bool is_last = rail + 1 == rails.size();
            const std::uint64_t bytes = is_last ? left : std::min(left, fitting);
            if (bytes != 0) rails[rail].push_back({i, sent, bytes});
            sent += bytes;
            room -= static_cast<double>(bytes);
            // A rail is full when not even the smallest piece fits.
            if (!is_last && room < rail_piece_step) room += total * shares_of_rails[++rail];
        }
    }
    return rails;
}

void RailLearner::note(unsigned rail, std::uint64_t bytes, double took_us) {
    if (bytes == 0 || !(took_us > 0)) return;
    const double seen = static_cast<double>(bytes) / took_us;
    double& rate = rates_[rail];
    rate = rate > 0 ? rate + newest_weight * (seen - rate) : seen;
}

}  // namespace acp::exchange
