// SPDX-License-Identifier: BSD-3-Clause
// Deciding when an acknowledgement is due, and writing it. One thread.
#include "datagram/acknowledger.hpp"

#include <algorithm>

#include "datagram/ack_frame.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

bool Acknowledger::want(Peer& peer, std::uint32_t bytes, bool at_once, Time now) const noexcept {
    ++peer.unacknowledged;
    peer.unacknowledged_bytes += bytes;
    if (at_once || peer.unacknowledged >= peer.ack_every ||
        peer.unacknowledged_bytes >= std::uint64_t{2} * settings_.datagram_bytes) {
        peer.is_ack_due = true;
        return true;
    }
    peer.ack_at = std::min(peer.ack_at, now + ack_delay_ns);
    return false;
}

std::uint32_t Acknowledger::append(Peer& peer, MutableBytes room, Time now) noexcept {
    if (!peer.has_ack() || !peer.came.has_any() || room.size() < AckFrame::head_bytes) return 0;
    AckFrame ack;
    peer.came.report(now, ack);
    if (ack.encoded_bytes() > room.size()) return 0;
    const std::uint32_t credit =
        budget_.grant(now, peer.share, std::max(peer.longest_came, settings_.datagram_bytes));
    ack.cumulative = peer.content.base();
    ack.credit =
        static_cast<std::uint16_t>(std::min(credit + peer.content.beyond(), DuplicateWindow::span));
    peer.ack_every = std::clamp(credit / 4, Peer::ack_every_min, Peer::ack_every_max);
    const std::size_t bytes = encode_ack(ack, static_cast<std::uint8_t>(ControlFrame::ack), room);
    peer.unacknowledged = 0;
    peer.unacknowledged_bytes = 0;
    peer.is_ack_due = peer.is_ack_left_out = false;
    peer.ack_at = never;
    return static_cast<std::uint32_t>(bytes);
}

}  // namespace acp::datagram
