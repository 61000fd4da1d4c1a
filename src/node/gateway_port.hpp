// SPDX-License-Identifier: BSD-3-Clause
// The gateway's side of the node segment: what the node's processes ask of it (meetings with the other nodes) and
// what it tells them (a meeting is over, a process or a node elsewhere is lost), and how it sleeps. The commands
// of the processes are not here but in remote/gateway_rings.hpp. One object per node, in the gateway: a thread of
// the agent. All calls by that thread, but for open() and close(). Never blocks.
//
// Meetings: Barrier's last local arriver asks for one and, when the gateway sleeps, wakes it. The gateway takes
// it (take_meeting), meets the other nodes, then finish_meeting() releases the node's processes. Numbers count
// from 0 and are the same on all nodes, for all processes of a job make the same collective calls.
//
// Sleep: announce_sleep(); look once more at everything (has_work(), the port's mail, what other threads of the
// process left); sleep on sockets and the event; end_sleep(). A process that is killed or stopped after it
// published and before it woke the gateway has published nothing that others wait for but its own commands; a
// death wakes the gateway (node/death.hpp).
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
        std::uint32_t number = 0;  // of those that the agents carry, from 0
        Gathers gathers = Gathers::nothing;
    };

    //   segment  of a job of several nodes; must outlive this
    explicit GatewayPort(const Segment& segment) noexcept;

    // Takes the gateway's slot (index local_procs). Before a process of the node starts.
    //   event_fd  an eventfd that the node's processes inherit under this number
    void open(int event_fd) noexcept;

    // The gateway goes for good: waits for other nodes end. Any thread of the process.
    void close(std::uint32_t wait_status) noexcept;

    // Whether take_meeting() would give one. One load.
    [[nodiscard]] bool has_meeting() const noexcept;

    // All processes of this node have come to this meeting. Each is given once.
    [[nodiscard]] std::optional<DueMeeting> take_meeting() noexcept;

    // The value each process of this node brings to the meeting taken last, by slot.   into.size() == local_procs
    void read_wanted(std::span<std::uint32_t> into) const noexcept;

    // How the call went that the meeting taken last ends, for all of this node.
    [[nodiscard]] Conclusion read_conclusion() const noexcept;

    // The meeting taken last is over on all nodes: releases this node's processes.
    //   gathered  a value per process of the job, by process index, or the words of an Conclusion of all nodes: as the
    //             meeting gathers; else empty
    void finish_meeting(std::span<const std::uint32_t> gathered) noexcept;

    // Whom a gateway in a process of this node asks to be watched: a node, or every_node. Each request is given once.
    [[nodiscard]] std::optional<std::uint32_t> take_watch() noexcept;

    // Whether the only process of this node has told that no other node can reach it.
    [[nodiscard]] bool is_process_unreachable() const noexcept {
        // seq_cst: partner is Segment::wake_gateway
        return segment_.control().is_unreachable.load(std::memory_order_seq_cst) != 0;
    }

    // A process of another node is gone: every wait of this node ends. Only the first call for it counts.
    //   process < procs   wait_status  as waitpid gives it, or unknown_status
    void publish_death(std::uint32_t process, std::uint32_t wait_status) noexcept;

    // Another node is lost, and all its processes with it. Only the first call for it counts. Not for a node whose
    // processes have all left in order.
    void publish_severed(std::uint32_t node, NodeLoss why) noexcept;

    // From now on who publishes something for the gateway signals its event.
    void announce_sleep() noexcept;

    // Whether a meeting is asked for or a command ring was rung: to be asked after announce_sleep().
    [[nodiscard]] bool has_work() const noexcept;

    void end_sleep() noexcept;

private:
    const Segment& segment_;
    std::uint32_t taken_ = 0;  // number of the barrier that was taken last
    std::uint32_t meetings_ =
        0;  // taken; the processes carry those of other barriers (own_meetings.hpp)
    Gathers gathers_ = Gathers::nothing;  // by that meeting
};

}  // namespace acp::node
