// SPDX-License-Identifier: BSD-3-Clause
// Paper 000's findings recomputed from our rows: new against old, bypass on against off. Knows
// nothing of how rows came to be. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "row.hpp"

namespace acp::bench {

// How our ratio stands to the paper's.
enum class Outcome {
    unknown,  // a mode was not run, or one of its rows is disturbed
    reached,  // the gain is at least the paper's; two modes about equal in the paper are so here
    // the gain is smaller; of two modes about equal in the paper the new one is slower here
    missed,
    cost,     // the paper's new implementation is slower here, and so is ours
    no_cost,  // the paper's is slower here, ours is not
};

// "reached", "not reached", "costs too", "costs nothing"; "" of unknown.
[[nodiscard]] const char* name_of(Outcome outcome);

// One finding: a ratio of two modes, the paper's and ours.
struct Effect {
    std::string what;         // "remote-to-remote latency, new / old"
    double paper_before = 0;  // the paper's figure for the old mode, in `unit`
    double paper_after = 0;
    std::optional<double> ours_before;  // missing where that mode was not run
    std::optional<double> ours_after;
    std::string unit;           // "us" or "MB/s"
    bool is_disturbed = false;  // one of ours cannot be believed or compared with the other

    [[nodiscard]] double paper_ratio() const { return paper_after / paper_before; }

    [[nodiscard]] std::optional<double> our_ratio() const;
    [[nodiscard]] Outcome outcome() const;
};

//   memory  "starter" or "registered"
[[nodiscard]] std::vector<Effect> effects_of(const std::vector<Row>& rows,
                                             const std::string& memory);

// For a terminal.
[[nodiscard]] std::string effects_table(const std::vector<Row>& rows, const std::string& memory);

// The row of a copy that completes each time; nullptr when there is none.
[[nodiscard]] const Row* find_copy(const std::vector<Row>& rows,
                                   const std::string& name,
                                   const std::string& mode,
                                   std::uint64_t bytes);

}  // namespace acp::bench
