// SPDX-License-Identifier: BSD-3-Clause
// Handles the loss of a node or process: fails all commands that involve the node, or that the
// process initiated, and forwards the loss to other nodes by dissemination (ORD-20 to ORD-26).
// Commands of other processes on memory of a dead process still run: placement knows which of its
// memory remains. Work that placement has accepted is kept until it settles. Does not know how
// losses are detected. One thread.
// Tests: tests/unit/router/failure_test.cpp, model_test.cpp.
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
    // The parts whose commands, work or meetings a loss ends, and `completions`, which reports it
    // to the owner. All must outlive the Losses.
    struct Involved {
        Nodes& nodes;
        OwnCommands& own;
        Operations& operations;
        Backlog& backlog;
        Outbox& outbox;
        Placer& placer;
        Meetings& meetings;
        WatchList& watch_list;
        Completions& completions;
        Activity& activity;
    };

    explicit Losses(const Involved& involved) noexcept : in_(involved) {}

    // Call when a node was severed.
    //   is_news  true: forward the loss, because other nodes may not know it
    void on_severed(NodeId node, bool is_news);

    // Call when a process has died.
    //   is_local  true: the router's owner knows it already, so on_process_dead() is not called
    void on_death(std::uint32_t process, const base::ProcessEnd& end, bool is_local);

    // Another node reports that a process has died.
    [[nodiscard]] Fault on_dead(const ShortFrame& frame);

    // Severs a node and fails the commands that involve it.
    void sever(NodeId node, datagram::SeverReason reason);

    // Severs the nodes for which Nodes::sever_later() was called.
    void sever_noted();

private:
    void cancel_work_of(std::uint32_t initiator);
    void pass_on(const Note& news);

    Involved in_;
};

}  // namespace acp::router
