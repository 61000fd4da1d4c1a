// SPDX-License-Identifier: BSD-3-Clause
// A node or a process is lost: everything that involves it ends, with a code, and the news is passed on along the partners of
// a dissemination (ORD-20 to ORD-26). What is with placement is left until it settles. Knows nothing of how losses are
// noticed. One thread. Tests: tests/unit/router/failure_test.cpp, model_test.cpp.
#pragma once

#include <cstdint>

#include "router/activity.hpp"
#include "router/backlog.hpp"
#include "router/meetings.hpp"
#include "router/nodes.hpp"
#include "router/operations.hpp"
#include "router/outbox.hpp"
#include "router/own_commands.hpp"
#include "router/placer.hpp"
#include "router/watch_list.hpp"

namespace acp::router {

class Losses {
public:
    // What holds something that a loss ends, and whom to tell. All must outlive the Losses.
    struct Involved {
        Nodes& nodes;
        OwnCommands& own;
        Operations& operations;
        Backlog& backlog;
        Outbox& outbox;
        Ends& ends;
        Placer& placer;
        Meetings& meetings;
        WatchList& watch_list;
        Completions& completions;
        Activity& activity;
    };

    explicit Losses(const Involved& involved) noexcept : in_(involved) {}

    // A node is severed.   is_news  others may not know
    void on_severed(NodeId node, bool is_news);

    // A process has died.   is_local  of this node: its own processes need not be told
    void on_death(std::uint32_t process, std::uint32_t wait_status, bool is_local);

    // Another node says that a process has died.
    [[nodiscard]] Fault on_dead(const ShortFrame& frame);

    // Severs a node, for a reason, and ends what involves it.
    void sever(NodeId node, datagram::SeverReason reason);

    // Severs the nodes that were to be severed later.
    void sever_noted();

private:
    void end_work_of(std::uint32_t process);
    void pass_on(const Note& news);

    Involved in_;
};

}  // namespace acp::router
