// SPDX-License-Identifier: BSD-3-Clause
// A gateway's work for its node beside carrying commands: it starts a meeting with the other
// nodes when all processes of the node have entered a barrier, reports a local death to the other
// nodes, and publishes remote deaths and lost nodes in the node segment. Knows no ring. Runs in the
// gateway's thread.
// Tests: tests/unit/gateway/gateway_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "datagram/endpoint.hpp"
#include "node/gateway_port.hpp"
#include "node/segment.hpp"

#include "engine/engine.hpp"

namespace acp::gateway {

using datagram::NodeId;
using datagram::Time;

class Duties {
public:
    // Called once for each process of this node that is gone, however it ended.
    using OnGone = std::function<void(std::uint32_t slot)>;

    //   segment, core  must outlive this
    //   peer_timeout   after which a silent node is given up
    Duties(const node::Segment& segment, engine::Engine& core, Time peer_timeout, OnGone on_gone);

    // Takes the gateway's slot.   event_fd  of the event that wakes the gateway
    void open(int event_fd) noexcept { port_.open(event_fd); }

    void close() noexcept { port_.close(0); }

    // Does all that is due. True when there was something to do.
    bool poll();

    // Whether poll() would do something, or the gateway's bell was rung. Called after
    // announce_sleep(), so that no work is missed.
    [[nodiscard]] bool has_work() const noexcept {
        return port_.has_work() || deaths() != deaths_seen_ || are_finished_awaited() ||
               is_unreachable_untold();
    }

    void announce_sleep() noexcept { port_.announce_sleep(); }

    void end_sleep() noexcept { port_.end_sleep(); }

    // The router's Completions call these three.
    void on_process_dead(std::uint32_t process, const base::ProcessEnd& end);
    void on_node_dead(NodeId node);
    void on_met(std::uint32_t number, std::span<const std::uint32_t> gathered);

private:
    [[nodiscard]] std::uint32_t deaths() const noexcept {
        // seq_cst: after the announcement of a sleep; partner: node::mark_dead
        return segment_.control().deaths.load(std::memory_order_seq_cst);
    }

    void start_barrier(const node::GatewayPort::DueMeeting& meeting);
    void watch(NodeId asked);
    void tell_of_the_unreachable();
    void look_for_the_dead();
    void look_at(std::uint32_t slot);
    void report_in_order();
    void report(std::uint32_t slot);

    // Whether other nodes have started a meeting that this node cannot start, because some of its
    // processes have left in order.
    [[nodiscard]] bool are_finished_awaited() const noexcept {
        return !finished_.empty() && core_.router().are_others_waiting();
    }

    [[nodiscard]] bool is_unreachable_untold() const noexcept {
        return !is_unreachable_told_ && port_.is_process_unreachable();
    }

    void tell_of_finished();
    [[nodiscard]] bool is_anybody_joined() const noexcept;

    const node::Segment& segment_;
    engine::Engine& core_;
    Time peer_timeout_;
    OnGone on_gone_;
    node::GatewayPort port_;
    std::uint32_t deaths_seen_ = 0;
    bool is_unreachable_told_ = false;
    std::vector<bool> is_gone_;  // by slot: on_gone_ was called
    // slots of processes that left in order and ended, and whose death is not reported; capacity
    // for all
    std::vector<std::uint32_t> finished_;
    // slots of dead processes whose deaths are not reported yet, in order; capacity for all
    std::vector<std::uint32_t> unreported_;
    // the numbers that the processes contribute to the last meeting taken, by slot
    std::vector<std::uint32_t> wanted_;
};

}  // namespace acp::gateway
