// SPDX-License-Identifier: BSD-3-Clause
// Puts to another node by their size: one at a time beside bare datagrams with the same bytes, and
// many in flight beside a stream of bare datagrams. Rank 0's main thread.
#pragma once

#include <cstdint>
#include <vector>

#include <acp.h>

#include "net_rounds.hpp"

namespace acp::bench {

// The sizes that are measured, none larger than `bytes_max`; ascending.
[[nodiscard]] std::vector<std::uint64_t> net_sizes(std::uint64_t bytes_max);

// Each put is completed before the next is issued.
[[nodiscard]] Row put_of_size(NetRounds& rounds,
                              acp_ga_t target,
                              acp_ga_t source,
                              std::uint64_t bytes);

// Small puts are streamed; of long ones copies_under_way are in flight.
[[nodiscard]] Row stream_of_size(NetRounds& rounds,
                                 acp_ga_t target,
                                 acp_ga_t source,
                                 std::uint64_t bytes);

}  // namespace acp::bench
