// SPDX-License-Identifier: BSD-3-Clause
// The layout of the rings between a process and its node's gateway in the node segment. Each
// process has a ring of commands and one of completions, back to back behind their counters, and
// behind them the cells that hold arguments and results of numbered operations. Pages are taken as
// they are touched, so a process that sends no command to another node takes none. Knows sizes
// only; the rings are in remote/.
#pragma once

#include <cstdint>

#include "memory/operation.hpp"

namespace acp::node {

inline constexpr std::uint64_t ring_layout_version = 2;
inline constexpr std::uint32_t command_record_bytes = 64;
inline constexpr std::uint32_t ended_record_bytes = 32;
// A power of two; also the most commands of a process in flight at once, so that every completion
// finds room.
inline constexpr std::uint32_t ring_records = 1024;
// invokes of a process in flight at once
inline constexpr std::uint32_t invoke_cells = 128;
inline constexpr std::uint32_t invoke_cell_bytes = 2 * memory::invoke_bytes_max;
inline constexpr std::uint32_t ring_counter_bytes = 4 * 64;  // a line each: one writer per line

struct RingLayout {
    static constexpr std::uint64_t commands_at = ring_counter_bytes;
    static constexpr std::uint64_t ended_at =
        commands_at + std::uint64_t{ring_records} * command_record_bytes;
    static constexpr std::uint64_t invokes_at =
        ended_at + std::uint64_t{ring_records} * ended_record_bytes;
    static constexpr std::uint64_t bytes =
        invokes_at + std::uint64_t{invoke_cells} * invoke_cell_bytes;
};

}  // namespace acp::node
