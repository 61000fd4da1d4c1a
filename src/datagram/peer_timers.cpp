// SPDX-License-Identifier: BSD-3-Clause
// Computes the deadlines of a peer from its present state. One thread.
#include "datagram/peer_timers.hpp"

#include <algorithm>

namespace acp::datagram {
namespace {

Time after(Time begin, Time span) noexcept {
    return begin == never || span >= never - begin ? never : begin + span;
}

}  // namespace

// An alarm is never set to a time already past: the loop over ring() ends for all deadlines.
void PeerTimers::arm(Peer& peer, Time now) noexcept {
    alarms_.set(peer, std::max(deadline_of(peer, now), now + 1));
}

void PeerTimers::note_time(Time now) noexcept {
    if (now >= after(alarms_.next(), stopped_after_ns)) resumed_ = now;
}

Time PeerTimers::connect_deadline(const Peer& peer) const noexcept {
    return after(std::max(peer.handshake.began, resumed_), settings_.connect_timeout_ns);
}

// The initiator sends INITs for connect_timeout; once answered, it probes for peer_timeout. After both it has given up.
Time PeerTimers::half_open_deadline(const Peer& peer) const noexcept {
    if (settings_.peer_timeout_ns == 0) return never;
    return after(connect_deadline(peer), settings_.peer_timeout_ns + settings_.initial_rtt_ns);
}

Time PeerTimers::silence_deadline(const Peer& peer) const noexcept {
    if (settings_.peer_timeout_ns == 0 || peer.life.owing_since == never) return never;
    return after(std::max({peer.life.heard, peer.life.owing_since, resumed_}),
                 settings_.peer_timeout_ns);
}

// The time at which a peer is severed that answers but receives no further content, whole or in
// fragments. A peer that has not answered since is judged by its silence.
Time PeerTimers::stall_deadline(const Peer& peer) const noexcept {
    if (settings_.peer_timeout_ns == 0 || peer.path.stalled_since == never) return never;
    const Time since = std::max(peer.path.stalled_since, resumed_);
    return peer.life.heard < after(since, gap_max()) ? never
                                                     : after(since, settings_.peer_timeout_ns);
}

// Pings are needed only if nothing is in flight: otherwise the probe timer asks for acknowledgements.
Time PeerTimers::ping_deadline(const Peer& peer) noexcept {
    if (peer.life.watchers == 0 || peer.flight.sent.count() != 0 || peer.flight.is_ping_due)
        return never;
    return after(
        std::max(peer.life.heard, peer.life.owing_since == never ? 0 : peer.life.owing_since),
        ping_after_ns);
}

Time PeerTimers::fold_deadline(const Peer& peer) const noexcept {
    if (settings_.idle_fold_ns == 0 || peer.life.owing_since != never) return never;
    return after(std::max(peer.life.active, peer.life.heard), settings_.idle_fold_ns);
}

Time PeerTimers::deadline_of(const Peer& peer, Time now) const noexcept {
    switch (peer.state) {
        case Peer::State::connecting: {
            // An INIT that is due is sent by next_transmit(), which then sets the alarm for the next one.
            if (peer.handshake.inits_due != 0) return never;
            // Past the deadline, but with too few tries: the alarm rings for the next try.
            const Time end = connect_deadline(peer);
            return end > now ? std::min(peer.handshake.next_init, end) : peer.handshake.next_init;
        }
        case Peer::State::half_open:
            return half_open_deadline(peer);
        case Peer::State::connected:
            break;
    }
    Time at = std::min(peer.ack.at, peer.flight.loss.deadline());
    if (peer.flight.sent.count() != 0) at = std::min(at, peer.flight.probe.deadline());
    if (peer.flight.is_paced) at = std::min(at, peer.flight.pacer.deadline());
    if (peer.flight.is_starved) at = std::min(at, now + starved_retry_ns);
    if (peer.keys.receive.has_previous())
        at = std::min(at, now + 3 * peer.flight.probe.timeout(peer.flight.rtt));
    at = std::min(at, ping_deadline(peer));
    const Time silence = silence_deadline(peer);
    // Past the deadline, but with too few probes: the probe timer rings.
    if (silence > now) at = std::min(at, silence);
    at = std::min(at, std::max(stall_deadline(peer), now + 1));
    const Time fold = fold_deadline(peer);
    return std::min(at, fold > now ? fold : now + settings_.idle_fold_ns);
}

}  // namespace acp::datagram
