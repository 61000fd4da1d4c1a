// SPDX-License-Identifier: BSD-3-Clause
// Puts the names of commands into words.
#include "sim/command_name.hpp"

namespace acp::sim {

std::string CommandName::text() const {
    const ProgramStep& step = work->programs[process][index];
    constexpr const char* names[] = {"copy", "atomic", "count", "invoke", "bad copy"};
    std::string name = std::string(names[static_cast<std::size_t>(step.kind)]) + " " +
                       std::to_string(index) + " of process " + std::to_string(process);
    if (step.kind == StepKind::invoke) return name + " at process " + std::to_string(step.process);
    return name + " (" + std::to_string(step.command.bytes) + " B, process " +
           std::to_string(step.source.process) + "+" + std::to_string(step.source.offset) +
           " to process " + std::to_string(step.target.process) + "+" +
           std::to_string(step.target.offset) + ")";
}

}  // namespace acp::sim
