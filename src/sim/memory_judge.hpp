// SPDX-License-Identifier: BSD-3-Clause
// Checks the effects of commands on memory: after a success the target has the expected bytes;
// after a failure the bytes that the command may have written count as unknown. Shared words are
// checked by the old values returned and by their final value: additions must form a chain, swaps a
// permutation. Knows no router. One thread. Tests: tests/unit/sim/world_test.cpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/command_name.hpp"
#include "sim/judge.hpp"
#include "sim/memory.hpp"

namespace acp::sim {

class MemoryJudge {
public:
    // All arguments must outlive it.
    MemoryJudge(const Workplan& work, Memory& memory, Judge& judge);

    // Begins a round: all programs run again on memory as it is now.
    void begin_round();

    // The command of a step in this round. The values that swaps store differ from round to round,
    // so that none occurs twice.
    [[nodiscard]] memory::Command command_of(const ProgramStep& step) const noexcept;

    // Checks memory after a successful copy, atomic or count.
    void check(const ProgramStep& step, const CommandName& name);

    // Marks the bytes as unknown that a command may have written that failed or whose completion
    // was lost.
    void doubt(const ProgramStep& step);

    // Checks all memory and all shared words. Call once at the end of each round.
    void look_at_all();

private:
    // The commands on one shared word.
    struct Count {
        // old value and operand of each successful command
        std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
        // operands of commands that ran, but whose old value is lost
        std::vector<std::uint64_t> unseen;
        std::vector<std::uint64_t> doubtful;  // operands of commands that may have run
    };

    void check_copy(const ProgramStep& step, const CommandName& name);
    void check_atomic(const ProgramStep& step, const CommandName& name);
    void check_count(const ProgramStep& step, const CommandName& name);
    void check_word(std::size_t word);
    void check_swaps(std::size_t word, std::uint64_t end, const std::string& name);
    void check_additions(std::size_t word, std::uint64_t end, const std::string& name);

    const Workplan* work_;
    Memory* memory_;
    Judge* judge_;
    std::vector<Count> counts_;               // one per shared word
    std::vector<std::uint64_t> word_starts_;  // per shared word: its value when the round began
    std::uint32_t round_ = 0;
};

}  // namespace acp::sim
