// SPDX-License-Identifier: BSD-3-Clause
// Table 1 of paper 003. Any thread.
#include "exchange_study/paper_patterns.hpp"

#include "base/assert.hpp"
#include "exchange/network_presets.hpp"

namespace acp::exchange_study {

namespace {

constexpr std::uint64_t point_bytes = 8;
constexpr std::uint64_t halo = 2;
constexpr std::uint64_t grid_edge = 16;

}  // namespace

std::string_view name_of(PaperPattern pattern) {
    constexpr std::array<std::string_view, 5> names = {"EW", "NS", "4", "DG", "8"};
    return names[static_cast<std::size_t>(pattern)];
}

PaperSizes paper_sizes(std::uint32_t grid_size) {
    const std::uint64_t height = (halo + grid_size + halo) * point_bytes;
    return {height * halo * grid_edge, height * grid_edge, height * halo};
}

std::vector<exchange::OffsetMessage> paper_messages(PaperPattern pattern, std::uint32_t grid_size) {
    const PaperSizes sizes = paper_sizes(grid_size);
    std::vector<exchange::OffsetMessage> messages;
    const auto add = [&](std::int32_t east, std::int32_t north, std::uint64_t bytes, int times) {
        for (int i = 0; i < times; ++i) messages.push_back({{east, north}, bytes});
    };
    const bool is_all = pattern == PaperPattern::eight;
    if (is_all || pattern == PaperPattern::diagonal) {
        add(-1, 1, sizes.diagonal, 2);
        add(1, 1, sizes.diagonal, 2);
        add(-1, -1, sizes.diagonal, 2);
        add(1, -1, sizes.diagonal, 2);
    }
    if (is_all || pattern == PaperPattern::four || pattern == PaperPattern::east_west) {
        add(1, 0, sizes.east, 1);
        add(-1, 0, sizes.east, 1);
    }
    if (is_all || pattern == PaperPattern::four || pattern == PaperPattern::north_south) {
        add(0, 1, sizes.north, 2);
        add(0, -1, sizes.north, 2);
    }
    return messages;
}

exchange::NodeProblem paper_problem(PaperPattern pattern, std::uint32_t grid_size) {
    return paper_problem(pattern, grid_size, {}, exchange::tofu_link_rate);
}

exchange::NodeProblem paper_problem(PaperPattern pattern,
                                    std::uint32_t grid_size,
                                    const exchange::NodeRates& node,
                                    double link_rate) {
    const auto torus = exchange::make_torus({6, 8}, link_rate, node);
    ACP_ASSERT(torus.is_ok());
    auto problem =
        exchange::NodeProblem::symmetric(torus.value(), paper_messages(pattern, grid_size));
    ACP_ASSERT(problem.is_ok());
    return std::move(problem).value();
}

}  // namespace acp::exchange_study
