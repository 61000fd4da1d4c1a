// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives MEET frames.
#include "router/meetings.hpp"

#include <algorithm>

namespace acp::router {

Meetings::Meetings(
    Nodes& nodes, Outbox& outbox, Completions& completions, Activity& activity, const Map& map)
    : nodes_(nodes),
      outbox_(outbox),
      completions_(completions),
      activity_(activity),
      layout_(map),
      meeting_(nodes.self(), nodes.nodes(), layout_) {}

void Meetings::start(std::uint32_t number, std::span<const std::uint32_t> wanted) {
    if (is_lost_) return;
    meeting_.start(number, wanted);
    note_start();
}

void Meetings::start_min_reduction(std::uint32_t number, const Meeting::Words& words) {
    if (is_lost_) return;
    meeting_.start_min_reduction(number, words);
    note_start();
}

void Meetings::note_start() noexcept {
    is_ready_ = true;
    scans_ = 0;
    activity_.arm_scan();
}

Fault Meetings::on_meet(const RouterPeer& from, const MeetFrame& frame, Bytes values) {
    Meeting::Part part;
    part.number = frame.number;
    part.round = frame.round;
    part.offset = frame.offset;
    part.total = frame.total;
    part.count = frame.count;
    const Fault fault = meeting_.hear(from.node, part, values);
    is_ready_ = true;
    return fault;
}

// Sends one part. Returns false if none is due, or there is no room.
bool Meetings::send_part() {
    Meeting::Part part;
    NodeId node = 0;
    if (!meeting_.next(0, node, part)) return false;
    RouterPeer& to = nodes_.peer(node);
    if (to.is_severed || to.is_blocked) return false;
    const std::uint64_t room_bytes = std::min<std::uint64_t>(outbox_.frame_bytes_max(to), 0xffffU);
    const std::uint64_t values_max = (room_bytes - sizeof(MeetFrame)) / 4;
    (void)meeting_.next(static_cast<std::uint32_t>(values_max), node, part);
    const std::size_t bytes = sizeof(MeetFrame) + std::size_t{part.count} * 4;
    std::byte* room = outbox_.reserve(to, bytes);
    if (room == nullptr) return false;
    MeetFrame frame;
    frame.round = part.round;
    frame.count = static_cast<std::uint16_t>(part.count);
    frame.number = part.number;
    frame.offset = part.offset;
    frame.total = part.total;
    write(room, frame);
    meeting_.copy_values(part, room + sizeof frame);
    outbox_.commit(to, bytes);
    meeting_.sent(part);
    return true;
}

void Meetings::advance() {
    while (send_part()) {
    }
    is_ready_ = false;
    std::uint32_t number = 0;
    std::span<const std::uint32_t> table;
    if (meeting_.take_met(number, table)) {
        activity_.note_move();
        completions_.on_met(number, table);
    }
}

bool Meetings::is_overdue(NodeId& node) noexcept {
    scans_ = is_on() ? scans_ + 1 : 0;
    if (scans_ < 2) return false;
    node = meeting_.missing_node();
    return true;
}

}  // namespace acp::router
