// SPDX-License-Identifier: BSD-3-Clause
// Marks nodes as severed, reports them, and judges the CLOSEs of others. One thread.
#include "datagram/severing.hpp"

#include <bit>
#include <new>

namespace acp::datagram {

Severing::Severing(const Parts& parts) : parts_(parts), closes_(parts.peers.table().nodes()) {}

void Severing::sever(NodeId node, SeverReason reason) {
    Peers& peers = parts_.peers;
    if (peers.is_severed(node)) return;
    peers.mark_severed(node, reason);
    ++parts_.counters.severed;
    // WIRE-83: notifies the other side by one CLOSE; if that is lost, the other side's next data
    // gets a CLOSE in answer.
    const bool is_its_doing = is_told_by_it(reason) || reason == SeverReason::restarted ||
                              reason == SeverReason::mismatched;
    if (const Peer* peer = peers.hot(node);
        peer != nullptr && !is_its_doing && peer->state != Peer::State::connecting) {
        send_close(peer->address, node, peer->instance);
    } else if (const FoldedPeer* folded = peers.folded(node); folded != nullptr && !is_its_doing) {
        send_close(folded->address, node, folded->instance);
    }
    try {
        news_.push_back(node);
    } catch (const std::bad_alloc&) {
        has_more_news_ = true;  // tell_news() searches the table for it
    }
}

void Severing::sever_mismatched(const InitPacket& init, const Address& from) {
    const NodeId node = init.outer.source;
    const auto own = std::bit_cast<std::uint32_t>(parts_.credentials.features());
    ClosePacket close = close_packet(node, init.instance, own);
    close.reason = static_cast<std::uint32_t>(CloseReason::mismatched);
    answer(from, close);
    if (parts_.peers.is_severed(node)) return;
    differing_ = std::bit_cast<Features>(init.features);
    sever(node, SeverReason::mismatched);
}

void Severing::sever_stalled(const Peer& peer) {
    stalled_bytes_ = peer.path.lost_bytes;
    sever(peer.node, SeverReason::stalled);
}

void Severing::on_close(const OuterHeader& outer, Bytes datagram) {
    ClosePacket close;
    if (!parts_.credentials.check(datagram, close)) return;
    const NodeId node = outer.source;
    const Peer* peer = parts_.peers.hot(node);
    const FoldedPeer* folded = parts_.peers.folded(node);
    // The instance of the node as known here; 0: unknown.
    const std::uint64_t known = peer != nullptr     ? peer->instance
                                : folded != nullptr ? folded->instance
                                                    : 0;
    const bool is_connected =
        folded != nullptr || (peer != nullptr && peer->state == Peer::State::connected);
    const bool is_known_one = known == 0 || known == close.instance;
    // WIRE-81: the CLOSE is valid if it is addressed to this instance and comes from the instance
    // we know; or if it comes from a new instance that replaced that one and has had no connection
    // with us. All others are out of date, or were provoked by a forger.
    const bool is_meant = close.other_instance == parts_.credentials.instance() && is_known_one;
    const bool is_replaced =
        close.other_instance == 0 && is_connected && !is_known_one &&
        outer.number < (peer != nullptr ? peer->keys.next_number : folded->next_number);
    if (parts_.peers.is_severed(node) || (!is_meant && !is_replaced)) {
        ++parts_.counters.stale_close;
        return;
    }
    if (is_meant && close.reason == static_cast<std::uint32_t>(CloseReason::mismatched)) {
        differing_ = std::bit_cast<Features>(static_cast<std::uint32_t>(outer.number));
        return sever(node, SeverReason::mismatched);
    }
    if (!is_meant) return sever(node, SeverReason::restarted);
    const bool is_leaving = close.reason == static_cast<std::uint32_t>(CloseReason::leaving);
    sever(node, is_leaving ? SeverReason::left : SeverReason::gave_up);
}

void Severing::send_close(const Address& to, NodeId node, std::uint64_t other_instance) noexcept {
    ClosePacket close = close_packet(node, other_instance, 0);
    answer(to, close);
}

void Severing::send_close_for_data(const Address& to, const OuterHeader& data, Time now) noexcept {
    if (!closes_.take(now, data.source, parts_.addresses.is_listed(data.source, to))) {
        ++parts_.counters.answers_full;
        return;
    }
    ClosePacket close = close_packet(
        data.source, parts_.peers.table().instance_of_severed(data.source), data.number);
    answer(to, close);
}

Transmit Severing::transmit_farewell(MutableBytes into) noexcept {
    while (!is_farewell_sent()) {
        const NodeId node = farewell_next_++;
        const Peer* peer = parts_.peers.hot(node);
        const FoldedPeer* folded = parts_.peers.folded(node);
        if (parts_.peers.is_severed(node)) continue;
        if (folded == nullptr && (peer == nullptr || peer->state == Peer::State::connecting))
            continue;
        ClosePacket close =
            close_packet(node, peer != nullptr ? peer->instance : folded->instance, 0);
        parts_.credentials.sign(close);
        store(into.data(), close);
        ++parts_.counters.closes_sent;
        ++parts_.counters.datagrams_sent;
        parts_.counters.bytes_sent += sizeof close;
        return {peer != nullptr ? peer->address : folded->address, sizeof close, sizeof close, 1,
                false};
    }
    return {};
}

bool Severing::is_farewell_sent() const noexcept {
    return farewell_next_ >= parts_.peers.table().nodes();
}

void Severing::tell_all(EndpointHandler& handler) {
    while (!news_.empty()) {
        const NodeId node = news_.back();
        news_.pop_back();
        tell(node, handler);
    }
    if (has_more_news_) {
        has_more_news_ = false;
        for (NodeId node = 0; node < parts_.peers.table().nodes(); ++node) tell(node, handler);
    }
}

// Frees all buffers and records of a severed node and notifies the handler. Does nothing if the
// node is not severed, or was reported already.
void Severing::tell(NodeId node, EndpointHandler& handler) {
    const PeerTable& table = parts_.peers.table();
    if (!table.is_severed(node) || table.is_buried(node)) return;
    const SeverReason reason = table.reason_of(node);
    if (Peer* peer = parts_.peers.hot(node)) parts_.buffers.release_all(*peer);
    parts_.peers.bury(node);
    handler.on_severed(node, reason);
}

ClosePacket Severing::close_packet(NodeId node,
                                   std::uint64_t other_instance,
                                   PacketNumber number) const noexcept {
    ClosePacket close{.outer = parts_.credentials.outer_of(PacketType::close)};
    close.outer.number = number;
    close.job = parts_.credentials.job();
    close.target = node;
    // One that was severed before this gateway began to leave was given up, whatever came then.
    CloseReason reason = is_closing_ ? CloseReason::leaving : CloseReason::unknown;
    if (parts_.peers.is_severed(node)) reason = CloseReason::severed;
    close.reason = static_cast<std::uint32_t>(reason);
    close.instance = parts_.credentials.instance();
    close.other_instance = other_instance;
    return close;
}

void Severing::answer(const Address& to, ClosePacket& close) noexcept {
    ++parts_.counters.closes_sent;
    parts_.answers.push(to, close);
}

}  // namespace acp::datagram
