// SPDX-License-Identifier: BSD-3-Clause
// Measured exchanges as a text file that people write, one statement per line; "#" begins a
// comment.
//     exchange BL4            every node of a torus sent the messages below, queued by a scheduler
//     paper EW 872            that knows no rates: RR1, RR2, RR4, BL1, BL2, BL4 or hop-aware; the
//     took 71.8 72.1          messages are statements of a pattern; then the measured times in us
//     exchange copies         or single nodes sent: source, its engine, target, its engine or
//     copy 0 0 5 any 65536    "any", bytes; the copies of one engine in this order
//     took 31.2
// Any text is read, or refused with the number of its line. Pure; any thread.
// Tests: tests/unit/exchange_study/measured_text_test.cpp, tests/fuzz/measured.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.hpp"

#include "exchange_study/calibration.hpp"

namespace acp::exchange_study {

inline constexpr std::size_t measured_exchanges_max = 1U << 12;
inline constexpr std::size_t measured_times_max = 1U << 16;
// Messages that schedulers queue, whose time may grow with the square of these.
inline constexpr std::size_t measured_messages_max = 1U << 12;  // the limit of one exchange
// the limit of all exchanges together
inline constexpr std::size_t all_measured_messages_max = 1U << 16;

// Errors: argument, limit.
//   model  passed its check(); the exchanges were measured on it
[[nodiscard]] base::Result<std::vector<MeasuredExchange>> measured_from_text(
    std::string_view text, const exchange::NetworkModel& model);

}  // namespace acp::exchange_study
