// SPDX-License-Identifier: BSD-3-Clause
// Progressive filling: all flows rise together until a resource is full; its flows keep their
// rates, and the rest rise on. One thread.
#include "exchange_study/max_min.hpp"

#include <algorithm>
#include <utility>

namespace acp::exchange_study {

namespace {

constexpr double nearly = 1e-9;  // a share of a capacity; less than this left is none

}  // namespace

MaxMinFair::MaxMinFair(std::vector<double> capacities, std::size_t lossy, double loss_per_flow)
    : capacities_(std::move(capacities)),
      lossy_(lossy),
      loss_per_flow_(loss_per_flow),
      left_(capacities_.size()),
      users_(capacities_.size()) {}

void MaxMinFair::share(std::span<const SharedPath> flows, std::vector<double>& rates) {
    rates.assign(flows.size(), 0);
    rising_.clear();
    used_.clear();
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
        rising_.push_back(i);
        for (const std::uint32_t resource : flows[i].resources) {
            if (users_[resource]++ == 0) used_.push_back(resource);
        }
    }
    for (const std::uint32_t resource : used_) {
        const bool is_lossy = resource < lossy_;
        const double loss = is_lossy ? loss_per_flow_ * (users_[resource] - 1) : 0;
        left_[resource] = capacities_[resource] * std::max(1 - loss, 0.05);
    }
    double level = 0;
    while (!rising_.empty()) {
        const double next = next_level(flows, level);
        for (const std::uint32_t resource : used_)
            left_[resource] -= (next - level) * users_[resource];
        level = next;
        freeze(flows, level, rates);
    }
    for (const std::uint32_t resource : used_) users_[resource] = 0;
}

double MaxMinFair::next_level(std::span<const SharedPath> flows, double level) const {
    double rise = 1e300;
    for (const std::uint32_t flow : rising_) rise = std::min(rise, flows[flow].rate_max - level);
    for (const std::uint32_t resource : used_) {
        if (users_[resource] != 0) rise = std::min(rise, left_[resource] / users_[resource]);
    }
    return level + std::max(rise, 0.0);
}

void MaxMinFair::freeze(std::span<const SharedPath> flows,
                        double level,
                        std::vector<double>& rates) {
    const auto is_full = [this](std::uint32_t resource) {
        return left_[resource] <= nearly * capacities_[resource];
    };
    // All flows are judged by the same counts, before any is removed.
    const auto stays =
        std::stable_partition(rising_.begin(), rising_.end(), [&](std::uint32_t flow) {
            const auto& path = flows[flow].resources;
            return level < flows[flow].rate_max * (1 - nearly) &&
                   std::none_of(path.begin(), path.end(), is_full);
        });
    for (auto flow = stays; flow != rising_.end(); ++flow) {
        rates[*flow] = level;
        for (const std::uint32_t resource : flows[*flow].resources) --users_[resource];
    }
    rising_.erase(stays, rising_.end());
}

}  // namespace acp::exchange_study
