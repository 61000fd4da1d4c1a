// SPDX-License-Identifier: BSD-3-Clause
// Random programs: for each process a list of commands over memory that it alone may write, wherever that lies,
// and over words that all count on. Two commands of one process that would race are ordered, so what every byte
// must hold follows from the program. Knows no network. A value, made from the plan alone; any thread.
// Tests: tests/unit/sim/program_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/memory.hpp"
#include "sim/plan.hpp"

namespace acp::sim {

inline constexpr std::uint32_t no_step = ~0U;

enum class StepKind : std::uint8_t {
    copy,
    atomic,  // on a word of the process's own: what it returns is known
    count,   // on a word that all processes add to or swap
    invoke,
    bad  // a command with an address that is wrong
};

struct ProgramStep {
    StepKind kind = StepKind::copy;
    bool is_bad_target = false;     // of bad: the target, else the source
    std::uint32_t after = no_step;  // begins when all steps up to this one have ended
    Time gap_ns = 0;                // and so long after the step before it began
    Range source;
    Range target;
    std::uint32_t word = 0;       // of count: which
    std::uint32_t operation = 0;  // of invoke
    std::uint32_t process = 0;    // of invoke
    std::uint32_t argument_bytes = 0;
    memory::Command command;
};

// A word that all add to, or that all swap with values of their own.
struct SharedWord {
    Range range;
    bool is_swapped = false;
};

struct Workplan {
    std::vector<std::uint64_t> memory_bytes;  // per process
    std::vector<SharedWord> words;
    std::vector<std::vector<ProgramStep>>
        programs;  // per process; addresses are filled in by address_all()
};

// Everything but the addresses.
[[nodiscard]] Workplan make_workplan(const Plan& plan);

// Writes the global addresses into the commands.
void address_all(Workplan& work, const Memory& memory);

}  // namespace acp::sim
