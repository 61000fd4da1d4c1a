// SPDX-License-Identifier: BSD-3-Clause
// Seals batches of data, and datagrams that are sent alone: acknowledgements, pings, path probes.
// One thread.
#include "datagram/transmitter.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace acp::datagram {
namespace {

Transmit single(Peer& peer, std::uint32_t bytes) noexcept {
    peer.traffic.bytes_sent += bytes;
    return {peer.address, bytes, bytes, 1, false};
}

}  // namespace

Transmit Transmitter::transmit(Peer& peer, MutableBytes into, Time now) {
    // An acknowledgement that did not fit into the last batch is sent first, alone.
    if (peer.ack.is_left_out) return transmit_control(peer, into, now);
    const Batch batch = planner_.plan(peer, now);
    if (batch.count != 0) {
        const Transmit transmit = transmit_batch(peer, batch, into, now);
        if (transmit.bytes != 0) return transmit;
    }
    // WIRE-52: if less is in flight than a probe timeout may send, pings make up for the rest; each
    // of them is answered.
    if (peer.flight.pings_due != 0) {
        --peer.flight.pings_due;
        peer.flight.is_ping_due = true;
    }
    if (peer.ack.echoes_due != 0) {
        --peer.ack.echoes_due;
        peer.ack.is_due = true;
    }
    if (peer.ack.is_due || peer.flight.is_ping_due) return transmit_control(peer, into, now);
    return transmit_path_probe(peer, into, now);
}

Transmit Transmitter::transmit_batch(Peer& peer, const Batch& batch, MutableBytes into, Time now) {
    Transmit transmit{peer.address, 0, 0, 0, batch.may_fragment, true};
    for (std::uint32_t i = 0; i < batch.count; ++i) {
        const std::uint32_t bytes =
            transmit_buffer(peer, batch, i, into.data() + transmit.bytes, now);
        if (bytes == 0) {
            // The buffers were taken out of their queues; the peer is being severed, which frees
            // those in queues.
            for (; i < batch.count; ++i)
                peer.queue.lost.push(parts_.buffers.pool(), batch.buffers[i]);
            break;
        }
        if (i == 0) transmit.segment_bytes = bytes;
        transmit.bytes += bytes;
        ++transmit.count;
    }
    if (transmit.count == 0) return {};
    peer.flight.probe_budget -= std::min(peer.flight.probe_budget, transmit.count);
    // Data is ack-eliciting, so it replaces a ping, unless that must be short.
    peer.flight.is_ping_due = peer.flight.is_short_due;
    peer.flight.pacer.on_sent(now, transmit.bytes);
    peer.life.active = now;
    peer.flight.probe.arm(now, peer.flight.rtt);
    if (peer.ack.is_due) add_ack(peer, batch, into, transmit, now);
    peer.traffic.bytes_sent += transmit.bytes;
    return transmit;
}

// Seals one datagram of a batch. Returns its length; 0: there is no key.
std::uint32_t Transmitter::transmit_buffer(
    Peer& peer, const Batch& batch, std::uint32_t i, std::byte* into, Time now) {
    SendPool& pool = parts_.buffers.pool();
    const BufferIndex index = batch.buffers[i];
    SendBuffer& buffer = pool[index];
    const bool is_last = i + 1 == batch.count;
    const bool has_tail = buffer.tail_bytes != 0;
    std::byte* const start = pool.plain(index);
    store(start,
          SealedHeader{buffer.dsn, static_cast<std::uint16_t>(buffer.frame_bytes), has_dsn, 0});
    std::uint32_t used = sealed_bytes + buffer.frame_bytes;
    const std::uint32_t content = used;
    // A tail is sealed from where it lies. Whatever follows it is assembled in the output, at the
    // place where it will be sealed.
    std::byte* const text = has_tail ? into + outer_bytes : start;
    if (is_last && peer.ack.is_wanted()) {
        // WIRE-44: an acknowledgement travels with the data if there is room.
        const std::uint32_t most =
            std::max(batch.segment_bytes, batch.count == 1 ? peer.path.mtu.current() : 0);
        used += parts_.acknowledger.append(
            peer, {text + used, most - outer_bytes - tag_bytes_ - used}, now);
    }
    const std::uint32_t wanted =
        (is_last ? batch.last_bytes : batch.segment_bytes) - outer_bytes - tag_bytes_;
    if (used < wanted) {
        // WIRE-24
        std::memset(text + used, 0, wanted - used);
        used = wanted;
    }
    const PacketNumber number = peer.keys.next_number;
    const std::uint32_t bytes = has_tail
                                    ? seal(peer,
                                           std::array{Bytes(start, content - buffer.tail_bytes),
                                                      Bytes(pool.tail(index), buffer.tail_bytes),
                                                      Bytes(text + content, used - content)},
                                           into)
                                    : seal(peer, std::array{Bytes(start, used)}, into);
    if (bytes == 0) return 0;
    peer.flight.sent.add(number, {now, buffer.dsn, index, bytes, true, false});
    if (buffer.is_numbered) {
        ++parts_.counters.retransmitted;
        ++peer.traffic.retransmitted;
    }
    buffer.is_numbered = true;
    return bytes;
}

// Appends an acknowledgement that did not fit into the data as a shorter datagram at the end of the
// batch.
void Transmitter::add_ack(
    Peer& peer, const Batch& batch, MutableBytes into, Transmit& transmit, Time now) {
    std::array<std::byte, sealed_bytes + AckFrame::bytes_max> plain{};
    peer.ack.is_left_out = true;
    constexpr std::uint32_t longest = outer_bytes + std::uint32_t{plain.size()} + tag_bytes;
    if (batch.last_bytes != batch.segment_bytes || transmit.count != batch.count ||
        batch.segment_bytes < longest || transmit.bytes + longest > datagram_bytes_most) {
        return;
    }
    const std::uint32_t used =
        sealed_bytes +
        parts_.acknowledger.append(peer, MutableBytes(plain).subspan(sealed_bytes), now);
    if (used == sealed_bytes) return;
    const PacketNumber number = peer.keys.next_number;
    const std::uint32_t bytes =
        seal(peer, std::array{Bytes(plain).first(used)}, into.data() + transmit.bytes);
    if (bytes == 0) return;
    peer.flight.sent.skip(number);
    ++parts_.counters.acknowledgements;
    transmit.bytes += bytes;
    ++transmit.count;
}

// Sends an acknowledgement, a ping, or both: none of this is ever sent again.
Transmit Transmitter::transmit_control(Peer& peer, MutableBytes into, Time now) {
    std::array<std::byte, sealed_bytes + AckFrame::bytes_max + wanting_bytes_min> plain{};
    std::uint32_t used = sealed_bytes;
    const bool has_acknowledgement = peer.ack.is_wanted();
    used += parts_.acknowledger.append(peer, MutableBytes(plain).subspan(used, AckFrame::bytes_max),
                                       now);
    const bool is_ping =
        peer.flight.is_ping_due && peer.flight.sent.has_room(peer.keys.next_number);
    if (is_ping) {
        plain[used++] = static_cast<std::byte>(ControlFrame::ping);
        used = std::max(used, wanting_bytes_min - outer_bytes - tag_bytes_);
    }
    peer.flight.is_ping_due = peer.flight.is_short_due = false;
    peer.ack.is_left_out = false;
    if (!is_ping && !has_acknowledgement) return {};
    const PacketNumber number = peer.keys.next_number;
    const std::uint32_t bytes = seal(peer, std::array{Bytes(plain).first(used)}, into.data());
    if (bytes == 0) return {};
    if (is_ping) {
        peer.flight.sent.add(number, {now, 0, no_buffer, bytes, false, false});
        peer.flight.probe.arm(now, peer.flight.rtt);
        ++parts_.counters.pings;
    } else {
        peer.flight.sent.skip(number);
        ++parts_.counters.acknowledgements;
    }
    return single(peer, bytes);
}

// WIRE-75: paths are probed only while they are in use, beside their data; for the first step up
// from the length that every path carries a single datagram of content suffices.
Transmit Transmitter::transmit_path_probe(Peer& peer, MutableBytes into, Time now) {
    const bool is_due = peer.path.mtu.is_unproven() || peer.keys.next_number >= path_probe_after;
    if (!is_due || parts_.buffers.owed(peer) == 0) return {};
    const std::uint32_t bytes = peer.path.mtu.wanted(now);
    if (bytes == 0 || !peer.flight.sent.has_room(peer.keys.next_number)) return {};
    SendPool& pool = parts_.buffers.pool();
    // A buffer of the pool serves as scratch memory for the padding.
    const BufferIndex scratch = pool.take();
    if (scratch == no_buffer) return {};
    std::byte* plain = pool.plain(scratch);
    std::memset(plain, 0, bytes);
    plain[sealed_bytes] = static_cast<std::byte>(ControlFrame::ping);
    const PacketNumber number = peer.keys.next_number;
    const std::uint32_t sealed =
        seal(peer, std::array{Bytes(plain, bytes - outer_bytes - tag_bytes_)}, into.data());
    pool.give_back(scratch);
    if (sealed == 0) return {};
    peer.flight.sent.add(number, {now, 0, no_buffer, sealed, false, true});
    peer.flight.probe.arm(now, peer.flight.rtt);
    peer.path.mtu.on_sent(bytes, number);
    ++parts_.counters.path_probes;
    return single(peer, sealed);
}

// Seals a datagram. Returns 0 if there is no key; then the peer is severed.
std::uint32_t Transmitter::seal(Peer& peer, Pieces plain, std::byte* into) {
    const std::uint32_t bytes = parts_.protection.seal(peer.keys, plain, into);
    if (bytes == 0) parts_.severing.sever(peer.node, SeverReason::no_memory);
    return bytes;
}

}  // namespace acp::datagram
