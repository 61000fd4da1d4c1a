// SPDX-License-Identifier: BSD-3-Clause
// Commands that placement runs here: copies between processes of this node, and atomics whose word is here. A long copy is
// run in parts, an atomic once; then its old value goes where the command wants it. Knows nothing of who asked. One thread.
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

inline constexpr std::uint64_t run_bytes_max = 256ULL * 1024;  // of a local copy in one go

class CommandRunner {
public:
    CommandRunner(Nodes& nodes,
                  Operations& operations,
                  Backlog& backlog,
                  Ends& ends,
                  Placement& placement,
                  Activity& activity);

    // Runs a command, or its first part. false: no room for a record, nothing done.
    [[nodiscard]] bool begin(const Task& task);

    // Runs it, or its next part.
    [[nodiscard]] StepOutcome step(std::uint32_t index);

    // Placement has run it, or a part of it.   old  the old value of an atomic
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
