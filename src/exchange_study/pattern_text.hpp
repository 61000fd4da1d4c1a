// SPDX-License-Identifier: BSD-3-Clause
// A symmetric pattern as a text file that people write, one statement per line; "#" begins a
// comment.
//     send 1 0 224256       a message of every node: steps along each dimension of the torus, bytes
//     send 1 0 224256 x 2   two such messages
//     paper 8 872           the messages of paper 003's Table 1: EW, NS, 4, DG or 8, and k; on a
//                           torus of two dimensions
// Any text is read, or refused with the number of its line. Pure; any thread.
// Tests: tests/unit/exchange_study/pattern_text_test.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "exchange/node_problem.hpp"

namespace acp::exchange_study {

//   dimensions  of the torus
// Errors: argument, limit (pattern_messages_max).
[[nodiscard]] base::Result<std::vector<exchange::OffsetMessage>> pattern_from_text(
    std::string_view text, std::size_t dimensions);

}  // namespace acp::exchange_study
