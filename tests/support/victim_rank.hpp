// SPDX-License-Identifier: BSD-3-Clause
// What the programs share whose ranks are killed: how a rank joins its job and finds the board of the driver, and how it notes what was
// wrong first. Main thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include <acp.h>

#include "support/board.hpp"
#include "support/watchdog.hpp"

namespace acp::test {

// Joins the job, and gives what Work(board).run() gives.
//   program  for people
template <typename BoardContent, typename Work>
int run_victim(int argc, char** argv, const std::string& program) {
    arm_watchdog(120, ("a rank of " + program).c_str());
    const auto board = Board<BoardContent>::open();
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 3;
    }
    return Work(*board).run();
}

//   Note  of a rank on the board: has char message[]
template <typename Note>
class VictimRank {
protected:
    explicit VictimRank(Note& note) : note_(note) {}

    // Notes the first that was not so.
    void must(bool is_so, const std::string& what) {
        if (is_so || !is_all_right()) return;
        std::snprintf(note_.message, sizeof note_.message, "%s: %s", what.c_str(),
                      acp_error_message());
    }

    [[nodiscard]] bool is_all_right() const { return note_.message[0] == '\0'; }

    [[nodiscard]] int exit_status() const { return is_all_right() ? 0 : 5; }

    // Of the heap of this rank.
    [[nodiscard]] std::int64_t blocks() {
        acp_heap_stat_t stat{};
        must(acp_heap_stat(acp_rank(), &stat) == 0, "acp_heap_stat");
        return static_cast<std::int64_t>(stat.blocks);
    }

    Note& note_;
};

}  // namespace acp::test
