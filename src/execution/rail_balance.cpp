// SPDX-License-Identifier: BSD-3-Clause
// Assigns parcels to rails at the start of a round, and measures a rail when its last parcel
// completes.
#include "execution/rail_balance.hpp"

#include <algorithm>

namespace acp::execution {

namespace {

// A rail's time counts as a measurement only if at most this part of it passed since the poll
// before: the completion was then seen soon after it happened.
constexpr std::uint64_t sharpness = 8;

// The plan's rails stay unless a round is expected to take more than this many times as long by
// them as by the learned rates.
constexpr double plan_loss_max = 1.1;

}  // namespace

RailBalance::RailBalance(unsigned rails,
                         std::vector<std::uint64_t> parcel_bytes,
                         std::vector<unsigned> planned)
    : learner_(rails),
      parcel_bytes_(std::move(parcel_bytes)),
      planned_(std::move(planned)),
      parts_(rails) {
    for (std::uint64_t& bytes : parcel_bytes_) bytes = bytes < bytes_min ? 0 : bytes;
    const auto long_ones = std::count_if(parcel_bytes_.begin(), parcel_bytes_.end(),
                                         [](std::uint64_t bytes) { return bytes != 0; });
    is_on_ = rails > 1 && long_ones > 1;
    rail_of_.resize(parcel_bytes_.size());
}

void RailBalance::begin(std::uint64_t now_ns) {
    const double passed_us = static_cast<double>(now_ns - begun_ns_) / 1e3;
    for (unsigned rail = 0; rail < parts_.size(); ++rail) {
        Part& part = parts_[rail];
        const bool is_open = !part.under_way.empty();
        const std::uint64_t bytes = std::exchange(part.bytes, 0);
        part.under_way.clear();
        const bool is_slower = static_cast<double>(bytes) < learner_.rate(rail) * passed_us;
        if (is_open && (is_slower || learner_.rate(rail) == 0))
            learner_.note(rail, bytes, passed_us);
    }
    rails_under_way_ = 0;
    rail_of_ = learner_.assign(parcel_bytes_);
    has_left_plan_ = !planned_.empty() && !is_plan_good(rail_of_);
    if (!planned_.empty() && !has_left_plan_) rail_of_ = planned_;
    for (std::size_t i = 0; i < rail_of_.size(); ++i) parts_[rail_of_[i]].bytes += parcel_bytes_[i];
    begun_ns_ = looked_ns_ = now_ns;
}

// True while the rate of some rail is unknown: a rail that the plan does not use stays unknown.
bool RailBalance::is_plan_good(std::span<const unsigned> instead) const {
    for (unsigned rail = 0; rail < rails(); ++rail) {
        if (rate(rail) == 0) return true;
    }
    return expected_us(planned_) <= plan_loss_max * expected_us(instead);
}

// The predicted time of a round; all rates must be known.
double RailBalance::expected_us(std::span<const unsigned> rails) const {
    std::vector<double> took_us(parts_.size());
    for (std::size_t i = 0; i < rails.size(); ++i)
        took_us[rails[i]] += static_cast<double>(parcel_bytes_[i]) / rate(rails[i]);
    return *std::max_element(took_us.begin(), took_us.end());
}

void RailBalance::note_sent(std::size_t parcel, std::uint64_t handle) {
    Part& part = parts_[rail_of_[parcel]];
    part.under_way.push_back(handle);
    if (part.under_way.size() == 1) ++rails_under_way_;
}

void RailBalance::end(unsigned rail, std::uint64_t now_ns) noexcept {
    const Part& part = parts_[rail];
    --rails_under_way_;
    const std::uint64_t took_ns = now_ns - begun_ns_;
    if (now_ns - looked_ns_ > took_ns / sharpness) return;
    learner_.note(rail, part.bytes, static_cast<double>(took_ns) / 1e3);
}

}  // namespace acp::execution
