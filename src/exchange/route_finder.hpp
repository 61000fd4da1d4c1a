// SPDX-License-Identifier: BSD-3-Clause
// The static route between two nodes of a model: the listed one; on a torus the one along the
// dimensions in order; otherwise a shortest one. If several next links are on shortest routes, it
// takes the one of number target modulo their count, as fat trees do. One thread.
// Tests: tests/unit/exchange/route_finder_test.cpp.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "exchange/network_model.hpp"

namespace acp::exchange {

class RouteFinder {
public:
    //   model  passed its check(); must outlive the finder, unchanged
    explicit RouteFinder(const NetworkModel& model);

    // The links from source to target in order; empty if both are the same. Errors: argument (no
    // such node, or no way; the message names both ends), limit (longer than route_links_max).
    [[nodiscard]] base::Result<std::vector<ModelLinkIndex>> find(ModelNode source,
                                                                 ModelNode target);

private:
    [[nodiscard]] std::vector<ModelLinkIndex> along_torus(ModelNode source, ModelNode target) const;
    [[nodiscard]] std::vector<ModelLinkIndex> shortest(ModelNode source, ModelNode target);
    const std::vector<std::uint32_t>& distances_to(ModelNode target);

    const NetworkModel& model_;
    // Links sorted by their start, and by their end: those of vertex v are first_[v] .. first_[v +
    // 1] - 1.
    std::vector<ModelLinkIndex> leaving_, arriving_;
    std::vector<std::uint32_t> first_leaving_, first_arriving_;
    // distances to each target
    std::unordered_map<ModelNode, std::vector<std::uint32_t>> distances_;
};

}  // namespace acp::exchange
