// SPDX-License-Identifier: BSD-3-Clause
// Datagrams going out: answers first, then one peer's at a time, as batches of equal datagrams that the kernel cuts
// apart. What is planned is sealed at once into the caller's memory; the plain text stays until acknowledged.
#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "datagram/endpoint_machine.hpp"

namespace acp::datagram {
namespace {

// Serial numbers wrap: whether a lies before b.
bool is_before(Dsn a, Dsn b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
}

}  // namespace

Transmit EndpointMachine::next_transmit(Time now, MutableBytes into) {
    ACP_ASSERT(into.size() >= 65536);
    now_ = std::max(now_, now);
    settle();
    if (answers_count_ != 0) return transmit_answer(into);
    if (is_closing_) return transmit_farewell(into);
    while (Peer* peer = take_ready()) {
        if (table_.is_severed(peer->node)) continue;
        const Transmit transmit = transmit_peer(*peer, into);
        note_owing(*peer);
        arm(*peer);
        if (transmit.bytes == 0) continue;
        counters_.datagrams_sent += transmit.count;
        counters_.bytes_sent += transmit.bytes;
        // It may have more; the others come first.
        make_ready(*peer);
        return transmit;
    }
    return {};
}

Transmit EndpointMachine::transmit_answer(MutableBytes into) noexcept {
    const Answer& answer = answers_[answers_first_];
    answers_first_ = (answers_first_ + 1) % answers_max;
    --answers_count_;
    std::memcpy(into.data(), answer.data.data(), answer.bytes);
    ++counters_.datagrams_sent;
    counters_.bytes_sent += answer.bytes;
    return {answer.to, answer.bytes, answer.bytes, 1, false};
}

Transmit EndpointMachine::transmit_peer(Peer& peer, MutableBytes into) {
    if (peer.state == Peer::State::connecting) {
        return peer.inits_due != 0 ? transmit_init(peer, into) : Transmit{};
    }
    // WIRE-74: a responder waits for a sign that its answer has come.
    if (peer.state == Peer::State::half_open) return {};
    // An acknowledgement that found no room in the last batch waits for no other.
    if (peer.is_ack_left_out) return transmit_control(peer, into);
    const Batch batch = plan(peer);
    if (batch.count != 0) {
        const Transmit transmit = transmit_batch(peer, batch, into);
        if (transmit.bytes != 0) return transmit;
    }
    // WIRE-52: where less is in flight than a timeout sends, pings make up for it, and each is answered.
    if (peer.pings_due != 0) {
        --peer.pings_due;
        peer.is_ping_due = true;
    }
    if (peer.echoes_due != 0) {
        --peer.echoes_due;
        peer.is_ack_due = true;
    }
    if (peer.is_ack_due || peer.is_ping_due) return transmit_control(peer, into);
    return transmit_path_probe(peer, into);
}

// The datagram to be sent next in this batch; no_buffer: none now. Says in the peer why not.
BufferIndex EndpointMachine::next_buffer(Peer& peer,
                                         const Batch& batch,
                                         std::uint64_t planned_bytes) {
    // WIRE-88: what the peer has already is not sent again.
    while (!peer.lost.empty() &&
           is_before(pool_[peer.lost.front()].dsn, peer.credit.cumulative())) {
        release(peer, peer.lost.pop(pool_));
    }
    const bool is_again = !peer.lost.empty();
    const BufferIndex buffer = is_again ? peer.lost.front() : peer.waiting.front();
    if (buffer == no_buffer || pool_[buffer].frame_bytes == 0) return no_buffer;
    if (is_again && peer.bypass > batch.count) return buffer;
    // WIRE-55 WIRE-58
    if (!is_again && peer.credit.left(now_, peer.next_dsn) == 0) {
        if (peer.sent.count() == 0 && batch.count == 0) peer.is_ping_due = true;
        return no_buffer;
    }
    // WIRE-52: where less is in flight than a timeout sends, new content goes along.
    if (peer.bypass > batch.count) return buffer;
    const std::uint64_t bytes = peer.sent.bytes_in_flight() + planned_bytes;
    const std::uint64_t size = pool_[buffer].frame_bytes + overhead_bytes;
    if (bytes != 0 && bytes + size > peer.congestion->window_bytes()) return no_buffer;
    if (batch.count == 0 && !peer.pacer.may_send(now_)) {
        peer.is_paced = true;
        return no_buffer;
    }
    return buffer;
}

// WIRE-89: chooses what goes into one batch, and takes it out of its queue.
EndpointMachine::Batch EndpointMachine::plan(Peer& peer) {
    Batch batch;
    peer.is_paced = peer.is_starved = false;
    const std::uint64_t burst = peer.pacer.burst_bytes(peer.mtu.current());
    while (batch.count < batch_datagrams) {
        const BufferIndex buffer = next_buffer(peer, batch, batch.bytes);
        if (buffer == no_buffer) break;
        const std::uint32_t bytes =
            std::max(pool_[buffer].frame_bytes + overhead_bytes, wanting_bytes_min);
        const bool may_fragment = bytes > peer.mtu.current();
        if (batch.count == 0) {
            batch.segment_bytes = bytes;
            batch.may_fragment = may_fragment;
        } else {
            // Shorter ones are padded when that costs little; else one shorter ends the batch.
            if (bytes > batch.segment_bytes || batch.last_bytes < batch.segment_bytes ||
                may_fragment != batch.may_fragment ||
                batch.bytes + batch.segment_bytes > batch_bytes) {
                break;
            }
            if (batch.bytes + bytes > burst && peer.bypass <= batch.count) break;
        }
        if (!peer.sent.has_room(peer.next_number + batch.count)) {
            peer.is_starved = peer.sent.count() == 0;
            break;
        }
        const bool is_again = !peer.lost.empty();
        (is_again ? peer.lost : peer.waiting).pop(pool_);
        if (buffer == peer.filling) peer.filling = no_buffer;
        if (!is_again) {
            pool_[buffer].dsn = peer.next_dsn++;
            was_released_ = true;  // another may wait in its place
        }
        const bool is_padded =
            bytes < batch.segment_bytes && (batch.segment_bytes - bytes) * 4 <= batch.segment_bytes;
        batch.last_bytes = is_padded ? batch.segment_bytes : bytes;
        batch.bytes += batch.last_bytes;
        batch.buffers[batch.count++] = buffer;
    }
    return batch;
}

Transmit EndpointMachine::transmit_batch(Peer& peer, const Batch& batch, MutableBytes into) {
    Transmit transmit{peer.address, 0, 0, 0, batch.may_fragment, true};
    for (std::uint32_t i = 0; i < batch.count; ++i) {
        const std::uint32_t bytes = transmit_buffer(peer, batch, i, into.data() + transmit.bytes);
        if (bytes == 0) {
            for (; i < batch.count; ++i) peer.lost.push(pool_, batch.buffers[i]);
            break;
        }
        if (i == 0) transmit.segment_bytes = bytes;
        transmit.bytes += bytes;
        ++transmit.count;
    }
    if (transmit.count == 0) return {};
    peer.bypass -= std::min(peer.bypass, transmit.count);
    peer.is_ping_due = peer.is_short_due;
    peer.pacer.on_sent(now_, transmit.bytes);
    peer.active = now_;
    peer.probe.arm(now_, peer.rtt);
    if (peer.is_ack_due) add_ack(peer, batch, into, transmit);
    peer.bytes_sent += transmit.bytes;
    return transmit;
}

// Seals one datagram of a batch. Returns its bytes; 0: no key.
std::uint32_t EndpointMachine::transmit_buffer(Peer& peer,
                                               const Batch& batch,
                                               std::uint32_t i,
                                               std::byte* into) {
    const BufferIndex index = batch.buffers[i];
    SendBuffer& buffer = pool_[index];
    const bool is_last = i + 1 == batch.count;
    const bool has_tail = buffer.tail_bytes != 0;
    std::byte* const start = pool_.plain(index);
    store(start,
          SealedHeader{buffer.dsn, static_cast<std::uint16_t>(buffer.frame_bytes), has_dsn, 0});
    std::uint32_t used = sealed_bytes + buffer.frame_bytes;
    const std::uint32_t content = used;
    // A tail is sealed from where it lies; what comes behind it is written where that is sealed.
    std::byte* const text = has_tail ? into + outer_bytes : start;
    if (is_last && has_ack(peer)) {
        // WIRE-44: along with data, where that has room.
        const std::uint32_t most =
            std::max(batch.segment_bytes, batch.count == 1 ? peer.mtu.current() : 0);
        used += append_ack(peer, {text + used, most - outer_bytes - tag_bytes_ - used});
    }
    const std::uint32_t wanted =
        (is_last ? batch.last_bytes : batch.segment_bytes) - outer_bytes - tag_bytes_;
    if (used < wanted) {
        // WIRE-24
        std::memset(text + used, 0, wanted - used);
        used = wanted;
    }
    const PacketNumber number = peer.next_number;
    const std::uint32_t bytes = has_tail
                                    ? seal(peer,
                                           std::array{Bytes(start, content - buffer.tail_bytes),
                                                      Bytes(pool_.tail(index), buffer.tail_bytes),
                                                      Bytes(text + content, used - content)},
                                           into)
                                    : seal(peer, std::array{Bytes(start, used)}, into);
    if (bytes == 0) return 0;
    peer.sent.add(number, {now_, buffer.dsn, index, bytes, true, false});
    if (buffer.is_numbered) {
        ++counters_.retransmitted;
        ++peer.retransmitted;
    }
    buffer.is_numbered = true;
    return bytes;
}

// An acknowledgement that found no room with data becomes a shorter datagram at the end of the batch.
void EndpointMachine::add_ack(Peer& peer,
                              const Batch& batch,
                              MutableBytes into,
                              Transmit& transmit) {
    std::array<std::byte, sealed_bytes + AckFrame::bytes_max> plain{};
    peer.is_ack_left_out = true;
    constexpr std::uint32_t longest = outer_bytes + std::uint32_t{plain.size()} + tag_bytes;
    if (batch.last_bytes != batch.segment_bytes || transmit.count != batch.count ||
        batch.segment_bytes < longest || transmit.bytes + longest > datagram_bytes_most) {
        return;
    }
    const std::uint32_t used =
        sealed_bytes + append_ack(peer, MutableBytes(plain).subspan(sealed_bytes));
    if (used == sealed_bytes) return;
    const PacketNumber number = peer.next_number;
    const std::uint32_t bytes =
        seal(peer, std::array{Bytes(plain).first(used)}, into.data() + transmit.bytes);
    if (bytes == 0) return;
    peer.sent.skip(number);
    ++counters_.acknowledgements;
    transmit.bytes += bytes;
    ++transmit.count;
}

// An acknowledgement, a ping, or both: nothing that would be sent again.
Transmit EndpointMachine::transmit_control(Peer& peer, MutableBytes into) {
    std::array<std::byte, sealed_bytes + AckFrame::bytes_max + wanting_bytes_min> plain{};
    std::uint32_t used = sealed_bytes;
    const bool has_acknowledgement = has_ack(peer);
    used += append_ack(peer, MutableBytes(plain).subspan(used, AckFrame::bytes_max));
    const bool is_ping = peer.is_ping_due && peer.sent.has_room(peer.next_number);
    if (is_ping) {
        plain[used++] = static_cast<std::byte>(ControlFrame::ping);
        used = std::max(used, wanting_bytes_min - outer_bytes - tag_bytes_);
    }
    peer.is_ping_due = peer.is_short_due = false;
    peer.is_ack_left_out = false;
    if (!is_ping && !has_acknowledgement) return {};
    const PacketNumber number = peer.next_number;
    const std::uint32_t bytes = seal(peer, std::array{Bytes(plain).first(used)}, into.data());
    if (bytes == 0) return {};
    if (is_ping) {
        peer.sent.add(number, {now_, 0, no_buffer, bytes, false, false});
        peer.probe.arm(now_, peer.rtt);
        ++counters_.pings;
    } else {
        peer.sent.skip(number);
        ++counters_.acknowledgements;
    }
    return single(peer, bytes);
}

// WIRE-75: only on a path that is in use, beside its data.
Transmit EndpointMachine::transmit_path_probe(Peer& peer, MutableBytes into) {
    if (peer.next_number < path_probe_after || owed(peer) == 0) return {};
    const std::uint32_t bytes = peer.mtu.wanted(now_);
    if (bytes == 0 || !peer.sent.has_room(peer.next_number)) return {};
    const BufferIndex scratch = pool_.take();
    if (scratch == no_buffer) return {};
    std::byte* plain = pool_.plain(scratch);
    std::memset(plain, 0, bytes);
    plain[sealed_bytes] = static_cast<std::byte>(ControlFrame::ping);
    const PacketNumber number = peer.next_number;
    const std::uint32_t sealed =
        seal(peer, std::array{Bytes(plain, bytes - outer_bytes - tag_bytes_)}, into.data());
    pool_.give_back(scratch);
    if (sealed == 0) return {};
    peer.sent.add(number, {now_, 0, no_buffer, sealed, false, true});
    peer.probe.arm(now_, peer.rtt);
    peer.mtu.on_sent(bytes, number);
    ++counters_.path_probes;
    return single(peer, sealed);
}

Transmit EndpointMachine::single(Peer& peer, std::uint32_t bytes) noexcept {
    peer.bytes_sent += bytes;
    return {peer.address, bytes, bytes, 1, false};
}

bool EndpointMachine::has_ack(const Peer& peer) const noexcept {
    return peer.unacknowledged != 0 || peer.is_ack_due;
}

// Writes an acknowledgement when one is wanted and there is room. Returns its bytes.
std::uint32_t EndpointMachine::append_ack(Peer& peer, MutableBytes room) noexcept {
    if (!has_ack(peer) || !peer.came.has_any() || room.size() < AckFrame::head_bytes) return 0;
    AckFrame ack;
    peer.came.report(now_, ack);
    if (ack.encoded_bytes() > room.size()) return 0;
    const std::uint32_t credit =
        budget_.grant(now_, peer.share, std::max(peer.longest_came, settings_.datagram_bytes));
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

bool EndpointMachine::advance_send_key(Peer& peer) {
    // WIRE-30: the epoch follows from the packet number.
    const std::uint64_t epoch = peer.next_number >> settings_.key_packets_log2;
    if (peer.send_key.aead != nullptr && peer.send_key.epoch == epoch) return true;
    if (!make_direction_key(*peer.secret, settings_.node, epoch, company_.suite, peer.send_key)) {
        fail(peer.node, SeverReason::no_memory);
        return false;
    }
    if (epoch != 0) ++counters_.key_changes;
    return true;
}

std::uint32_t EndpointMachine::seal(Peer& peer, Pieces plain, std::byte* into) {
    if (!advance_send_key(peer)) return 0;
    const PacketNumber number = peer.next_number++;
    OuterHeader outer = outer_of(PacketType::data);
    const auto bytes = static_cast<std::uint32_t>(bytes_of(plain));
    outer.bytes = static_cast<std::uint16_t>(outer_bytes + bytes + tag_bytes_);
    outer.number = number;
    store(into, outer);
    std::byte* body = into + outer_bytes;
    // WIRE-27
    switch (settings_.security) {
        case Security::encrypt:
            if (plain.size() == 1) {
                peer.send_key.aead->seal(peer.send_key.nonce(number), {into, outer_bytes},
                                         plain.front(), {body, bytes + tag_bytes});
            } else {
                peer.send_key.aead->seal_pieces(peer.send_key.nonce(number), {into, outer_bytes},
                                                plain, {body, bytes + tag_bytes});
            }
            return outer_bytes + bytes + tag_bytes;
        case Security::authenticate:
            gather(plain, body);
            peer.send_key.aead->seal(peer.send_key.nonce(number), {into, outer_bytes + bytes}, {},
                                     {body + bytes, tag_bytes});
            return outer_bytes + bytes + tag_bytes;
        case Security::off:
            break;
    }
    gather(plain, body);
    return outer_bytes + bytes;
}

}  // namespace acp::datagram
