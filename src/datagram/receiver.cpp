// SPDX-License-Identifier: BSD-3-Clause
// Parses received data, checks it as a whole, and then acts on it. One thread.
#include "datagram/receiver.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "datagram/ack_frame.hpp"
#include "datagram/handshake_packets.hpp"

namespace acp::datagram {

namespace {

enum class Seen : std::uint8_t { fresh, repeated, no_content, refused };

// The parsed plain text of a datagram.
struct Content {
    SealedHeader header;
    Bytes frames;
    Bytes control;
    bool wants_ack = false;
};

// Returns the length of the control frame at the front; 0 if there is none that is valid, which is
// counted.
//   ack  written if the frame is an acknowledgement
std::size_t control_frame_bytes(Bytes control, AckFrame& ack, EndpointCounters& counters) noexcept {
    switch (static_cast<ControlFrame>(control[0])) {
        case ControlFrame::padding:
            return control.size();  // WIRE-24
        case ControlFrame::ping:
            return 1;              // WIRE-23
        case ControlFrame::ack: {  // WIRE-22
            const std::size_t bytes = decode_ack(control, ack);
            if (bytes == 0) ++counters.malformed;
            return bytes;
        }
    }
    ++counters.unknown_frame;
    return 0;
}

bool parse_control(Bytes control, bool& wants_ack, EndpointCounters& counters) noexcept {
    if (control.empty()) return true;
    AckFrame ack;
    while (!control.empty()) {
        const std::size_t bytes = control_frame_bytes(control, ack, counters);
        if (bytes == 0) return false;
        wants_ack |= static_cast<ControlFrame>(control[0]) == ControlFrame::ping;
        control = control.subspan(bytes);
    }
    return true;
}

// WIRE-20 WIRE-25: all lengths must add up before anything is acted on. Returns false if they do
// not, which is counted.
bool parse(Bytes plain, Content& content, EndpointCounters& counters) noexcept {
    Reader reader(plain);
    content.header = reader.take<SealedHeader>();
    content.frames = reader.take_bytes(content.header.frame_bytes);
    content.control = reader.take_bytes(reader.left());
    const bool has_content = content.header.flags == has_dsn;
    const bool is_plausible = has_content ? content.header.frame_bytes != 0
                                          : content.header.flags == 0 && content.header.dsn == 0 &&
                                                content.header.frame_bytes == 0;
    if (!reader.is_good() || content.header.reserved != 0 || !is_plausible) {
        ++counters.malformed;
        return false;
    }
    content.wants_ack = has_content;
    return parse_control(content.control, content.wants_ack, counters);
}

// WIRE-33: content received before is acknowledged again but not delivered; content beyond the
// window is neither acknowledged nor delivered.
Seen look(Peer& peer, const Content& content, EndpointCounters& counters) noexcept {
    if (content.header.flags != has_dsn) return Seen::no_content;
    switch (peer.received.content.insert(content.header.dsn)) {
        case DuplicateWindow::Seen::fresh:
            return Seen::fresh;
        case DuplicateWindow::Seen::duplicate:
            ++counters.duplicates;
            return Seen::repeated;
        case DuplicateWindow::Seen::too_old:
        case DuplicateWindow::Seen::too_far:
            break;
    }
    ++counters.beyond_window;
    return Seen::refused;
}

}  // namespace

void Receiver::on_data(const OuterHeader& outer,
                       const Address& from,
                       MutableBytes datagram,
                       Time now) {
    // WIRE-6
    if (datagram.size() < outer_bytes + sealed_bytes + parts_.protection.tag_bytes_used() ||
        datagram.size() > datagram_bytes_most) {
        ++parts_.counters.wrong_length;
        return;
    }
    // WIRE-78: as if the path did not carry it.
    if (datagram.size() > parts_.budget.longest()) {
        ++parts_.counters.too_long;
        return;
    }
    if (parts_.peers.is_severed(outer.source) || parts_.severing.is_closing()) {
        ++parts_.counters.from_severed;
        // WIRE-14: no answer is longer than the message it answers.
        if (datagram.size() >= sizeof(ClosePacket)) {
            parts_.severing.send_close_for_data(from, outer, now);
        }
        return;
    }
    if (Peer* peer = parts_.peers.hot(outer.source)) {
        MutableBytes plain;
        if (peer->state == Peer::State::connecting) {
            ++parts_.counters.not_connected;
        } else if (parts_.protection.open(*peer, outer, datagram, plain, now)) {
            if (peer->state == Peer::State::half_open) parts_.addresses.settle(*peer, from);
            take(*peer, outer, static_cast<std::uint32_t>(datagram.size()), plain, now);
        }
        return;
    }
    if (const FoldedPeer* folded = parts_.peers.folded(outer.source)) {
        on_data_of_idle(*folded, outer, datagram, now);
        return;
    }
    // WIRE-80
    ++parts_.counters.not_connected;
    if (datagram.size() >= sizeof(ClosePacket)) {
        parts_.severing.send_close_for_data(from, outer, now);
    }
}

// WIRE-91: a folded peer stays folded unless the datagram proves authentic.
void Receiver::on_data_of_idle(const FoldedPeer& folded,
                               const OuterHeader& outer,
                               MutableBytes datagram,
                               Time now) {
    MutableBytes plain;
    if (!parts_.protection.open_idle(folded, outer, datagram, plain, now)) return;
    std::unique_ptr<Peer> woken = parts_.peers.wake(folded, outer.source, now);
    if (woken == nullptr) {
        ++parts_.counters.no_memory;
        return;
    }
    Peer& peer = parts_.peers.seat(std::move(woken));
    parts_.protection.on_woken(peer, outer.number, now);
    take(peer, outer, static_cast<std::uint32_t>(datagram.size()), plain, now);
}

// Processes an authentic datagram.
//   datagram_bytes  its length on the wire
void Receiver::take(
    Peer& peer, const OuterHeader& outer, std::uint32_t datagram_bytes, Bytes plain, Time now) {
    Content content;
    const bool is_sound = parse(plain, content, parts_.counters);
    const Seen seen = is_sound ? look(peer, content, parts_.counters) : Seen::refused;
    // A refused datagram is recorded against replay, but not acknowledged.
    peer.received.came.record(now, outer.number, seen != Seen::refused && content.wants_ack);
    peer.received.largest_came =
        peer.received.has_come ? std::max(peer.received.largest_came, outer.number) : outer.number;
    peer.received.has_come = true;
    // WIRE-98: a peer that was silent for longer than gap_max() did not run or was cut off, so that
    // this time does not count as a stall of the path.
    if (now - peer.life.heard > parts_.peers.timers().gap_max()) peer.path.note_progress(now);
    peer.life.heard = now;
    peer.life.probes_unanswered = 0;
    ++peer.traffic.packets_received;
    peer.traffic.bytes_received += datagram_bytes;
    if (peer.state == Peer::State::half_open) {
        // WIRE-74
        parts_.peers.set_connected(peer);
        peer.life.owing_since = never;
        ++parts_.counters.connections;
        parts_.peers.make_ready(peer);
    }
    if (seen == Seen::refused) return;
    peer.received.longest_came = std::max(peer.received.longest_came, datagram_bytes);
    act_on_control(peer, content.control, now);
    if (content.wants_ack) {
        peer.life.active = now;
        // WIRE-44: if several pings arrive before an acknowledgement is sent, each but the first
        // gets an acknowledgement of its own.
        if (seen == Seen::no_content && peer.ack.unacknowledged != 0) {
            peer.ack.echoes_due = std::min(peer.ack.echoes_due + 1, ProbeTimer::probes_max);
        }
        const bool at_once = seen == Seen::repeated || peer.received.came.is_disordered();
        if (parts_.acknowledger.want(peer.ack, datagram_bytes, at_once, now)) {
            parts_.peers.make_ready(peer);
        }
    }
    if (seen == Seen::fresh) {
        parts_.budget.on_received(peer.received.share);
        ++parts_.counters.delivered;
        parts_.handler.on_frames(peer.node, content.frames);
    }
    // The handler may have severed the peer.
    if (!parts_.peers.is_severed(peer.node)) parts_.peers.arm(peer, now);
}

// Acts on control frames that parse_control() has checked.
void Receiver::act_on_control(Peer& peer, Bytes control, Time now) {
    if (control.empty()) return;
    AckFrame ack;
    while (!control.empty()) {
        const std::size_t bytes = control_frame_bytes(control, ack, parts_.counters);
        if (static_cast<ControlFrame>(control[0]) == ControlFrame::ack) {
            parts_.recovery.on_ack(peer, ack, now);
        }
        control = control.subspan(bytes);
    }
}

}  // namespace acp::datagram
