// SPDX-License-Identifier: BSD-3-Clause
// A network model as a text file that people write, one statement per line; "#" begins a comment.
// docs/guide/exchange.md lists the statements.
//     preset tofu 6 8       begin with a preset; only as the first statement
//     torus 5067 6 8        or with a torus: the rate of its links, its sizes
//     nodes 4               or with nodes (and "switches 2") without links
//     engine_rate 4096      a field of NodeRates: engines, engine_rate, injection_rate, ...
//     link 0 4 5067         one more link; not on a torus
//     rate 17 2500          the rate of a link by its number
//     route 0 3 12 5 9      a listed route: source, target, links
// Any text is read, or refused with the number of its line. Pure; any thread.
// Tests: tests/unit/exchange/network_text_test.cpp, tests/fuzz/network.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "exchange/network_model.hpp"

namespace acp::exchange {

inline constexpr std::size_t network_text_bytes_max = 64U << 20;

// The returned model has passed its check(). Errors: argument, limit.
[[nodiscard]] base::Result<NetworkModel> network_from_text(std::string_view text);

// A text that network_from_text() reads back as the same model.
[[nodiscard]] std::string text_of(const NetworkModel& model);

}  // namespace acp::exchange
