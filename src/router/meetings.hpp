// SPDX-License-Identifier: BSD-3-Clause
// The meetings (barriers) of all nodes, carried in frames: sends the message parts that Meeting has
// due when there is room, passes received parts to it, and reports the completion of a meeting.
// After the loss of a node no meeting completes (ORD-26). One thread.
// Tests: tests/unit/router/router_test.cpp, failure_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "router/activity.hpp"
#include "router/meeting.hpp"
#include "router/nodes.hpp"
#include "router/outbox.hpp"

namespace acp::router {

class Meetings {
public:
    // All arguments must outlive this. Throws std::bad_alloc.
    Meetings(
        Nodes& nodes, Outbox& outbox, Completions& completions, Activity& activity, const Map& map);

    // This node joins meeting `number`: see Router::start_barrier() and
    // Router::start_min_reduction().
    void start(std::uint32_t number, std::span<const std::uint32_t> wanted);
    void start_min_reduction(std::uint32_t number, const Meeting::Words& words);

    // WIRE-119: a part of another node's message.
    [[nodiscard]] Fault on_meet(const RouterPeer& from, const MeetFrame& frame, Bytes values);

    // Sends the due parts for which there is room; reports a meeting that has completed.
    void send_due() {
        if (is_ready_) advance();
    }

    // Notes that there may be room again at some node.
    void note_room() noexcept { is_ready_ = is_ready_ || meeting_.is_on(); }

    // Call when a node is lost: from then on no meeting completes.
    void give_up() noexcept { is_lost_ = true; }

    // Whether this node has joined a meeting that can still complete and has not.
    [[nodiscard]] bool is_on() const noexcept { return meeting_.is_on() && !is_lost_; }

    [[nodiscard]] bool are_others_waiting() const noexcept { return meeting_.are_others_waiting(); }

    // The node whose message this node waits for; none unless is_on().
    [[nodiscard]] std::optional<NodeId> missing_node() const noexcept {
        return is_on() ? std::optional(meeting_.missing_node()) : std::nullopt;
    }

    // Whether send_due() may have parts to send or a meeting to report.
    [[nodiscard]] bool is_ready() const noexcept { return is_ready_; }

    // To be called at a scan. Whether this node has waited for longer than from one scan to the
    // next.
    //   node  set to the node it waits for
    [[nodiscard]] bool is_overdue(NodeId& node) noexcept;

private:
    // The first process of each node, from the job's map.
    class Layout final : public Meeting::Layout {
    public:
        explicit Layout(const Map& map) noexcept : map_(map) {}

        [[nodiscard]] std::uint32_t first(NodeId node) const noexcept override {
            return map_.first_process(node);
        }

    private:
        const Map& map_;
    };

    void note_start() noexcept;
    void advance();
    [[nodiscard]] bool send_part();

    Nodes& nodes_;
    Outbox& outbox_;
    Completions& completions_;
    Activity& activity_;
    Layout layout_;
    Meeting meeting_;
    bool is_lost_ = false;
    bool is_ready_ = false;
    std::uint32_t scans_ = 0;  // scans since this node joined the meeting
};

}  // namespace acp::router
