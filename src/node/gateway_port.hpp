// SPDX-License-Identifier: BSD-3-Clause
// The gateway's side of the node segment: the requests of the node's processes (meetings with the
// other nodes), the gateway's reports to them (a meeting is complete, a process or node elsewhere
// is lost), and its sleep. remote/gateway_rings.hpp has the commands of the processes. One object
// per node, in the gateway: a thread of the agent. That thread makes all calls except open() and
// close(). Never blocks.
//
// Meetings: Barrier's last local arriver requests one and, if the gateway sleeps, wakes it. The
// gateway takes it (take_meeting), completes it with the other nodes, then finish_meeting()
// releases the node's processes. Numbers count from 0 and are equal on all nodes, because all
// processes of a job make the same collective calls.
//
// Sleep: announce_sleep(); check everything once more (has_work(), the port's mail, work of other
// threads of the process); sleep on sockets and the event; end_sleep(). If a process is killed or
// stopped after it published and before it woke the gateway, only its own commands wait; a death
// wakes the gateway (node/death.hpp).
// Tests: tests/unit/node/gateway_port_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "node/conclusion.hpp"
#include "node/loss.hpp"
#include "node/segment.hpp"

namespace acp::node {

class GatewayPort {
public:
    struct DueMeeting {
        std::uint32_t number = 0;  // counts the meetings that the agents carry, from 0
        Gathers gathers = Gathers::nothing;
    };

    //   segment  of a job of several nodes; must outlive this
    explicit GatewayPort(const Segment& segment) noexcept;

    // Takes the gateway's slot (index local_procs). Called before a process of the node starts.
    //   event_fd  an eventfd that the node's processes inherit under this number
    void open(int event_fd) noexcept;

    // The gateway ends for good: waits for other nodes end. Any thread of the process.
    void close(std::uint32_t wait_status) noexcept;

    // Whether take_meeting() would return one. One load.
    [[nodiscard]] bool has_meeting() const noexcept;

    // Returns a meeting at which all processes of this node have arrived; each meeting once.
    [[nodiscard]] std::optional<DueMeeting> take_meeting() noexcept;

    // Copies the number that each process of this node contributes to the meeting taken last, by
    // slot. into.size() == local_procs
    void read_wanted(std::span<std::uint32_t> into) const noexcept;

    // The result on this node of the collective call that the meeting taken last concludes.
    [[nodiscard]] Conclusion read_conclusion() const noexcept;

    // The meeting taken last is complete on all nodes: releases this node's processes.
    //   gathered  by what the meeting gathers: a number per process of the job, by process index,
    //             or the words of a Conclusion of all nodes; else empty
    void finish_meeting(std::span<const std::uint32_t> gathered) noexcept;

    // The node that the own gateway of this node's rank asks to watch, or every_node. Returns each
    // request once.
    [[nodiscard]] std::optional<std::uint32_t> take_watch() noexcept;

    // Whether the only process of this node has reported that no other node can reach it.
    [[nodiscard]] bool is_process_unreachable() const noexcept {
        // seq_cst: partner is Segment::wake_gateway
        return segment_.control().is_unreachable.load(std::memory_order_seq_cst) != 0;
    }

    // Publishes that a process of another node is gone, which ends the waits of this node. Only the
    // first call for a process has an effect.
    //   process < procs
    void publish_death(std::uint32_t process, const base::ProcessEnd& end) noexcept;

    // Publishes that another node is lost, with all its processes. Only the first call for a node
    // has an effect. Not called for a node whose processes have all left in order.
    void publish_severed(std::uint32_t node, NodeLoss why) noexcept;

    // From now on a process that publishes something for the gateway signals its event.
    void announce_sleep() noexcept;

    // Whether a meeting is requested or a command ring was rung. Called after announce_sleep().
    [[nodiscard]] bool has_work() const noexcept;

    void end_sleep() noexcept;

private:
    const Segment& segment_;
    std::uint32_t taken_ = 0;  // number of the barrier that was taken last
    // meetings taken; the processes carry those of other barriers (own_meetings.hpp)
    std::uint32_t meetings_ = 0;
    Gathers gathers_ = Gathers::nothing;  // the data that it gathers
};

}  // namespace acp::node
