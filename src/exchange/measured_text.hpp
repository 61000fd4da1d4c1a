// SPDX-License-Identifier: BSD-3-Clause
// Measured exchanges as a text file that people write, one statement per line; "#" begins a comment.
//     exchange BL4              every node of a torus sent what follows, as a scheduler queues it that knows no rates:
//     paper EW 872              RR1, RR2, RR4, BL1, BL2, BL4 or hop-aware; the messages are statements of a pattern
//     took 71.8 72.1            how long it took, each time, in microseconds
//     exchange copies           or single nodes sent: source, its engine, target, its engine or "any", bytes; those of one engine
//     copy 0 0 5 any 65536      in this order
//     took 31.2
// Whatever the text is, it is read or refused with the number of its line. Pure; any thread.
// Tests: tests/unit/exchange/measured_text_test.cpp, tests/fuzz/measured.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "exchange/calibration.hpp"

namespace acp::exchange {

inline constexpr std::size_t measured_exchanges_max = 1U << 12;
inline constexpr std::size_t measured_times_max = 1U << 16;
// That schedulers queue, whose time may grow with their square.
inline constexpr std::size_t measured_messages_max = 1U << 12;      // of one exchange
inline constexpr std::size_t all_measured_messages_max = 1U << 16;  // of all

//   model  passed its check(): where the exchanges were measured
// Errors: argument, limit.
[[nodiscard]] base::Result<std::vector<MeasuredExchange>> measured_from_text(
    std::string_view text, const NetworkModel& model);

}  // namespace acp::exchange
