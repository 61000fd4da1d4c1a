// SPDX-License-Identifier: BSD-3-Clause
// Sends the commands of this node's processes to the node of their source, by a COMMAND or INVOKE
// frame; runs an invoke of a process of this node by placement. Without room a request waits for
// its turn. One thread.
// Tests: tests/unit/router/router_test.cpp.
#pragma once

#include <cstdint>

#include "router/activity.hpp"
#include "router/backlog.hpp"
#include "router/nodes.hpp"
#include "router/operations.hpp"
#include "router/outbox.hpp"
#include "router/own_commands.hpp"
#include "router/placement.hpp"

namespace acp::router {

class Requests {
public:
    Requests(Nodes& nodes,
             OwnCommands& own,
             Operations& operations,
             Backlog& backlog,
             Outbox& outbox,
             Placement& placement,
             Activity& activity);

    // Sends a node the request for a part of a copy, an atomic, or an invoke, or queues it. Returns
    // false if there is no free record; nothing was done then.
    //   offset, bytes  the part; 0 and record.bytes unless it is a copy
    [[nodiscard]] bool begin(RouterPeer& to,
                             const Outstanding& record,
                             std::uint64_t offset,
                             std::uint64_t bytes);

    // The lane by which an invoke goes to a node: that of the last outstanding copy that it is ordered
    // after, so that it does not overtake it; else that of rail 0.
    [[nodiscard]] RouterPeer& lane_of_invoke(RouterPeer& node, const Outstanding& record) noexcept;

    // Begins an invoke of a process of this node. Returns false if there is no free record; nothing
    // was done then.
    [[nodiscard]] bool begin_here(const Outstanding& record);

    // Sends a request whose turn it is. Its command is outstanding.
    [[nodiscard]] StepOutcome step(const OperationRecord& operation, RouterPeer& to);

    // Runs an invoke on this node whose turn it is. Its command is outstanding.
    [[nodiscard]] StepOutcome step_here(std::uint32_t index);

private:
    [[nodiscard]] bool write_command(RouterPeer& to,
                                     const Outstanding& record,
                                     std::uint64_t offset,
                                     std::uint64_t bytes);
    [[nodiscard]] bool write_invoke(RouterPeer& to, const Outstanding& record);

    [[nodiscard]] bool write_request(RouterPeer& to,
                                     const Outstanding& record,
                                     std::uint64_t offset,
                                     std::uint64_t bytes) {
        return record.is_invoke() ? write_invoke(to, record)
                                  : write_command(to, record, offset, bytes);
    }

    Nodes& nodes_;
    OwnCommands& own_;
    Operations& operations_;
    Backlog& backlog_;
    Outbox& outbox_;
    Placement& placement_;
    Activity& activity_;
};

}  // namespace acp::router
