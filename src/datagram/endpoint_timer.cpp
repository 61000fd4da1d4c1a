// SPDX-License-Identifier: BSD-3-Clause
// What happens because nothing happened: handshakes tried again, acknowledgements that waited long enough, probes,
// pings, nodes given up, idle peers folded. An alarm may ring early; each handler looks at what is due.
#include <algorithm>

#include "datagram/endpoint_machine.hpp"

namespace acp::datagram {
namespace {

Time after(Time begin, Time span) noexcept {
    return begin == never || span >= never - begin ? never : begin + span;
}

}  // namespace

void EndpointMachine::on_timer(Time now) {
    now_ = std::max(now_, now);
    // WIRE-87: whoever was stopped for long has not listened either.
    if (now_ >= after(timers_.next(), stopped_after_ns)) resumed_ = now_;
    while (Peer* peer = timers_.ring(now_)) {
        if (!table_.is_severed(peer->node) && !is_closing_) ring(*peer);
    }
    settle();
}

Time EndpointMachine::deadline() const noexcept {
    if (answers_count_ != 0 || !news_.empty() || has_more_news_) return 0;
    if (is_closing_) return farewell_next_ < settings_.nodes ? 0 : never;
    return first_ready_ != nullptr ? 0 : timers_.next();
}

void EndpointMachine::ring(Peer& peer) {
    switch (peer.state) {
        case Peer::State::connecting:
            ring_connecting(peer);
            break;
        case Peer::State::half_open:
            ring_half_open(peer);
            break;
        case Peer::State::connected:
            ring_connected(peer);
            break;
    }
}

void EndpointMachine::ring_connecting(Peer& peer) {
    // WIRE-86: not before some tries, so that a gateway that was stopped does not blame the others.
    if (now_ >= after(peer.began, settings_.connect_timeout_ns) &&
        peer.inits >= probes_before_severing) {
        fail(peer.node, SeverReason::unreachable);
        return;
    }
    if (now_ >= peer.next_init && peer.inits_due == 0) {
        // WIRE-71: later tries are doubled, for paths that lose half of what they carry.
        peer.inits_due = peer.inits < 4 ? 1 : 2;
        peer.next_init = never;
        make_ready(peer);
    }
    arm(peer);
}

void EndpointMachine::ring_half_open(Peer& peer) {
    if (now_ < half_open_deadline(peer)) {
        arm(peer);
        return;
    }
    if (owed(peer) != 0 || peer.watchers != 0) {
        fail(peer.node, SeverReason::unreachable);
        return;
    }
    // It asked, and then was never heard of again; nobody here has missed it.
    release_all(peer);
    unready(peer);
    --half_open_;
    table_.drop(peer.node);
}

void EndpointMachine::ring_connected(Peer& peer) {
    note_owing(peer);
    if (now_ >= silence_deadline(peer) && peer.probes_unanswered >= probes_before_severing) {
        fail(peer.node, SeverReason::silent);
        return;
    }
    if (now_ >= narrow_deadline(peer)) {
        fail(peer.node, SeverReason::narrowed);
        return;
    }
    if (now_ >= peer.ack_at) {
        peer.ack_at = never;
        peer.is_ack_due = true;
    }
    if (now_ >= peer.loss.deadline()) {
        Settled settled;
        CongestionSample sample;
        sample.in_flight = peer.sent.bytes_in_flight();
        peer.loss.detect(peer.sent, now_, peer.rtt, settled,
                         [&](PacketNumber number, const SentDatagram& record) {
                             on_lost(peer, number, record);
                         });
        if (settled.lost != 0) adapt(peer, settled, sample);
        if (peer.sent.count() == 0) peer.probe.disarm();
    }
    if (now_ >= peer.probe.deadline() && peer.sent.count() != 0) probe(peer);
    if (now_ >= ping_deadline(peer)) peer.is_ping_due = true;
    // make_ready() below: next_transmit looks again.
    peer.is_paced = peer.is_starved = false;
    // WIRE-39
    peer.receive_keys.retire(now_, 3 * peer.probe.timeout(peer.rtt));
    if (now_ >= fold_deadline(peer) && fold(peer)) return;
    make_ready(peer);
    arm(peer);
}

// WIRE-51 WIRE-52 WIRE-53: the oldest go again. Long datagrams may be too long by now: a short one beside them
// tells (WIRE-77).
void EndpointMachine::probe(Peer& peer) {
    const std::uint32_t count = peer.probe.expire(now_, peer.rtt);
    ++peer.probes_unanswered;
    turn_address(peer);
    counters_.probes += count;
    bool is_long = false;
    std::uint32_t taken = 0;
    peer.sent.take_lost([&](PacketNumber, const SentDatagram& record) {
        if (taken == count) return false;
        ++taken;
        is_long |= !record.is_path_probe && record.bytes > peer.mtu.least();
        give_up(peer, record);
        return true;
    });
    if (peer.probe.is_persistent()) {
        Settled settled;
        peer.loss.lose_all(peer.sent, settled, [&](PacketNumber, const SentDatagram& record) {
            give_up(peer, record);
        });
        peer.congestion->on_silence();
        peer.pacer.set_rate(peer.congestion->pacing_window_bytes(), peer.rtt.smoothed(), false);
    }
    peer.bypass = count;
    peer.pings_due = count - taken;
    peer.is_short_due = is_long;
    peer.is_ping_due = is_long || peer.lost.empty();
}

// WIRE-87
Time EndpointMachine::silence_deadline(const Peer& peer) const noexcept {
    if (settings_.peer_timeout_ns == 0 || peer.owing_since == never) return never;
    return after(std::max({peer.heard, peer.owing_since, resumed_}), settings_.peer_timeout_ns);
}

// WIRE-77: it answers, but what is owed does not come, fragments or not.
Time EndpointMachine::narrow_deadline(const Peer& peer) const noexcept {
    if (settings_.peer_timeout_ns == 0 || peer.narrow_since == never) return never;
    return after(std::max(peer.narrow_since, resumed_), settings_.peer_timeout_ns);
}

// WIRE-85: only when nothing is in flight; what is gets probes anyway.
Time EndpointMachine::ping_deadline(const Peer& peer) const noexcept {
    if (peer.watchers == 0 || peer.sent.count() != 0 || peer.is_ping_due) return never;
    return after(std::max(peer.heard, peer.owing_since == never ? 0 : peer.owing_since),
                 ping_after_ns);
}

Time EndpointMachine::fold_deadline(const Peer& peer) const noexcept {
    if (settings_.idle_fold_ns == 0 || peer.owing_since != never) return never;
    return after(std::max(peer.active, peer.heard), settings_.idle_fold_ns);
}

// WIRE-19: an initiator asks for connect_timeout, and once answered probes for peer_timeout.
Time EndpointMachine::half_open_deadline(const Peer& peer) const noexcept {
    if (settings_.peer_timeout_ns == 0) return never;
    return after(after(peer.began, settings_.connect_timeout_ns),
                 settings_.peer_timeout_ns + settings_.initial_rtt_ns);
}

Time EndpointMachine::deadline_of(const Peer& peer) const noexcept {
    switch (peer.state) {
        case Peer::State::connecting: {
            // A try that is due is sent by next_transmit, which sets the alarm for the next one.
            if (peer.inits_due != 0) return never;
            // Past it, but not enough tries were made: the next try rings.
            const Time end = after(peer.began, settings_.connect_timeout_ns);
            return end > now_ ? std::min(peer.next_init, end) : peer.next_init;
        }
        case Peer::State::half_open:
            return half_open_deadline(peer);
        case Peer::State::connected:
            break;
    }
    Time at = std::min(peer.ack_at, peer.loss.deadline());
    if (peer.sent.count() != 0) at = std::min(at, peer.probe.deadline());
    if (peer.is_paced) at = std::min(at, peer.pacer.deadline());
    if (peer.is_starved) at = std::min(at, now_ + starved_retry_ns);
    if (peer.receive_keys.has_previous())
        at = std::min(at, now_ + 3 * peer.probe.timeout(peer.rtt));
    at = std::min(at, ping_deadline(peer));
    const Time silence = silence_deadline(peer);
    // Past it, but not enough probes were sent: the probe timer rings.
    if (silence > now_) at = std::min(at, silence);
    at = std::min(at, std::max(narrow_deadline(peer), now_ + 1));
    const Time fold = fold_deadline(peer);
    return std::min(at, fold > now_ ? fold : now_ + settings_.idle_fold_ns);
}

// Never for a time already past: on_timer() ends, whatever a deadline says.
void EndpointMachine::arm(Peer& peer) noexcept {
    timers_.set(peer, std::max(deadline_of(peer), now_ + 1));
}

}  // namespace acp::datagram
