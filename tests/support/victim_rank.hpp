// SPDX-License-Identifier: BSD-3-Clause
// The common part of programs whose ranks are killed: a rank joins its job, opens the driver's
// board, and notes its first failed check there. Main thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include <acp.h>

#include "support/board.hpp"
#include "support/watchdog.hpp"

namespace acp::test {

// Joins the job, and returns the result of Work(board).run().
//   program  its name in the watchdog's message
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

//   Note  the type of a rank's note on the board; has char message[]
template <typename Note>
class VictimRank {
protected:
    explicit VictimRank(Note& note) : note_(note) {}

    // Notes the first check that fails.
    void must(bool is_so, const std::string& what) {
        if (is_so || !is_all_right()) return;
        std::snprintf(note_.message, sizeof note_.message, "%s: %s", what.c_str(),
                      acp_error_message());
    }

    [[nodiscard]] bool is_all_right() const { return note_.message[0] == '\0'; }

    [[nodiscard]] int exit_status() const { return is_all_right() ? 0 : 5; }

    // The number of blocks in the heap of this rank.
    [[nodiscard]] std::int64_t blocks() {
        acp_heap_stat_t stat{};
        must(acp_heap_stat(acp_rank(), &stat) == 0, "acp_heap_stat");
        return static_cast<std::int64_t>(stat.blocks);
    }

    Note& note_;
};

}  // namespace acp::test
