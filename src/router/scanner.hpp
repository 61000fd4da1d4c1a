// SPDX-License-Identifier: BSD-3-Clause
// Finds overdue work by a scan of all records twice a second, instead of a timer for each (ORD-31):
// nodes involved in a command that has been outstanding for half a second to a second are watched,
// also by the node of its source; for copies that make no progress an ASK goes to the initiator's
// node; nodes for which the endpoint had no memory are tried again. One thread.
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
    // The parts that are scanned, and those that act. All must outlive the Scanner.
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

    //   no_memory_max_ns  a node for which the endpoint has had no memory for this time is severed;
    //                     0: never
    Scanner(const Scanned& scanned, Time no_memory_max_ns) noexcept
        : in_(scanned), no_memory_max_ns_(no_memory_max_ns) {}

    // Makes a scan if it is time.
    void scan_if_due() {
        if (in_.activity.now() >= in_.activity.scan_at()) scan();
    }

    // Whether any work is in progress here, apart from parts that are to be sent again.
    [[nodiscard]] bool is_any_under_way() const noexcept;

private:
    void scan();
    void offer_room_again();
    void watch_overdue();

    Scanned in_;
    Time no_memory_max_ns_;
};

}  // namespace acp::router
