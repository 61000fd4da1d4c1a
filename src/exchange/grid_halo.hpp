// SPDX-License-Identifier: BSD-3-Clause
// Which parts of its array a member of a Cartesian grid sends to its neighbours and receives from them. The array has points and, around them,
// a halo: copies of the neighbours' outermost points. Pure; any thread.
// Tests: tests/unit/exchange/grid_halo_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "exchange/strided_block.hpp"

namespace acp::exchange {

inline constexpr std::uint32_t grid_dimensions_max = 8;

// Of one dimension.
struct GridAxis {
    std::uint32_t members = 1;
    bool is_periodic = false;
    std::uint64_t points = 0;  // of the own part, without halo
    std::uint64_t halo = 0;    // points on each side
};

struct GridShape {
    std::vector<GridAxis> axes;  // the last one varies fastest, in members and in the array
    std::uint64_t point_bytes = 0;
    std::uint32_t reach = 0;  // neighbours differ in at most so many dimensions
};

struct HaloMessage {
    std::uint32_t member = 0;
    bool is_sent = false;
    std::uint64_t offset_bytes = 0;  // in the array
    StridedBlock block;
};

// In such an order that the n-th message sent to a member belongs to the n-th one that it receives from the caller.
// Errors: argument (no such grid of so many members; a part that is thinner than its halo), limit (more dimensions).
[[nodiscard]] base::Result<std::vector<HaloMessage>> halo_of(const GridShape& grid,
                                                             std::uint32_t own,
                                                             std::uint32_t members);

}  // namespace acp::exchange
