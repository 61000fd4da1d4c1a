// SPDX-License-Identifier: BSD-3-Clause
// Does what is due for a peer, by one function per state, and sets its alarm again. One thread.
#include "datagram/timer_events.hpp"

namespace acp::datagram {

void TimerEvents::ring(Peer& peer, Time now) {
    switch (peer.state) {
        case Peer::State::connecting:
            ring_connecting(peer, now);
            break;
        case Peer::State::half_open:
            ring_half_open(peer, now);
            break;
        case Peer::State::connected:
            ring_connected(peer, now);
            break;
    }
}

void TimerEvents::ring_connecting(Peer& peer, Time now) {
    // WIRE-86: only after some tries, so that a gateway that was itself stopped does not blame the
    // others.
    if (now >= peers_.timers().connect_deadline(peer) &&
        peer.handshake.inits >= probes_before_severing) {
        severing_.sever(peer.node, SeverReason::unreachable);
        return;
    }
    if (now >= peer.handshake.next_init && peer.handshake.inits_due == 0) {
        // WIRE-71: later tries send two INITs, for paths that lose half of what they carry.
        peer.handshake.inits_due = peer.handshake.inits < 4 ? 1 : 2;
        peer.handshake.next_init = never;
        peers_.make_ready(peer);
    }
    peers_.arm(peer, now);
}

void TimerEvents::ring_half_open(Peer& peer, Time now) {
    if (now < peers_.timers().half_open_deadline(peer)) {
        peers_.arm(peer, now);
        return;
    }
    if (buffers_.owed(peer) != 0 || peer.life.watchers != 0) {
        severing_.sever(peer.node, SeverReason::unreachable);
        return;
    }
    // After our RESPONSE no datagram of the initiator has arrived, and this side has no content for
    // it.
    buffers_.release_all(peer);
    peers_.drop(peer);
}

void TimerEvents::ring_connected(Peer& peer, Time now) {
    const PeerTimers& timers = peers_.timers();
    buffers_.note_owing(peer, now);
    if (now >= timers.silence_deadline(peer) &&
        peer.life.probes_unanswered >= probes_before_severing) {
        if (!handler_.may_be_waited_for(peer.node)) {
            severing_.sever(peer.node, SeverReason::silent);
            return;
        }
        peer.life.owing_since = now;
    }
    if (now >= timers.stall_deadline(peer)) {
        severing_.sever_stalled(peer);
        return;
    }
    if (now >= peer.ack.at) {
        peer.ack.at = never;
        peer.ack.is_due = true;
    }
    recovery_.on_timer(peer, now);
    if (now >= PeerTimers::ping_deadline(peer)) peer.flight.is_ping_due = true;
    // Because of make_ready() below next_transmit() decides anew whether the peer must wait.
    peer.flight.is_paced = peer.flight.is_starved = false;
    // WIRE-39
    peer.keys.receive.retire(now, 3 * peer.flight.probe.timeout(peer.flight.rtt));
    if (now >= timers.fold_deadline(peer) && peers_.fold(peer)) return;
    peers_.make_ready(peer);
    peers_.arm(peer, now);
}

}  // namespace acp::datagram
