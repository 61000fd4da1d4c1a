// SPDX-License-Identifier: BSD-3-Clause
// Datagrams coming in. Checks run from cheap to dear (WIRE-7), each failure has its counter, and nothing changes
// before the tag has been found right. What is inside is checked as a whole before any of it is acted upon.
#include <algorithm>

#include "datagram/endpoint_machine.hpp"

namespace acp::datagram {

void EndpointMachine::on_datagram(Time now, const Address& from, MutableBytes datagram) {
    now_ = std::max(now_, now);
    ++counters_.datagrams_received;
    counters_.bytes_received += datagram.size();
    if (datagram.size() < outer_bytes) {
        ++counters_.short_header;
        return;
    }
    const auto outer = load<OuterHeader>(datagram.data());
    // WIRE-3
    if (outer.version != wire_version) {
        ++counters_.wrong_version;
        return;
    }
    // WIRE-4
    if (outer.type < static_cast<std::uint8_t>(PacketType::init) ||
        outer.type > static_cast<std::uint8_t>(PacketType::close)) {
        ++counters_.unknown_type;
        return;
    }
    // WIRE-5
    if (outer.source >= settings_.nodes || outer.source == settings_.node) {
        ++counters_.unknown_node;
        return;
    }
    // WIRE-6
    if (outer.bytes != datagram.size()) {
        ++counters_.wrong_length;
        return;
    }
    switch (static_cast<PacketType>(outer.type)) {
        case PacketType::init:
            on_init(outer, from, datagram);
            break;
        case PacketType::cookie:
            on_cookie(outer, from, datagram);
            break;
        case PacketType::response:
            on_response(outer, from, datagram);
            break;
        case PacketType::close:
            on_close(outer, datagram);
            break;
        case PacketType::data:
            on_data(outer, from, datagram);
            break;
    }
    settle();
}

void EndpointMachine::on_data(const OuterHeader& outer,
                              const Address& from,
                              MutableBytes datagram) {
    // WIRE-6
    if (datagram.size() < outer_bytes + sealed_bytes + tag_bytes_ ||
        datagram.size() > datagram_bytes_most) {
        ++counters_.wrong_length;
        return;
    }
    // WIRE-78: as if the path did not carry it.
    if (datagram.size() > budget_.longest()) {
        ++counters_.too_long;
        return;
    }
    if (table_.is_severed(outer.source) || is_closing_) {
        ++counters_.from_severed;
        // WIRE-14: no answer longer than its question.
        if (datagram.size() >= sizeof(ClosePacket)) {
            send_close_for_data(from, outer);
        }
        return;
    }
    const auto datagram_bytes = static_cast<std::uint32_t>(datagram.size());
    MutableBytes plain;
    if (Peer* peer = table_.hot(outer.source)) {
        if (peer->state == Peer::State::connecting) {
            ++counters_.not_connected;
        } else if (open(*peer, outer, datagram, plain)) {
            if (peer->state == Peer::State::half_open) settle_address(*peer, from);
            take(*peer, outer, datagram_bytes, plain);
        }
        return;
    }
    if (table_.folded(outer.source) != nullptr) {
        on_data_of_idle(outer, datagram);
        return;
    }
    // WIRE-80
    ++counters_.not_connected;
    if (datagram.size() >= sizeof(ClosePacket)) send_close_for_data(from, outer);
}

// WIRE-91: it stays folded unless the datagram proves to be its own; to see that costs no more than for others, but
// for a key now and then.
void EndpointMachine::on_data_of_idle(const OuterHeader& outer, MutableBytes datagram) {
    const FoldedPeer& folded = *table_.folded(outer.source);
    // WIRE-31: what is not later than the last one that came counts as seen.
    if (folded.has_come && outer.number <= folded.largest_came) {
        ++counters_.replayed;
        return;
    }
    MutableBytes plain = datagram.subspan(outer_bytes);
    if (settings_.security != Security::off) {
        const auto shift = settings_.key_packets_log2;
        DirectionKey* key =
            wake_keys_.find(now_, outer.source, folded.secret, folded.largest_came >> shift,
                            outer.number >> shift, company_.suite);
        if (key == nullptr) {
            ++counters_.wrong_epoch;
            return;
        }
        if (!open_with(*key, outer, datagram, plain)) return;
    }
    std::unique_ptr<Peer> woken = wake(folded, outer.source);
    if (woken == nullptr) {
        ++counters_.no_memory;
        return;
    }
    Peer& peer = seat(std::move(woken));
    wake_keys_.forget(outer.source);
    const std::uint64_t epoch = outer.number >> settings_.key_packets_log2;
    if (settings_.security != Security::off &&
        peer.receive_keys.find(now_, *peer.secret, epoch, company_.suite) != nullptr) {
        peer.receive_keys.confirm(now_, epoch);
    }
    take(peer, outer, static_cast<std::uint32_t>(datagram.size()), plain);
}

bool EndpointMachine::open(Peer& peer,
                           const OuterHeader& outer,
                           MutableBytes datagram,
                           MutableBytes& plain) {
    // WIRE-30
    const std::uint64_t epoch = outer.number >> settings_.key_packets_log2;
    // WIRE-31: before authentication nothing is noted.
    if (peer.came.look(outer.number) != AckRanges::Seen::fresh) {
        ++counters_.replayed;
        return false;
    }
    if (settings_.security == Security::off) {
        plain = datagram.subspan(outer_bytes);
        return true;
    }
    DirectionKey* key = peer.receive_keys.find(now_, *peer.secret, epoch, company_.suite);
    if (key == nullptr) {
        ++counters_.wrong_epoch;
        return false;
    }
    if (!open_with(*key, outer, datagram, plain)) return false;
    peer.receive_keys.confirm(now_, epoch);
    return true;
}

// WIRE-32 WIRE-27
bool EndpointMachine::open_with(DirectionKey& key,
                                const OuterHeader& outer,
                                MutableBytes datagram,
                                MutableBytes& plain) noexcept {
    const std::size_t clear =
        settings_.security == Security::encrypt ? outer_bytes : datagram.size() - tag_bytes;
    if (!key.aead->open(key.nonce(outer.number), datagram.first(clear), datagram.subspan(clear))) {
        ++counters_.wrong_tag;
        return false;
    }
    plain = datagram.subspan(outer_bytes, datagram.size() - outer_bytes - tag_bytes);
    return true;
}

// An authentic datagram.
void EndpointMachine::take(Peer& peer,
                           const OuterHeader& outer,
                           std::uint32_t datagram_bytes,
                           Bytes plain) {
    Opened opened;
    const bool is_sound = parse(plain, opened);
    const Seen seen = is_sound ? look(peer, opened) : Seen::refused;
    peer.came.record(now_, outer.number, seen != Seen::refused && opened.wants_ack);
    peer.largest_came = peer.has_come ? std::max(peer.largest_came, outer.number) : outer.number;
    peer.has_come = true;
    peer.heard = now_;
    peer.probes_unanswered = 0;
    ++peer.packets_received;
    peer.bytes_received += datagram_bytes;
    if (peer.state == Peer::State::half_open) {
        // WIRE-74
        peer.state = Peer::State::connected;
        peer.owing_since = never;
        --half_open_;
        ++counters_.connections;
        make_ready(peer);
    }
    if (seen == Seen::refused) return;
    peer.longest_came = std::max(peer.longest_came, datagram_bytes);
    act_on_control(peer, opened.control);
    if (opened.wants_ack) {
        peer.active = now_;
        // WIRE-44: the second of some pings before an acknowledgement has one of its own, and so on.
        if (seen == Seen::no_content && peer.unacknowledged != 0) {
            peer.echoes_due = std::min(peer.echoes_due + 1, ProbeTimer::probes_max);
        }
        want_ack(peer, datagram_bytes, seen == Seen::repeated || peer.came.is_disordered());
    }
    if (seen == Seen::fresh) {
        budget_.on_received(peer.share);
        ++counters_.delivered;
        company_.handler.on_frames(peer.node, opened.frames);
    }
    if (!table_.is_severed(peer.node)) arm(peer);
}

// WIRE-20 WIRE-25: all lengths must add up, before anything is acted upon.
bool EndpointMachine::parse(Bytes plain, Opened& opened) noexcept {
    Reader reader(plain);
    opened.header = reader.take<SealedHeader>();
    opened.frames = reader.take_bytes(opened.header.frame_bytes);
    opened.control = reader.take_bytes(reader.left());
    const bool has_content = opened.header.flags == has_dsn;
    const bool is_plausible = has_content ? opened.header.frame_bytes != 0
                                          : opened.header.flags == 0 && opened.header.dsn == 0 &&
                                                opened.header.frame_bytes == 0;
    if (!reader.is_good() || opened.header.reserved != 0 || !is_plausible) {
        ++counters_.malformed;
        return false;
    }
    opened.wants_ack = has_content;
    return parse_control(opened.control, opened.wants_ack);
}

bool EndpointMachine::parse_control(Bytes control, bool& wants_ack) noexcept {
    if (control.empty()) return true;
    AckFrame ack;
    while (!control.empty()) {
        const std::size_t bytes = control_frame_bytes(control, ack);
        if (bytes == 0) return false;
        wants_ack |= static_cast<ControlFrame>(control[0]) == ControlFrame::ping;
        control = control.subspan(bytes);
    }
    return true;
}

// What parse_control() found sound.
void EndpointMachine::act_on_control(Peer& peer, Bytes control) {
    if (control.empty()) return;
    AckFrame ack;
    while (!control.empty()) {
        const std::size_t bytes = control_frame_bytes(control, ack);
        if (static_cast<ControlFrame>(control[0]) == ControlFrame::ack) on_ack(peer, ack);
        control = control.subspan(bytes);
    }
}

// Of the control frame at the front.   0: it is not one, and counted
std::size_t EndpointMachine::control_frame_bytes(Bytes control, AckFrame& ack) noexcept {
    switch (static_cast<ControlFrame>(control[0])) {
        case ControlFrame::padding:
            return control.size();  // WIRE-24
        case ControlFrame::ping:
            return 1;              // WIRE-23
        case ControlFrame::ack: {  // WIRE-22
            const std::size_t bytes = decode_ack(control, ack);
            if (bytes == 0) ++counters_.malformed;
            return bytes;
        }
    }
    ++counters_.unknown_frame;
    return 0;
}

// WIRE-33: content that came before is acknowledged again, and not delivered; content beyond the window is
// neither.
EndpointMachine::Seen EndpointMachine::look(Peer& peer, const Opened& opened) noexcept {
    if (opened.header.flags != has_dsn) return Seen::no_content;
    switch (peer.content.insert(opened.header.dsn)) {
        case DuplicateWindow::Seen::fresh:
            return Seen::fresh;
        case DuplicateWindow::Seen::duplicate:
            ++counters_.duplicates;
            return Seen::repeated;
        case DuplicateWindow::Seen::too_old:
        case DuplicateWindow::Seen::too_far:
            break;
    }
    ++counters_.beyond_window;
    return Seen::refused;
}

// WIRE-44: at once when something is amiss, or much has come; else soon, for an answer may take it along.
void EndpointMachine::want_ack(Peer& peer, std::uint32_t bytes, bool at_once) noexcept {
    ++peer.unacknowledged;
    peer.unacknowledged_bytes += bytes;
    if (at_once || peer.unacknowledged >= peer.ack_every ||
        peer.unacknowledged_bytes >= std::uint64_t{2} * settings_.datagram_bytes) {
        peer.is_ack_due = true;
        make_ready(peer);
    } else {
        peer.ack_at = std::min(peer.ack_at, now_ + ack_delay_ns);
    }
}

}  // namespace acp::datagram
