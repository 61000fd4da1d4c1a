// SPDX-License-Identifier: BSD-3-Clause
// How long a sleeping thread takes to run after another CPU wakes it: the cost that decides how
// long a waiting rank had better spin. Makes two threads for the time of the measurement.
#pragma once

#include <cstdint>
#include <optional>

namespace acp::acpinfo {

// The median over a few tens of wakes, each after the sleeper's CPU had a millisecond to fall idle;
// nullopt with a single CPU or when the threads cannot be made. Blocks for about 50 ms.
[[nodiscard]] std::optional<std::uint64_t> measure_wake_cost_ns();

}  // namespace acp::acpinfo
