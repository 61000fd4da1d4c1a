// SPDX-License-Identifier: BSD-3-Clause
// Handles the loss of a node or process: ends everything that involves the node, or that the process has begun, with an error
// code, and passes the news on by a dissemination pattern (ORD-20 to ORD-26). What others do on memory of a dead process goes on:
// placement knows which of it is left. Work that placement has accepted is left until it settles. Does not know how losses
// are detected. One thread. Tests: tests/unit/router/failure_test.cpp, model_test.cpp.
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
    // The parts that hold something that a loss ends, and those to tell. All must outlive the Losses.
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

    // A node was severed.
    //   is_news  others may not know it yet
    void on_severed(NodeId node, bool is_news);

    // A process has died.
    //   is_local  found or told on this node, whose processes need not be told
    void on_death(std::uint32_t process, std::uint32_t wait_status, bool is_local);

    // Another node reports that a process has died.
    [[nodiscard]] Fault on_dead(const ShortFrame& frame);

    // Severs a node and ends what involves it.
    void sever(NodeId node, datagram::SeverReason reason);

    // Severs the nodes for which Nodes::sever_later() was called.
    void sever_noted();

private:
    void cancel_work_of(std::uint32_t initiator);
    void pass_on(const Note& news);

    Involved in_;
};

}  // namespace acp::router
