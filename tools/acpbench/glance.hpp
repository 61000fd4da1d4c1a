// SPDX-License-Identifier: BSD-3-Clause
// "How fast here": a few figures out of all rows, each beside the machine's own limit, in words for
// readers who do not know this program. The terminal and the head of the report page show the same
// ones. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "row.hpp"
#include "verdict.hpp"

namespace acp::bench {

struct Figure {
    std::string what;      // "8 bytes into another process"
    std::string ours;      // "3.1 ns"
    std::string limit;     // "1.5 ns"
    std::string limit_is;  // "one call of memcpy"
    std::string ratio;     // "2.1 \u00d7 the limit", "97 % of the limit"
    Judgement judgement;
};

// The figures that the rows have: copies of 8 B and 1 MiB into another process, a barrier and an
// atomic of two processes, a put and a stream to another node. One that was not measured is left
// out.
[[nodiscard]] std::vector<Figure> glance_at(const std::vector<Row>& rows);

// For a terminal: a line each, and a line for each that was disturbed.
[[nodiscard]] std::string glance_table(const std::vector<Figure>& figures);

// What "limit" means, in one sentence.
[[nodiscard]] const char* glance_explained();

}  // namespace acp::bench
