// SPDX-License-Identifier: BSD-3-Clause
// Adds the messages of one direction after another. Any thread.
#include "exchange/grid_halo.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace acp::exchange {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::uint64_t array_bytes_end = std::uint64_t{1} << 50;

// One entry per dimension: -1, 0 or 1.
using Direction = std::array<int, grid_dimensions_max>;

// A part of the array: in each dimension the first point, halo included, and the number of points.
struct Part {
    std::array<std::uint64_t, grid_dimensions_max> first{};
    std::array<std::uint64_t, grid_dimensions_max> count{};
};

Status check(const GridShape& grid, std::uint32_t members) {
    if (grid.axes.empty() || grid.axes.size() > grid_dimensions_max) {
        return {Code::limit, "a grid has 1 .. " + std::to_string(grid_dimensions_max) +
                                 " dimensions, not " + std::to_string(grid.axes.size())};
    }
    if (grid.point_bytes == 0) return {Code::argument, "a point has 0 bytes"};
    const auto too_long = [] { return Status(Code::argument, "the array has 2^50 bytes or more"); };
    std::uint64_t product = 1;
    std::uint64_t bytes = grid.point_bytes;
    for (std::size_t d = 0; d < grid.axes.size(); ++d) {
        const GridAxis& axis = grid.axes[d];
        if (axis.points == 0 || axis.halo > axis.points) {
            return {Code::argument, "dimension " + std::to_string(d) + " has " +
                                        std::to_string(axis.points) + " points and a halo of " +
                                        std::to_string(axis.halo) +
                                        ": it has 1 or more, and at least as many as the halo"};
        }
        if (axis.points >= array_bytes_end) return too_long();
        product = std::min<std::uint64_t>(product * axis.members, std::uint64_t{members} + 1);
        if (__builtin_mul_overflow(bytes, axis.points + 2 * axis.halo, &bytes) ||
            bytes >= array_bytes_end) {
            return too_long();
        }
    }
    if (product != members) {
        return {Code::argument, "the members along the dimensions are not " +
                                    std::to_string(members) + " together, as many as the team has"};
    }
    return {};
}

class Halo {
public:
    Halo(const GridShape& grid, std::uint32_t own) : grid_(grid) {
        std::uint64_t stride = grid.point_bytes;
        for (std::size_t d = grid.axes.size(); d-- > 0;) {
            place_[d] = own % grid.axes[d].members;
            own /= grid.axes[d].members;
            strides_[d] = stride;
            stride *= grid.axes[d].points + 2 * grid.axes[d].halo;
        }
    }

    std::vector<HaloMessage> all() {
        Direction direction{};
        add_along(0, direction, 0);
        return std::move(messages_);
    }

private:
    void add_along(std::size_t dimension, Direction& direction, std::uint32_t used) {
        if (dimension == grid_.axes.size()) {
            if (used != 0) add(direction);
            return;
        }
        for (const int step : {-1, 0, 1}) {
            const bool is_possible =
                step == 0 || (used < grid_.reach && grid_.axes[dimension].halo != 0);
            if (!is_possible) continue;
            direction[dimension] = step;
            add_along(dimension + 1, direction, used + (step == 0 ? 0 : 1));
        }
        direction[dimension] = 0;
    }

    // Adds the messages of a direction: the one to the neighbour there, and the one from the
    // opposite neighbour.
    void add(const Direction& direction) {
        if (const auto member = neighbour(direction, 1); member) {
            add_part(*member, true, part_of(direction, [](const GridAxis& axis, int step) {
                return step > 0 ? axis.points : axis.halo;
            }));
        }
        if (const auto member = neighbour(direction, -1); member) {
            add_part(*member, false, part_of(direction, [](const GridAxis& axis, int step) {
                return step > 0 ? 0 : axis.points + axis.halo;
            }));
        }
    }

    [[nodiscard]] std::optional<std::uint32_t> neighbour(const Direction& direction,
                                                         int sign) const {
        std::uint32_t rank = 0;
        for (std::size_t d = 0; d < grid_.axes.size(); ++d) {
            const auto members = static_cast<std::int64_t>(grid_.axes[d].members);
            std::int64_t at =
                static_cast<std::int64_t>(place_[d]) + std::int64_t{sign} * direction[d];
            if (at < 0 || at >= members) {
                if (!grid_.axes[d].is_periodic) return std::nullopt;
                at = (at + members) % members;
            }
            rank = rank * grid_.axes[d].members + static_cast<std::uint32_t>(at);
        }
        return rank;
    }

    //   first(axis, step)  the first point in a dimension in which the part is as thick as the halo
    template <typename First>
    [[nodiscard]] Part part_of(const Direction& direction, const First& first) const {
        Part part;
        for (std::size_t d = 0; d < grid_.axes.size(); ++d) {
            const GridAxis& axis = grid_.axes[d];
            part.first[d] = direction[d] == 0 ? axis.halo : first(axis, direction[d]);
            part.count[d] = direction[d] == 0 ? axis.points : axis.halo;
        }
        return part;
    }

    void add_part(std::uint32_t member, bool is_sent, const Part& part) {
        std::uint64_t offset = 0;
        std::array<StridedBlock::Axis, grid_dimensions_max> axes;
        for (std::size_t d = 0; d < grid_.axes.size(); ++d) {
            offset += part.first[d] * strides_[d];
            axes[d] = {part.count[d], strides_[d]};
        }
        messages_.push_back(
            {member, is_sent, offset,
             StridedBlock(grid_.point_bytes, std::span(axes).first(grid_.axes.size()))});
    }

    const GridShape& grid_;
    std::array<std::uint32_t, grid_dimensions_max> place_{};
    std::array<std::uint64_t, grid_dimensions_max> strides_{};
    std::vector<HaloMessage> messages_;
};

}  // namespace

Result<std::vector<HaloMessage>> halo_of(const GridShape& grid,
                                         std::uint32_t own,
                                         std::uint32_t members) {
    if (Status status = check(grid, members); !status.is_ok()) return status;
    return Halo(grid, own).all();
}

}  // namespace acp::exchange
