// SPDX-License-Identifier: BSD-3-Clause
// Seals and opens datagrams in the three security modes, with the key of the packet's epoch. One
// thread.
#include "datagram/packet_protection.hpp"

namespace acp::datagram {

PacketProtection::PacketProtection(const Settings& settings,
                                   CipherSuite& suite,
                                   const Credentials& credentials,
                                   EndpointCounters& counters)
    : settings_(settings),
      suite_(suite),
      credentials_(credentials),
      counters_(counters),
      wake_keys_(settings.nodes),
      tag_bytes_(settings.security == base::Security::off ? 0 : tag_bytes) {}

std::uint32_t PacketProtection::seal(PeerKeys& keys, Pieces plain, std::byte* into) {
    if (!advance_send_key(keys)) return 0;
    const PacketNumber number = keys.next_number++;
    OuterHeader outer = credentials_.outer_of(PacketType::data);
    const auto bytes = static_cast<std::uint32_t>(bytes_of(plain));
    outer.bytes = static_cast<std::uint16_t>(outer_bytes + bytes + tag_bytes_);
    outer.number = number;
    store(into, outer);
    std::byte* body = into + outer_bytes;
    // WIRE-27
    switch (settings_.security) {
        case base::Security::encrypt:
            if (plain.size() == 1) {
                keys.send.aead->seal(keys.send.nonce(number), {into, outer_bytes}, plain.front(),
                                     {body, bytes + tag_bytes});
            } else {
                keys.send.aead->seal_pieces(keys.send.nonce(number), {into, outer_bytes}, plain,
                                            {body, bytes + tag_bytes});
            }
            break;
        case base::Security::authenticate:
            gather(plain, body);
            keys.send.aead->seal(keys.send.nonce(number), {into, outer_bytes + bytes}, {},
                                 {body + bytes, tag_bytes});
            break;
        case base::Security::off:
            gather(plain, body);
            break;
    }
    return outer_bytes + bytes + tag_bytes_;
}

// WIRE-32 WIRE-27
inline bool PacketProtection::open_with(DirectionKey& key,
                                        const OuterHeader& outer,
                                        MutableBytes datagram,
                                        MutableBytes& plain) noexcept {
    // The part of the datagram that is authenticated but not encrypted.
    const std::size_t clear =
        settings_.security == base::Security::encrypt ? outer_bytes : datagram.size() - tag_bytes;
    if (!key.aead->open(key.nonce(outer.number), datagram.first(clear), datagram.subspan(clear))) {
        ++counters_.wrong_tag;
        return false;
    }
    plain = datagram.subspan(outer_bytes, datagram.size() - outer_bytes - tag_bytes);
    return true;
}

bool PacketProtection::open(
    Peer& peer, const OuterHeader& outer, MutableBytes datagram, MutableBytes& plain, Time now) {
    const std::uint64_t epoch = epoch_of(outer.number);
    // WIRE-31: an unauthenticated datagram must not change the anti-replay window: a forger could
    // otherwise make genuine ones look replayed.
    if (peer.received.came.look(outer.number) != AckRanges::Seen::fresh) {
        ++counters_.replayed;
        return false;
    }
    if (settings_.security == base::Security::off) {
        plain = datagram.subspan(outer_bytes);
        return true;
    }
    DirectionKey* key = peer.keys.receive.find(now, *peer.keys.secret, epoch, suite_);
    if (key == nullptr) {
        ++counters_.wrong_epoch;
        return false;
    }
    if (!open_with(*key, outer, datagram, plain)) return false;
    peer.keys.receive.confirm(now, epoch);
    return true;
}

bool PacketProtection::open_idle(const FoldedPeer& folded,
                                 const OuterHeader& outer,
                                 MutableBytes datagram,
                                 MutableBytes& plain,
                                 Time now) {
    // WIRE-31: for a folded peer all numbers up to the largest received count as seen.
    if (folded.has_come && outer.number <= folded.largest_came) {
        ++counters_.replayed;
        return false;
    }
    if (settings_.security == base::Security::off) {
        plain = datagram.subspan(outer_bytes);
        return true;
    }
    DirectionKey* key =
        wake_keys_.find(now, outer.source, folded.secret, epoch_of(folded.largest_came),
                        epoch_of(outer.number), suite_);
    if (key == nullptr) {
        ++counters_.wrong_epoch;
        return false;
    }
    return open_with(*key, outer, datagram, plain);
}

void PacketProtection::on_woken(Peer& peer, PacketNumber number, Time now) {
    wake_keys_.forget(peer.node);
    const std::uint64_t epoch = epoch_of(number);
    if (settings_.security != base::Security::off &&
        peer.keys.receive.find(now, *peer.keys.secret, epoch, suite_) != nullptr) {
        peer.keys.receive.confirm(now, epoch);
    }
}

bool PacketProtection::advance_send_key(PeerKeys& keys) {
    const std::uint64_t epoch = epoch_of(keys.next_number);
    if (keys.send.aead != nullptr && keys.send.epoch == epoch) return true;
    if (!make_direction_key(*keys.secret, settings_.node, epoch, suite_, keys.send)) {
        return false;
    }
    if (epoch != 0) ++counters_.key_changes;
    return true;
}

}  // namespace acp::datagram
