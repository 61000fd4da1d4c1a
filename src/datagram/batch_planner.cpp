// SPDX-License-Identifier: BSD-3-Clause
// Chooses buffers for datagrams of equal length, one after the other, as long as the next one may
// be sent. One thread.
#include "datagram/batch_planner.hpp"

#include <algorithm>

namespace acp::datagram {
namespace {

// Whether serial number a lies before b. Serial numbers wrap around, so their distance is compared
// (RFC 1982).
bool is_before(Dsn a, Dsn b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
}

// Returns the buffer to send next in this batch, or no_buffer if nothing may be sent now; the
// reason is then noted in the peer.
BufferIndex next_buffer(SendBuffers& buffers, Peer& peer, const Batch& batch, Time now) {
    SendPool& pool = buffers.pool();
    // WIRE-88: content that the peer has already acknowledged by its cumulative number is not sent
    // again.
    while (!peer.queue.lost.empty() &&
           is_before(pool[peer.queue.lost.front()].dsn, peer.path.credit.cumulative())) {
        buffers.release(peer, peer.queue.lost.pop(pool));
    }
    const bool is_again = !peer.queue.lost.empty();
    const BufferIndex buffer = is_again ? peer.queue.lost.front() : peer.queue.waiting.front();
    if (buffer == no_buffer || pool[buffer].frame_bytes == 0) return no_buffer;
    if (is_again && peer.flight.probe_budget > batch.count) return buffer;
    // WIRE-55 WIRE-58: without credit no new content is sent. If nothing is in flight either, the
    // peer has no reason to send an acknowledgement with new credit, so a ping asks for one.
    if (!is_again && peer.path.credit.left(now, peer.path.next_dsn) == 0) {
        if (peer.flight.sent.count() == 0 && batch.count == 0) peer.flight.is_ping_due = true;
        return no_buffer;
    }
    // WIRE-52: when a probe timeout allows more datagrams than are in flight, new content may leave
    // too, whatever the window says.
    if (peer.flight.probe_budget > batch.count) return buffer;
    const std::uint64_t bytes = peer.flight.sent.bytes_in_flight() + batch.bytes;
    const std::uint64_t size = pool[buffer].frame_bytes + overhead_bytes;
    // With nothing in flight one datagram may always be sent, however long.
    if (bytes != 0 && bytes + size > peer.flight.congestion->window_bytes()) return no_buffer;
    // The pacer is asked once per batch; burst_bytes() bounds the rest of it.
    if (batch.count == 0 && !peer.flight.pacer.may_send(now)) {
        peer.flight.is_paced = true;
        return no_buffer;
    }
    return buffer;
}

}  // namespace

Batch BatchPlanner::plan(Peer& peer, Time now) {
    Batch batch;
    SendPool& pool = buffers_.pool();
    peer.flight.is_paced = peer.flight.is_starved = false;
    const std::uint64_t burst = peer.flight.pacer.burst_bytes(peer.path.mtu.current());
    while (batch.count < Batch::datagrams_max) {
        const BufferIndex buffer = next_buffer(buffers_, peer, batch, now);
        if (buffer == no_buffer) break;
        const std::uint32_t bytes =
            std::max(pool[buffer].frame_bytes + overhead_bytes, datagram_bytes_min_);
        const bool may_fragment = bytes > peer.path.mtu.current();
        if (batch.count == 0) {
            batch.segment_bytes = bytes;
            batch.may_fragment = may_fragment;
        } else {
            // All datagrams of a batch but the last have one length (UDP segmentation offload). A
            // slightly shorter datagram is padded; a much shorter one ends the batch.
            if (bytes > batch.segment_bytes || batch.last_bytes < batch.segment_bytes ||
                may_fragment != batch.may_fragment ||
                batch.bytes + batch.segment_bytes > Batch::bytes_max) {
                break;
            }
            if (batch.bytes + bytes > burst && peer.flight.probe_budget <= batch.count) break;
        }
        if (!peer.flight.sent.has_room(peer.keys.next_number + batch.count)) {
            // Records become free by acknowledgements; with nothing in flight only time helps.
            peer.flight.is_starved = peer.flight.sent.count() == 0;
            break;
        }
        const bool is_again = !peer.queue.lost.empty();
        (is_again ? peer.queue.lost : peer.queue.waiting).pop(pool);
        // It is sent now, so no more frames are added to it.
        if (buffer == peer.queue.filling) peer.queue.filling = no_buffer;
        if (!is_again) {
            pool[buffer].dsn = peer.path.next_dsn++;
            buffers_.note_room();  // one more datagram may wait now
        }
        const bool is_padded =
            bytes < batch.segment_bytes && (batch.segment_bytes - bytes) * 4 <= batch.segment_bytes;
        batch.last_bytes = is_padded ? batch.segment_bytes : bytes;
        batch.bytes += batch.last_bytes;
        batch.buffers[batch.count++] = buffer;
    }
    return batch;
}

}  // namespace acp::datagram
