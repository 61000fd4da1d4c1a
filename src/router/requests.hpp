// SPDX-License-Identifier: BSD-3-Clause
// What commands of this node's processes ask for: of the node of their source by a frame, or, of an invoke of a process of
// this node, of placement. Where there is no room it is kept for its turn. One thread.
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

    // Asks a node for a part of a copy, for an atomic, or for an invoke. false: no room for a record, nothing done.
    //   offset, bytes  of the part; 0 and record.bytes of what is no copy
    [[nodiscard]] bool begin(RouterPeer& to,
                             const Outstanding& record,
                             std::uint64_t offset,
                             std::uint64_t bytes);

    // An invoke whose process is of this node. false: no room for a record, nothing done.
    [[nodiscard]] bool begin_here(const Outstanding& record);

    // A request whose turn it is. Its command is outstanding.
    [[nodiscard]] StepOutcome step(const OperationRecord& operation, RouterPeer& to);

    // An invoke here whose turn it is. Its command is outstanding.
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
        return record.operation == invoke_operation ? write_invoke(to, record)
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
