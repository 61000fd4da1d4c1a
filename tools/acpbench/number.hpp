// SPDX-License-Identifier: BSD-3-Clause
// Digits of a figure, for tables, plots and pages, which choose how many of them a reader needs.
// Knows no unit. Pure; any thread.
#pragma once

#include <cstdio>
#include <string>

namespace acp::bench {

// "12.50": without an exponent.
//   digits  behind the point, 0 .. 9
[[nodiscard]] inline std::string number(double value, int digits) {
    char text[48];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

}  // namespace acp::bench
