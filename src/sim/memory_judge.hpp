// SPDX-License-Identifier: BSD-3-Clause
// Judges what commands did to memory: what one that ended well must have left is there, and what one that failed may have
// left is unknown from then on. Words that all processes count on are judged by what came back and by what is in them in the
// end: additions form a chain, swaps a permutation. Knows no router. One thread. Tests: tests/unit/sim/world_test.cpp.
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
    //   all must outlive it
    MemoryJudge(const Workplan& work, Memory& memory, Judge& judge);

    // All programs begin anew over memory as it is now.
    void begin_round();

    // The command of a step in this round: what is swapped in is never the same twice.
    [[nodiscard]] memory::Command command_of(const ProgramStep& step) const noexcept;

    // A copy, an atomic or a count has ended well.
    void check(const ProgramStep& step, const CommandName& name);

    // A command may have done what it was to do, or a part of it.
    void doubt(const ProgramStep& step);

    // Looks at all memory and all shared words. Once in a round.
    void look_at_all();

private:
    // What became of the commands on a shared word.
    struct Count {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;  // old value, operand
        std::vector<std::uint64_t> unseen;    // ran, but what it returned is lost
        std::vector<std::uint64_t> doubtful;  // may have run
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
    std::vector<Count> counts_;               // per shared word
    std::vector<std::uint64_t> word_starts_;  // what each held when the round began
    std::uint32_t round_ = 0;
};

}  // namespace acp::sim
