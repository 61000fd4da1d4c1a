// SPDX-License-Identifier: BSD-3-Clause
// The parts of its array that a member of a Cartesian grid sends to its neighbours and receives
// from them. The array has the member's points and a halo around them: copies of the neighbours'
// outermost points. Pure; any thread.
// Tests: tests/unit/exchange/grid_halo_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "exchange/strided_block.hpp"

namespace acp::exchange {

inline constexpr std::uint32_t grid_dimensions_max = 8;

// One dimension of the grid.
struct GridAxis {
    std::uint32_t members = 1;
    bool is_periodic = false;
    std::uint64_t points = 0;  // points of the member, without halo
    std::uint64_t halo = 0;    // points on each side
};

struct GridShape {
    std::vector<GridAxis> axes;  // the last one varies fastest, in members and in the array
    std::uint64_t point_bytes = 0;
    std::uint32_t reach = 0;  // the most dimensions in which a neighbour differs
};

struct HaloMessage {
    std::uint32_t member = 0;
    bool is_sent = false;
    std::uint64_t offset_bytes = 0;  // offset in the array
    StridedBlock block;
};

// The n-th message to a member is received as the n-th one from the caller. Errors: argument (the
// grid does not have so many members; a member is thinner than its halo), limit (more dimensions).
[[nodiscard]] base::Result<std::vector<HaloMessage>> halo_of(const GridShape& grid,
                                                             std::uint32_t own,
                                                             std::uint32_t members);

}  // namespace acp::exchange
