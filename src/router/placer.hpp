// SPDX-License-Identifier: BSD-3-Clause
// Pieces of copies arrive at the node of their target: they are placed at once, or by placement in its time, or kept while
// the process has no room, or refused. When all bytes of a copy are in place, and not before, its initiator is told (ORD-60).
// Knows nothing of sources. One thread. Tests: tests/unit/router/router_test.cpp, room_test.cpp.
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

inline constexpr std::uint64_t kept_overhead_bytes =
    128;                                             // what keeping a piece costs beside its bytes
inline constexpr std::uint32_t quiet_scans_max = 4;  // then the initiator is asked

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

    // WIRE-110
    [[nodiscard]] Fault on_put(const RouterPeer& from, const PutFrame& frame, Bytes bytes);

    // WIRE-120: each as if it had come alone.
    [[nodiscard]] Fault on_puts(const RouterPeer& from, const PutsFrame& frame, Bytes puts);

    // The old value of an atomic has come to its initiator, which holds the target.
    void place_value(const Outstanding& command, std::uint64_t value);

    // Asks placement again to put a piece that is kept. false: it has no room still.
    [[nodiscard]] bool place_again(std::uint32_t index);

    // A piece is in place, or failed.
    void settle(const OperationRecord& piece, base::Code code);

    // Gives up the copies that a severed node wanted or sent a part of, and fails the latter.
    void end_copies_of(const RouterPeer& gone);

    // Gives up the copies that a dead process wanted.
    void drop_copies_of(std::uint32_t initiator);

    // At a scan: of copies that have stopped half-way it is asked whether they are over (ORD-32).
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
