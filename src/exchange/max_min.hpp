// SPDX-License-Identifier: BSD-3-Clause
// Max-min fair sharing: the rates of flows that run at once, each over resources with capacities, such that no flow can get more
// but at the cost of one that has no more than it. Knows no time and no engine. One thread per object.
// Source: progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2). Tests: tests/unit/exchange/max_min_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace acp::exchange {

// What a flow uses. A resource that is named twice is used twice.
struct SharedPath {
    std::span<const std::uint32_t> resources;
    double rate_max = 0;
};

class MaxMinFair {
public:
    //   capacities     of the resources, each > 0
    //   lossy          resources 0 .. lossy - 1 lose a share of their capacity ...
    //   loss_per_flow  ... for each flow on them after the first
    explicit MaxMinFair(std::vector<double> capacities,
                        std::size_t lossy = 0,
                        double loss_per_flow = 0);

    //   rates  set: one per flow
    void share(std::span<const SharedPath> flows, std::vector<double>& rates);

private:
    // The level to which all flows can rise together, from `level`.
    [[nodiscard]] double next_level(std::span<const SharedPath> flows, double level) const;
    void freeze(std::span<const SharedPath> flows, double level, std::vector<double>& rates);

    std::vector<double> capacities_;
    std::size_t lossy_;
    double loss_per_flow_;
    std::vector<double> left_;          // of each used resource
    std::vector<std::uint32_t> users_;  // flows that still rise, by resource
    std::vector<std::uint32_t> used_;   // resources with users
    std::vector<std::uint32_t> rising_;
};

}  // namespace acp::exchange
