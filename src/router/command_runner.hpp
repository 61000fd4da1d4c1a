// SPDX-License-Identifier: BSD-3-Clause
// Runs commands by placement on this node: copies between its processes, and atomics whose word is
// here. A long copy is run in parts, so that other work gets its turn in between; an atomic is run
// once, and then its old value goes to its target. Does not know where a command came from. One
// thread.
// Tests: tests/unit/router/room_test.cpp.
#pragma once

#include <cstdint>

#include "router/activity.hpp"
#include "router/backlog.hpp"
#include "router/ends.hpp"
#include "router/nodes.hpp"
#include "router/operations.hpp"
#include "router/placement.hpp"

namespace acp::router {

// Longest part of a local copy run in one step.
inline constexpr std::uint64_t run_bytes_max = 256ULL * 1024;

class CommandRunner {
public:
    CommandRunner(Nodes& nodes,
                  Operations& operations,
                  Backlog& backlog,
                  Ends& ends,
                  Placement& placement,
                  Activity& activity);

    // Runs a command, or its first part. Returns false if there is no free record; nothing was done
    // then.
    [[nodiscard]] bool begin(const Task& task);

    // Runs the next part of a command.
    [[nodiscard]] StepOutcome step(std::uint32_t index);

    // Call when placement has run a command or a part of it.
    //   old  the old value of an atomic
    [[nodiscard]] StepOutcome after_run(std::uint32_t index,
                                        const Settlement& ran,
                                        std::uint64_t old);

private:
    [[nodiscard]] StepOutcome after_atomic(std::uint32_t index, std::uint64_t old);

    Nodes& nodes_;
    Operations& operations_;
    Backlog& backlog_;
    Ends& ends_;
    Placement& placement_;
    Activity& activity_;
};

}  // namespace acp::router
