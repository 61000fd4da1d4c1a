// SPDX-License-Identifier: BSD-3-Clause
// What acknowledgements and losses do to a peer: buffers come free or are queued again, and all that estimates the
// path is told. Decides neither when something is lost nor how large the window is; the parts do.
#include "base/assert.hpp"
#include "datagram/endpoint_machine.hpp"

namespace acp::datagram {

void EndpointMachine::on_ack(Peer& peer, const AckFrame& ack) {
    const Dsn cumulative = peer.credit.cumulative();
    // WIRE-25: what was never sent cannot have come.
    if (ack.largest >= peer.sent.next() ||
        !peer.credit.on_ack(now_, ack.cumulative, ack.credit, peer.next_dsn)) {
        ++counters_.unsent_acknowledged;
        return;
    }
    if (peer.narrow_since != never && peer.credit.cumulative() != cumulative) {
        peer.narrow_since = now_;
    }
    const std::uint64_t in_flight = peer.sent.bytes_in_flight();
    Settled settled = peer.loss.on_ack(
        peer.sent, ack,
        [&](PacketNumber number, const SentDatagram& record) { on_acked(peer, number, record); });
    if (settled.largest_sent != never) peer.rtt.sample(now_, settled.largest_sent, ack.delay_ns);
    peer.loss.detect(
        peer.sent, now_, peer.rtt, settled,
        [&](PacketNumber number, const SentDatagram& record) { on_lost(peer, number, record); });
    if (settled.spurious != 0) peer.congestion->on_spurious();
    const std::uint32_t before = peer.mtu.current();
    if (peer.mtu.recognise(ack)) on_longer_path(peer, before);
    const bool has_sample = settled.largest_sent != never;
    if (has_sample || settled.acked != 0) {
        peer.probe.on_ack();
        peer.probes_in_vain = 0;
        peer.bypass = peer.pings_due = 0;
    }
    if (settled.acked + settled.lost != 0 || has_sample) {
        CongestionSample sample;
        sample.rtt_ns = has_sample ? peer.rtt.latest() : 0;
        sample.in_flight = in_flight;
        sample.is_drain_asked = ack.is_drain;
        adapt(peer, settled, sample);
    }
    rearm_probe(peer);
    note_owing(peer);
    make_ready(peer);
}

void EndpointMachine::on_acked(Peer& peer, PacketNumber number, const SentDatagram& record) {
    if (record.is_path_probe) {
        const std::uint32_t before = peer.mtu.current();
        peer.mtu.on_acknowledged(record.bytes);
        on_longer_path(peer, before);
        return;
    }
    if (record.bytes > peer.mtu.least()) peer.mtu.on_long_acknowledged(number);
    if (!record.has_dsn) return;
    ACP_ASSERT(pool_[record.buffer].dsn == record.dsn);
    release(peer, record.buffer);
}

// WIRE-79: what was promised so far was promised for short datagrams. The acknowledgement of the probe told of all
// those promises; those after it are for long ones. Where these take no more room, it is all the same.
void EndpointMachine::on_longer_path(Peer& peer, std::uint32_t before) noexcept {
    if (peer.mtu.current() <= before) return;
    if (true_bytes(peer.mtu.current()) > true_bytes(before)) {
        const bool has_short =
            peer.short_bytes != 0 && static_cast<std::int32_t>(peer.next_dsn - peer.long_from) < 0;
        peer.short_bytes = has_short ? std::min(peer.short_bytes, before) : before;
        peer.long_from = peer.credit.limit(now_);
    }
    fit_allowance(peer);
    was_released_ = true;  // more fits into what may be reserved
}

void EndpointMachine::fit_allowance(Peer& peer) const noexcept {
    peer.credit.set_allowance(
        allowance_of(peer.unscheduled, settings_.datagram_bytes, peer.mtu.current()));
}

// Something sent later has come.
void EndpointMachine::on_lost(Peer& peer, PacketNumber number, const SentDatagram& record) {
    if (!record.is_path_probe && record.bytes > peer.mtu.least() &&
        peer.mtu.on_long_lost(now_, record.sent, number)) {
        on_cut_path(peer);
    }
    give_up(peer, record);
}

void EndpointMachine::give_up(Peer& peer, const SentDatagram& record) noexcept {
    if (record.is_path_probe) {
        peer.mtu.on_lost(now_);
        return;
    }
    if (record.has_dsn) {
        peer.lost.push(pool_, record.buffer);
        make_ready(peer);
    }
}

void EndpointMachine::on_cut_path(Peer& peer) noexcept {
    ++counters_.path_fallbacks;
    peer.narrow_since = now_;
    fit_allowance(peer);
}

// Tells the window and the pace what has been learned.
//   sample  what the caller alone knows
void EndpointMachine::adapt(Peer& peer, const Settled& settled, CongestionSample sample) const {
    sample.now = now_;
    sample.acked_bytes = settled.acked_bytes;
    sample.acked = settled.acked;
    sample.lost_bytes = settled.lost_bytes;
    sample.lost = settled.lost;
    sample.newest_lost_sent = settled.newest_lost_sent;
    sample.sent = settled.largest_sent;
    sample.smoothed_rtt_ns = peer.rtt.smoothed();
    sample.datagram_bytes = peer.mtu.current();
    peer.congestion->on_sample(sample);
    peer.pacer.on_settled(now_, settled.acked, settled.lost, settled.lost_together,
                          settled.newest_lost_sent);
    peer.pacer.set_rate(peer.congestion->pacing_window_bytes(), peer.rtt.smoothed(),
                        peer.congestion->is_slow_start());
}

void EndpointMachine::rearm_probe(Peer& peer) const noexcept {
    if (peer.sent.count() == 0) {
        peer.probe.disarm();
    } else {
        peer.probe.arm(now_, peer.rtt);
    }
}

}  // namespace acp::datagram
