// SPDX-License-Identifier: BSD-3-Clause
// Runs numbered operations for processes of other nodes: at once if there is room for the result,
// otherwise in its turn in the flow to that node. One thread.
// Tests: tests/unit/router/router_test.cpp.
#pragma once

#include <cstdint>

#include "router/activity.hpp"
#include "router/backlog.hpp"
#include "router/ends.hpp"
#include "router/nodes.hpp"
#include "router/operations.hpp"
#include "router/outbox.hpp"
#include "router/placement.hpp"

namespace acp::router {

class InvokeRunner {
public:
    InvokeRunner(Nodes& nodes,
                 Operations& operations,
                 Backlog& backlog,
                 Outbox& outbox,
                 Ends& ends,
                 Placement& placement,
                 Activity& activity);

    // WIRE-117: an invoke of a process of this node.
    [[nodiscard]] Fault on_invoke(RouterPeer& from, const InvokeFrame& frame, Bytes arguments);

    // WIRE-121: an invoke that runs only if the commands which `after` names are in place here.
    [[nodiscard]] Fault on_invoke_after(RouterPeer& from,
                                        const ShortFrame& after,
                                        const InvokeFrame& frame,
                                        Bytes arguments);

    // Runs an operation whose turn it is at a node.
    [[nodiscard]] StepOutcome step(std::uint32_t index, RouterPeer& to);

private:
    void refuse(RouterPeer& to, const InvokeFrame& frame);

    enum class Ran : std::uint8_t { ran, no_room, not_now };

    [[nodiscard]] Ran run(const OperationRecord& operation, Bytes arguments, RouterPeer& to);

    Nodes& nodes_;
    Operations& operations_;
    Backlog& backlog_;
    Outbox& outbox_;
    Ends& ends_;
    Placement& placement_;
    Activity& activity_;
};

}  // namespace acp::router
