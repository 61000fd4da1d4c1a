// SPDX-License-Identifier: BSD-3-Clause
// Random programs: for each process a list of commands over memory that it alone may write, on any
// node, and over words that all processes use. Two commands of one process that would race are
// ordered, so the value of every byte follows from the program. Knows no network. A value that
// follows from the plan alone; any thread.
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
    atomic,  // on a word that only this process changes: the old value is known
    count,   // an atomic on a shared word
    invoke,
    bad  // a command with a wrong address
};

struct ProgramStep {
    StepKind kind = StepKind::copy;
    bool is_bad_target = false;     // bad: the target is wrong, else the source
    std::uint32_t after = no_step;  // order: begins when all steps up to this one have ended
    Time gap_ns = 0;                // least time after the step before it was issued
    Range source;
    Range target;
    std::uint32_t word = 0;       // count: index of the shared word
    std::uint32_t operation = 0;  // invoke: its number
    std::uint32_t process = 0;    // invoke: the process on whose memory it runs
    std::uint32_t argument_bytes = 0;
    memory::Command command;
};

// A word that all processes add to, or all swap values of their own into.
struct SharedWord {
    Range range;
    bool is_swapped = false;
};

struct Workplan {
    std::vector<std::uint64_t> memory_bytes;  // per process: size of its memory
    std::vector<SharedWord> words;
    // per process: its steps; address_all() fills in addresses
    std::vector<std::vector<ProgramStep>> programs;
};

// Makes programs without global addresses.
[[nodiscard]] Workplan make_workplan(const Plan& plan);

// Fills the global addresses into the commands.
void address_all(Workplan& work, const Memory& memory);

}  // namespace acp::sim
