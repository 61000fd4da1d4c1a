// SPDX-License-Identifier: BSD-3-Clause
// The static route between two nodes of a model: the listed one; on a torus the one along the
// dimensions in order; otherwise a shortest one. If several next links are on shortest routes, it
// takes the one of number target modulo their count, as fat trees do. One thread.
// Tests: tests/unit/exchange_study/route_finder_test.cpp.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "exchange/network_model.hpp"

namespace acp::exchange_study {

class RouteFinder {
public:
    //   model  passed its check(); must outlive the finder, unchanged
    explicit RouteFinder(const exchange::NetworkModel& model);

    // The links from source to target in order; empty if both are the same. Errors: argument (no
    // such node, or no way; the message names both ends), limit (longer than route_links_max).
    [[nodiscard]] base::Result<std::vector<exchange::ModelLinkIndex>> find(
        exchange::ModelNode source, exchange::ModelNode target);

private:
    [[nodiscard]] std::vector<exchange::ModelLinkIndex> along_torus(
        exchange::ModelNode source, exchange::ModelNode target) const;
    [[nodiscard]] std::vector<exchange::ModelLinkIndex> shortest(exchange::ModelNode source,
                                                                 exchange::ModelNode target);
    const std::vector<std::uint32_t>& distances_to(exchange::ModelNode target);

    const exchange::NetworkModel& model_;
    // Links sorted by their start, and by their end: those of vertex v are first_[v] .. first_[v +
    // 1] - 1.
    std::vector<exchange::ModelLinkIndex> leaving_, arriving_;
    std::vector<std::uint32_t> first_leaving_, first_arriving_;
    // distances to each target
    std::unordered_map<exchange::ModelNode, std::vector<std::uint32_t>> distances_;
};

}  // namespace acp::exchange_study
