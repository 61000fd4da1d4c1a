// SPDX-License-Identifier: BSD-3-Clause
// Decides when an acknowledgement is due, and writes it. One thread.
#include "datagram/acknowledger.hpp"

#include <algorithm>

#include "datagram/ack_frame.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

bool Acknowledger::want(AckState& ack, std::uint32_t bytes, bool at_once, Time now) const noexcept {
    ++ack.unacknowledged;
    ack.unacknowledged_bytes += bytes;
    if (at_once || ack.unacknowledged >= ack.every ||
        ack.unacknowledged_bytes >= std::uint64_t{2} * settings_.datagram_bytes) {
        ack.is_due = true;
        return true;
    }
    ack.at = std::min(ack.at, now + ack_delay_ns);
    return false;
}

std::uint32_t Acknowledger::append(Peer& peer, MutableBytes room, Time now) noexcept {
    if (!peer.ack.is_wanted() || !peer.received.came.has_any() ||
        room.size() < AckFrame::head_bytes)
        return 0;
    AckFrame ack;
    peer.received.came.report(now, ack);
    if (ack.encoded_bytes() > room.size()) return 0;
    // The credit is computed last, when it is certain that the frame will be sent: grant() is a
    // promise.
    const std::uint32_t credit = budget_.grant(
        now, peer.received.share, std::max(peer.received.longest_came, settings_.datagram_bytes));
    ack.cumulative = peer.received.content.base();
    // `credit` counts new datagrams. Those received beyond `cumulative` lie in the same range of
    // serial numbers, so they are added.
    ack.credit = static_cast<std::uint16_t>(
        std::min(credit + peer.received.content.beyond(), DuplicateWindow::span));
    // The less credit a sender has, the more often it gets an acknowledgement, which grants new
    // credit.
    peer.ack.every = std::clamp(credit / 4, AckState::every_min, AckState::every_max);
    const std::size_t bytes = encode_ack(ack, static_cast<std::uint8_t>(ControlFrame::ack), room);
    peer.ack.unacknowledged = 0;
    peer.ack.unacknowledged_bytes = 0;
    peer.ack.is_due = peer.ack.is_left_out = false;
    peer.ack.at = never;
    return static_cast<std::uint32_t>(bytes);
}

}  // namespace acp::datagram
