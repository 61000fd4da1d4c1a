// SPDX-License-Identifier: BSD-3-Clause
// Places pieces of copies that arrive at the node of their target. Placement does so at once or
// later; while it has no room for the process, the router keeps the piece within a limit, and
// refuses it beyond. When all bytes of a copy are in place, and not before, reports the completion
// to its initiator (ORD-60). One thread.
// Tests: tests/unit/router/router_test.cpp, room_test.cpp.
#pragma once

#include <cstdint>

#include "router/activity.hpp"
#include "router/backlog.hpp"
#include "router/ends.hpp"
#include "router/nodes.hpp"
#include "router/operations.hpp"
#include "router/own_commands.hpp"
#include "router/partial_copies.hpp"
#include "router/placement.hpp"

namespace acp::router {

// The memory that a kept piece takes besides its bytes.
inline constexpr std::uint64_t kept_overhead_bytes = 128;
// Scans without progress until an ASK is sent to the initiator's node.
inline constexpr std::uint32_t quiet_scans_max = 4;

class Placer {
public:
    Placer(Nodes& nodes,
           OwnCommands& own,
           PartialCopies& partials,
           Operations& operations,
           Backlog& backlog,
           Ends& ends,
           Placement& placement,
           Activity& activity);

    // WIRE-110: a piece of a copy, or an old value.
    [[nodiscard]] Fault on_put(const RouterPeer& from, const PutFrame& frame, Bytes bytes);

    // WIRE-121: a whole copy that is placed if the commands which `after` names are in place here.
    [[nodiscard]] Fault on_put_after(const RouterPeer& from,
                                     const ShortFrame& after,
                                     const PutFrame& frame,
                                     Bytes bytes);

    // WIRE-120: several short copies, each handled as a PUT.
    [[nodiscard]] Fault on_puts(const RouterPeer& from, const PutsFrame& frame, Bytes puts);

    // Places the old value of an atomic that arrived at its initiator's node, which holds the
    // target.
    void place_value(const Outstanding& command, std::uint64_t value);

    // Tries again to place a piece that is kept. Returns false if there is still no room.
    [[nodiscard]] bool place_again(std::uint32_t index);

    // Call when a piece is in place, or failed.
    void settle(const OperationRecord& piece, base::Code code);

    // Drops the records of copies that a severed node initiated, or had sent only a part of; fails
    // the latter.
    void end_copies_of(const RouterPeer& gone);

    // Drops the records of copies that a dead process initiated.
    void drop_copies_of(std::uint32_t initiator);

    // To be called at a scan: for copies that make no progress, asks the initiator's node whether
    // they have completed (ORD-32).
    void ask_about_quiet();

private:
    [[nodiscard]] Fault check_get(const PutFrame& frame, bool& is_late);
    void place(const PutFrame& frame, Bytes bytes, NodeId from);
    void settle(const PutFrame& frame, base::Code code);
    [[gnu::noinline]] void settle_other(const PutFrame& frame, base::Code code);
    void keep(const PutFrame& frame, Bytes bytes, NodeId from);
    void refuse(const PutFrame& frame);
    void return_value(const PutFrame& frame, Bytes bytes);

    Nodes& nodes_;
    OwnCommands& own_;
    PartialCopies& partials_;
    Operations& operations_;
    Backlog& backlog_;
    Ends& ends_;
    Placement& placement_;
    Activity& activity_;
};

}  // namespace acp::router
