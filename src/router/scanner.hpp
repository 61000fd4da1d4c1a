// SPDX-License-Identifier: BSD-3-Clause
// What is overdue, found by looking at everything twice a second instead of by a timer each (ORD-31): nodes that a command
// outstanding for half a second to a second involves are watched, by the node of its source too; of copies that have stopped
// half-way the initiator is asked; who was refused room for want of memory is offered it again. One thread.
// Tests: tests/unit/router/failure_test.cpp, room_test.cpp.
#pragma once

#include "router/activity.hpp"
#include "router/losses.hpp"
#include "router/meetings.hpp"
#include "router/nodes.hpp"
#include "router/operations.hpp"
#include "router/outbox.hpp"
#include "router/own_commands.hpp"
#include "router/partial_copies.hpp"
#include "router/placer.hpp"
#include "router/watch_list.hpp"

namespace acp::router {

class Scanner {
public:
    // What is looked at, and who acts on it. All must outlive the Scanner.
    struct Scanned {
        Nodes& nodes;
        OwnCommands& own;
        Operations& operations;
        Outbox& outbox;
        PartialCopies& partials;
        Placer& placer;
        Meetings& meetings;
        WatchList& watch_list;
        Losses& losses;
        Activity& activity;
    };

    //   no_memory_max_ns  a node of which the endpoint has no memory to keep anything is severed after so long; 0: never
    Scanner(const Scanned& scanned, Time no_memory_max_ns) noexcept
        : in_(scanned), no_memory_max_ns_(no_memory_max_ns) {}

    // Scans if it is time.
    void scan_if_due() {
        if (in_.activity.now() >= in_.activity.scan_at()) scan();
    }

    // Nothing of anybody's is under way here but what was sent to be sent again.
    [[nodiscard]] bool is_any_under_way() const noexcept;

private:
    void scan();
    void offer_room_again();
    void watch_overdue();

    Scanned in_;
    Time no_memory_max_ns_;
};

}  // namespace acp::router
