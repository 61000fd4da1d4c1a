// SPDX-License-Identifier: BSD-3-Clause
// Max-min fair sharing: the rates of flows that run at once over resources with capacities, such
// that a flow can get more only at the cost of a flow with no more than it. Knows no time and no
// engine. One thread per object.
// Source: progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2). Tests:
// tests/unit/exchange_study/max_min_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace acp::exchange_study {

// The resources that a flow uses. A resource that is listed twice is used twice.
struct SharedPath {
    std::span<const std::uint32_t> resources;
    double rate_max = 0;
};

class MaxMinFair {
public:
    //   capacities     of the resources, each > 0
    //   lossy          resources 0 .. lossy - 1 lose capacity when they are shared
    //   loss_per_flow  the share that they lose for each flow after the first
    explicit MaxMinFair(std::vector<double> capacities,
                        std::size_t lossy = 0,
                        double loss_per_flow = 0);

    //   rates  receives one rate per flow
    void share(std::span<const SharedPath> flows, std::vector<double>& rates);

private:
    // The next level, from `level`, to which all rising flows can rise together.
    [[nodiscard]] double next_level(std::span<const SharedPath> flows, double level) const;
    void freeze(std::span<const SharedPath> flows, double level, std::vector<double>& rates);

    std::vector<double> capacities_;
    std::size_t lossy_;
    double loss_per_flow_;
    std::vector<double> left_;          // capacity left, of each used resource
    std::vector<std::uint32_t> users_;  // rising flows, by resource
    std::vector<std::uint32_t> used_;   // resources with users
    std::vector<std::uint32_t> rising_;
};

}  // namespace acp::exchange_study
