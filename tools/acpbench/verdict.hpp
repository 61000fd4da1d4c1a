// SPDX-License-Identifier: BSD-3-Clause
// Decides whether a figure can be believed and whether it reaches its target. No other file makes a
// Verdict. Knows neither how a figure was measured nor how a verdict is shown. Pure, but for
// measure_credibly, which calls what it is given; any thread.
#pragma once

#include <functional>
#include <string>

#include "row.hpp"

namespace acp::bench {

enum class Verdict {
    none,       // nothing was set out to be reached
    met,        // the figure reaches its target
    missed,     // worse than its target
    disturbed,  // the measurement contradicts itself; nothing can be said
};

struct Judgement {
    Verdict verdict = Verdict::none;
    std::string target;  // "ratio <= 1.25"; "" where there is none
    std::string reason;  // of Verdict::disturbed: why the figure is not believed
};

// The verdict on a row. Disturbed is
//   - a row whose yardstick needs two cores and had one, or did not come about,
//   - a row much faster than a yardstick that is a part of it: a put to another node contains a
//     round trip of a datagram, and cannot take less,
//   - a row whose ratio turn by turn is not the ratio of its two medians: the machine changed while
//     it was measured. A disturbed row is not compared with its target.
[[nodiscard]] Judgement judge(const Row& row);

// The least share of its yardstick's time that a row can take and still be believed: 0.8 where the
// yardstick is a part of what is measured (the rest is the tolerance of two medians), less where
// both do the same work in another way, 0 where any ratio may be true.
[[nodiscard]] double least_credible(const Row& row);

// How far apart the ratio turn by turn and the ratio of the medians may be: 1.5 times either way.
inline constexpr double ratios_apart_max = 1.5;

// The enumerator's own name; "" for none.
[[nodiscard]] const char* name_of(Verdict verdict);

inline constexpr int tries_max = 3;  // the most times that measure_credibly repeats a measurement

// Measures until the row is not disturbed, at most `tries` times, and returns the last row. A row
// that took more than one try says how many in its extra figure "tries".
[[nodiscard]] Row measure_credibly(const std::function<Row()>& measure, int tries = tries_max);

}  // namespace acp::bench
