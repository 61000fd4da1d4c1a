// SPDX-License-Identifier: BSD-3-Clause
// Processes acknowledgements, losses and probe timeouts. One thread.
#include "datagram/loss_recovery.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace acp::datagram {
namespace {

// Updates the congestion window and the pacer with what was settled.
//   sample  filled with what only the caller knows; the rest is filled here
void adapt(Peer& peer, const SettledPackets& settled, CongestionSample sample, Time now) {
    sample.now = now;
    sample.acked_bytes = settled.acked_bytes;
    sample.acked = settled.acked;
    sample.lost_bytes = settled.lost_bytes;
    sample.lost = settled.lost;
    sample.newest_lost_sent = settled.newest_lost_sent;
    sample.sent = settled.largest_sent;
    sample.smoothed_rtt_ns = peer.flight.rtt.smoothed();
    sample.datagram_bytes = peer.path.mtu.current();
    peer.flight.congestion->on_sample(sample);
    peer.flight.pacer.on_settled(now, settled.acked, settled.lost, settled.lost_together,
                                 settled.newest_lost_sent);
    peer.flight.pacer.set_rate(peer.flight.congestion->pacing_window_bytes(),
                               peer.flight.rtt.smoothed(), peer.flight.congestion->is_slow_start());
}

void rearm_probe(Peer& peer, Time now) noexcept {
    if (peer.flight.sent.count() == 0) {
        peer.flight.probe.disarm();
    } else {
        peer.flight.probe.arm(now, peer.flight.rtt);
    }
}

}  // namespace

void LossRecovery::on_ack(Peer& peer, const AckFrame& ack, Time now) {
    const Dsn cumulative = peer.path.credit.cumulative();
    // WIRE-25: an acknowledgement of packets or content never sent violates the protocol.
    if (ack.largest >= peer.flight.sent.next() ||
        !peer.path.credit.on_ack(now, ack.cumulative, ack.credit, peer.path.next_dsn)) {
        ++counters_.unsent_acknowledged;
        return;
    }
    if (peer.path.credit.cumulative() != cumulative) peer.path.note_progress(now);
    // Order matters: records are removed first, then the RTT is sampled, by which the loss detector
    // then judges the rest.
    const std::uint64_t in_flight = peer.flight.sent.bytes_in_flight();
    SettledPackets settled = peer.flight.loss.on_ack(
        peer.flight.sent, ack, [&](PacketNumber number, const SentDatagram& record) {
            on_acked(peer, number, record, now);
        });
    if (settled.largest_sent != never)
        peer.flight.rtt.sample(now, settled.largest_sent, ack.delay_ns);
    peer.flight.loss.detect(peer.flight.sent, now, peer.flight.rtt, settled,
                            [&](PacketNumber number, const SentDatagram& record) {
                                on_lost(peer, number, record, now);
                            });
    if (settled.spurious != 0) peer.flight.congestion->on_spurious();
    const std::uint32_t before = peer.path.mtu.current();
    if (peer.path.mtu.recognise(ack)) on_longer_path(peer, before, now);
    const bool has_sample = settled.largest_sent != never;
    if (has_sample || settled.acked != 0) {
        peer.flight.probe.on_ack();
        peer.probes_in_vain = 0;
        peer.flight.probe_budget = peer.flight.pings_due = 0;
    }
    if (settled.acked + settled.lost != 0 || has_sample) {
        CongestionSample sample;
        sample.rtt_ns = has_sample ? peer.flight.rtt.latest() : 0;
        sample.in_flight = in_flight;
        sample.is_drain_asked = ack.is_drain;
        adapt(peer, settled, sample, now);
    }
    rearm_probe(peer, now);
    buffers_.note_owing(peer, now);
    peers_.make_ready(peer);
}

void LossRecovery::on_timer(Peer& peer, Time now) {
    if (now >= peer.flight.loss.deadline()) {
        SettledPackets settled;
        CongestionSample sample;
        sample.in_flight = peer.flight.sent.bytes_in_flight();
        peer.flight.loss.detect(peer.flight.sent, now, peer.flight.rtt, settled,
                                [&](PacketNumber number, const SentDatagram& record) {
                                    on_lost(peer, number, record, now);
                                });
        if (settled.lost != 0) adapt(peer, settled, sample, now);
        if (peer.flight.sent.count() == 0) peer.flight.probe.disarm();
    }
    if (now >= peer.flight.probe.deadline() && peer.flight.sent.count() != 0)
        on_probe_timeout(peer, now);
}

void LossRecovery::on_acked(Peer& peer, PacketNumber number, const SentDatagram& record, Time now) {
    if (record.is_path_probe) {
        const std::uint32_t before = peer.path.mtu.current();
        peer.path.mtu.on_acknowledged(record.bytes);
        on_longer_path(peer, before, now);
        return;
    }
    if (!record.has_dsn) return;
    peer.path.mtu.on_content_acknowledged(number, record.bytes);
    ACP_ASSERT(buffers_.pool()[record.buffer].dsn == record.dsn);
    buffers_.release(peer, record.buffer);
}

// A datagram was lost: one sent later was acknowledged.
void LossRecovery::on_lost(Peer& peer, PacketNumber number, const SentDatagram& record, Time now) {
    if (record.has_dsn && peer.path.mtu.on_content_lost(now, record.sent, number, record.bytes)) {
        // The path no longer carries long datagrams.
        ++counters_.path_fallbacks;
        peer.path.fit_allowance();
    }
    give_up(peer, record, now);
}

void LossRecovery::give_up(Peer& peer, const SentDatagram& record, Time now) noexcept {
    if (record.is_path_probe) {
        peer.path.mtu.on_lost(now);
        return;
    }
    if (record.has_dsn) {
        peer.path.lost_bytes = record.bytes;
        peer.queue.lost.push(buffers_.pool(), record.buffer);
        peers_.make_ready(peer);
    }
}

// WIRE-79: credit promised so far was for short datagrams. The acknowledgement of the probe
// reported all those promises; later ones are for long datagrams. If longer datagrams take no more
// room at the receiver, there is no difference.
void LossRecovery::on_longer_path(Peer& peer, std::uint32_t before, Time now) noexcept {
    if (peer.path.mtu.current() <= before) return;
    if (true_bytes(peer.path.mtu.current()) > true_bytes(before)) {
        const bool has_short =
            peer.path.short_bytes != 0 &&
            static_cast<std::int32_t>(peer.path.next_dsn - peer.path.long_from) < 0;
        peer.path.short_bytes = has_short ? std::min(peer.path.short_bytes, before) : before;
        peer.path.long_from = peer.path.credit.limit(now);
    }
    peer.path.fit_allowance();
    buffers_.note_room();  // longer frames fit now
}

// WIRE-51 WIRE-52 WIRE-53: sends the oldest datagrams again. If the path has become shorter, it
// drops the long datagrams; the acknowledgement of a short one sent beside them shows that
// (WIRE-77).
void LossRecovery::on_probe_timeout(Peer& peer, Time now) {
    const std::uint32_t count = peer.flight.probe.expire(now, peer.flight.rtt);
    ++peer.life.probes_unanswered;
    addresses_.note_probe_timeout(peer);
    counters_.probes += count;
    bool is_long = false;
    std::uint32_t taken = 0;
    peer.flight.sent.take_lost([&](PacketNumber, const SentDatagram& record) {
        if (taken == count) return false;
        ++taken;
        is_long |= !record.is_path_probe && record.bytes > peer.path.mtu.least();
        give_up(peer, record, now);
        return true;
    });
    if (peer.flight.probe.is_persistent()) {
        SettledPackets settled;
        peer.flight.loss.lose_all(
            peer.flight.sent, settled,
            [&](PacketNumber, const SentDatagram& record) { give_up(peer, record, now); });
        peer.flight.congestion->on_silence();
        peer.flight.pacer.set_rate(peer.flight.congestion->pacing_window_bytes(),
                                   peer.flight.rtt.smoothed(), false);
    }
    // The oldest datagrams may be sent again whatever the window says; pings stand in for those
    // that do not exist.
    peer.flight.probe_budget = count;
    peer.flight.pings_due = count - taken;
    peer.flight.is_short_due = is_long;
    peer.flight.is_ping_due = is_long || peer.queue.lost.empty();
}

}  // namespace acp::datagram
