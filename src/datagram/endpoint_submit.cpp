// SPDX-License-Identifier: BSD-3-Clause
// The endpoint's upper side: making it, frames going in, room, and news for the handler.
#include <algorithm>
#include <new>
#include <string>

#include "base/assert.hpp"
#include "datagram/endpoint_machine.hpp"

namespace acp::datagram {
namespace {

base::Status refuse(const char* what, std::uint64_t value, const char* bounds) {
    return {base::Code::argument, "datagram endpoint: " + std::string(what) + " is " +
                                      std::to_string(value) + ", but must be " + bounds};
}

base::Status check(const Settings& settings) {
    if (settings.nodes < 1) return refuse("nodes", settings.nodes, "at least 1");
    if (settings.node >= settings.nodes) return refuse("node", settings.node, "less than nodes");
    if (settings.datagram_bytes < datagram_bytes_least ||
        settings.datagram_bytes > datagram_bytes_most) {
        return refuse("datagram_bytes", settings.datagram_bytes, "576 .. 65507");
    }
    if (settings.datagram_bytes_max < settings.datagram_bytes ||
        settings.datagram_bytes_max > datagram_bytes_most) {
        return refuse("datagram_bytes_max", settings.datagram_bytes_max, "datagram_bytes .. 65507");
    }
    if (settings.send_buffers < 16 || settings.send_buffers > 1U << 20) {
        return refuse("send_buffers", settings.send_buffers, "16 .. 2^20");
    }
    if (settings.receive_bytes < 65536) {
        return refuse("receive_bytes", settings.receive_bytes, "at least 65536");
    }
    if (settings.half_open_max < 1) return refuse("half_open_max", 0, "at least 1");
    if (settings.key_packets_log2 < 4 || settings.key_packets_log2 > 22) {
        return refuse("key_packets_log2", settings.key_packets_log2, "4 .. 22");
    }
    if (settings.initial_rtt_ns < 1000 || settings.initial_rtt_ns > 10'000'000'000) {
        return refuse("initial_rtt_ns", settings.initial_rtt_ns, "1 us .. 10 s");
    }
    return {};
}

// Every peer with something in flight needs a block of records, busy ones several.
std::uint16_t record_blocks(std::uint32_t send_buffers) {
    return static_cast<std::uint16_t>(std::min(send_buffers / 8 + 64, 65'000U));
}

}  // namespace

base::Result<std::unique_ptr<Endpoint>> Endpoint::create(const Settings& settings,
                                                         CipherSuite& suite,
                                                         Entropy& entropy,
                                                         const AddressBook& book,
                                                         EndpointHandler& handler) {
    if (base::Status bad = check(settings); !bad.is_ok()) return bad;
    try {
        std::unique_ptr<Endpoint> endpoint =
            std::make_unique<EndpointMachine>(settings, Company{suite, entropy, book, handler});
        return endpoint;
    } catch (const std::bad_alloc&) {
        return base::Status(base::Code::memory,
                            "datagram endpoint: no memory for its keys and " +
                                std::to_string(settings.send_buffers) + " buffers of " +
                                std::to_string(settings.datagram_bytes_max) + " bytes");
    }
}

EndpointMachine::EndpointMachine(const Settings& settings, const Company& company)
    : settings_(settings),
      company_(company),
      secrets_(settings.job_key, settings.job_id, company.suite),
      cookies_(company.suite, company.entropy),
      wake_keys_(settings.nodes),
      closes_(settings.nodes),
      pool_(settings.send_buffers, settings.datagram_bytes_max),
      records_(record_blocks(settings.send_buffers)),
      budget_(settings.receive_bytes,
              std::max(settings.nodes - 1, 1U),
              settings.datagram_bytes,
              settings.datagram_bytes_max),
      table_(settings.nodes, company.suite),
      tag_bytes_(settings.security == Security::off ? 0 : tag_bytes) {
    wipe(settings_.job_key);
    if (settings_.security != Security::off) {
        agreement_ = company_.suite.make_agreement(company_.entropy);
        if (agreement_ == nullptr) throw std::bad_alloc();
    }
    std::array<std::byte, 8> drawn{};
    while (instance_ == 0) {
        company_.entropy.fill(drawn);
        instance_ = load<std::uint64_t>(drawn.data());
    }
}

std::byte* EndpointMachine::reserve(NodeId node, std::uint32_t bytes) {
    ACP_ASSERT(node < settings_.nodes && node != settings_.node);
    if (table_.is_severed(node) || is_closing_) return nullptr;
    Peer* peer = table_.hot(node);
    if (peer == nullptr && (peer = meet(node)) == nullptr) throw std::bad_alloc();
    // What was asked for a path that has become shorter since goes in fragments.
    ACP_ASSERT(bytes >= 1 && bytes <= settings_.datagram_bytes_max - overhead_bytes);
    if (peer->filling != no_buffer) {
        SendBuffer& buffer = pool_[peer->filling];
        if (buffer.frame_bytes == 0 ||
            buffer.frame_bytes + bytes <= peer->filling_bytes - overhead_bytes) {
            return pool_.frames(peer->filling) + buffer.frame_bytes;
        }
        // Nothing of it is in use but room that does not suffice: it is full. An empty one always suffices.
        peer->filling = no_buffer;
    }
    const std::uint32_t most = peer->next_bytes();
    const BufferIndex buffer = has_room(*peer) ? pool_.take() : no_buffer;
    if (buffer == no_buffer) {
        ++counters_.no_buffer;
        if (!peer->wants_room) {
            room_wanted_.push_back(node);  // before it is said: it may throw
            peer->wants_room = true;
        }
        return nullptr;
    }
    peer->waiting.push(pool_, buffer);
    peer->filling = buffer;
    peer->filling_bytes = most;
    ++peer->held;
    ++uncommitted_;
    return pool_.frames(buffer);
}

MutableBytes EndpointMachine::reserve_rest(NodeId node, std::uint32_t bytes_min) {
    std::byte* const room = reserve(node, bytes_min);
    if (room == nullptr) return {};
    const Peer& peer = *table_.hot(node);
    const std::uint32_t used = pool_[peer.filling].frame_bytes;
    const std::uint32_t end = std::max(peer.filling_bytes - overhead_bytes, used + bytes_min);
    return {room, end - used};
}

void EndpointMachine::commit(NodeId node, std::uint32_t bytes) {
    Peer* peer = table_.hot(node);
    // Severed since it reserved: the bytes go nowhere, as all that was not acknowledged.
    if (peer == nullptr || peer->filling == no_buffer) return;
    SendBuffer& buffer = pool_[peer->filling];
    ACP_ASSERT(buffer.frame_bytes + bytes <= settings_.datagram_bytes_max - overhead_bytes);
    if (buffer.frame_bytes == 0 && bytes != 0) --uncommitted_;
    buffer.frame_bytes += bytes;
    if (!peer->is_ready) make_ready(*peer);
}

void EndpointMachine::commit_with_tail(NodeId node, std::uint32_t bytes, Bytes tail) {
    Peer* peer = table_.hot(node);
    if (peer == nullptr || peer->filling == no_buffer) return;
    ACP_ASSERT(tail.size() >= sizeof(std::byte*) && tail.size() <= 0xffffU);
    const BufferIndex index = peer->filling;
    const auto tail_bytes = static_cast<std::uint32_t>(tail.size());
    commit(node, bytes + tail_bytes);
    pool_[index].tail_bytes = static_cast<std::uint16_t>(tail_bytes);
    pool_.set_tail(index, tail.data());
    peer->filling = no_buffer;  // nothing goes behind it
}

std::uint32_t EndpointMachine::frame_bytes_max(NodeId node) const noexcept {
    const Peer* peer = table_.hot(node);
    if (peer != nullptr) return peer->next_bytes() - overhead_bytes;
    const FoldedPeer* folded = table_.folded(node);
    return (folded != nullptr ? folded->datagram_bytes : settings_.datagram_bytes) - overhead_bytes;
}

// A full record of a node that has none: an idle peer is woken, a new one is connected to.
Peer* EndpointMachine::meet(NodeId node) {
    if (const FoldedPeer* folded = table_.folded(node)) {
        std::unique_ptr<Peer> woken = wake(*folded, node);
        return woken == nullptr ? nullptr : &seat(std::move(woken));
    }
    std::unique_ptr<Peer> made = make_peer(node);
    if (made == nullptr) return nullptr;
    company_.entropy.fill(made->nonce);
    made->began = never;  // when its first INIT is sent
    made->inits_due = 1;
    Peer& peer = seat(std::move(made));
    make_ready(peer);
    return &peer;
}

// A peer that sits takes no memory any more but for its next key: its alarm has a place, whatever it is set to. Where
// there is none for that, nothing is changed (std::bad_alloc).
Peer& EndpointMachine::seat(std::unique_ptr<Peer> peer) {
    timers_.reserve(std::size_t{table_.hot_count()} + 1);
    return table_.seat(std::move(peer));
}

void EndpointMachine::watch(NodeId node) {
    ACP_ASSERT(node < settings_.nodes && node != settings_.node);
    if (table_.is_severed(node) || is_closing_) return;
    Peer* peer = table_.hot(node);
    if (peer == nullptr && (peer = meet(node)) == nullptr) return;
    ++peer->watchers;
    make_ready(*peer);
}

void EndpointMachine::unwatch(NodeId node) {
    Peer* peer = table_.hot(node);
    if (peer == nullptr || peer->watchers == 0) return;
    --peer->watchers;
}

// How many datagrams may wait: enough to fill a window that opens at once, not so many that one peer has all.
std::uint32_t EndpointMachine::waiting_limit(const Peer& peer) const noexcept {
    const std::uint64_t window = peer.congestion->window_bytes() / peer.mtu.current();
    return std::min(
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(window, waiting_min, waiting_max)),
        share());
}

bool EndpointMachine::has_room(const Peer& peer) const noexcept {
    // Who holds more than a share leaves the last of the pool to others.
    return peer.waiting.size() < waiting_limit(peer) &&
           (peer.held < share() || pool_.free_count() > pool_.size() / 8);
}

// Of the pool, for each of those who talk.
std::uint32_t EndpointMachine::share() const noexcept {
    return std::max(waiting_share_min, pool_.size() / 2 / std::max(table_.hot_count(), 1U));
}

void EndpointMachine::release(Peer& peer, BufferIndex buffer) noexcept {
    if (pool_[buffer].frame_bytes == 0) --uncommitted_;
    pool_.give_back(buffer);
    --peer.held;
    was_released_ = true;
}

// Buffers that hold something not yet acknowledged.
std::uint32_t EndpointMachine::owed(const Peer& peer) noexcept {
    const bool has_empty = peer.filling != no_buffer && pool_[peer.filling].frame_bytes == 0;
    return peer.held - (has_empty ? 1 : 0);
}

// Silence counts from when there was a reason to expect an answer. Only where now_ is fresh.
void EndpointMachine::note_owing(Peer& peer) noexcept {
    if (owed(peer) == 0 && peer.sent.count() == 0 && peer.watchers == 0) {
        peer.owing_since = never;
        peer.narrow_since = never;
        peer.probes_unanswered = 0;
    } else if (peer.owing_since == never) {
        peer.owing_since = now_;
    }
}

void EndpointMachine::make_ready(Peer& peer) noexcept {
    if (peer.is_ready) return;
    peer.is_ready = true;
    peer.next_ready = nullptr;
    if (last_ready_ == nullptr) {
        first_ready_ = &peer;
    } else {
        last_ready_->next_ready = &peer;
    }
    last_ready_ = &peer;
}

Peer* EndpointMachine::take_ready() noexcept {
    Peer* peer = first_ready_;
    if (peer == nullptr) return nullptr;
    first_ready_ = peer->next_ready;
    if (first_ready_ == nullptr) last_ready_ = nullptr;
    peer->is_ready = false;
    return peer;
}

// What the handler must hear of and what must not vanish under a function that uses it.
void EndpointMachine::settle() {
    while (!news_.empty()) {
        const NodeId node = news_.back();
        news_.pop_back();
        tell(node);
    }
    if (has_more_news_) {
        has_more_news_ = false;
        for (NodeId node = 0; node < settings_.nodes; ++node) tell(node);
    }
    if (was_released_ && !room_wanted_.empty()) offer_room();
}

// Nothing when it is not severed, or was told already.
void EndpointMachine::tell(NodeId node) {
    if (!table_.is_severed(node) || table_.is_buried(node)) return;
    const SeverReason reason = table_.reason_of(node);
    dismantle(node);
    company_.handler.on_severed(node, reason);
}

void EndpointMachine::offer_room() {
    was_released_ = false;
    std::size_t kept = 0;
    const std::size_t count = room_wanted_.size();
    for (std::size_t i = 0; i < count; ++i) {
        const NodeId node = room_wanted_[i];
        Peer* peer = table_.hot(node);
        if (peer == nullptr || !peer->wants_room || table_.is_severed(node)) continue;
        // Not for every single one: a quarter of what may wait, at least.
        const std::uint32_t limit = waiting_limit(*peer);
        if (peer->waiting.size() > limit - limit / 4 || !has_room(*peer) ||
            pool_.free_count() == 0) {
            room_wanted_[kept++] = node;
            continue;
        }
        peer->wants_room = false;
        company_.handler.on_room(node);
    }
    // What was asked for meanwhile stands behind the old ones.
    room_wanted_.erase(room_wanted_.begin() + static_cast<std::ptrdiff_t>(kept),
                       room_wanted_.begin() + static_cast<std::ptrdiff_t>(count));
}

bool EndpointMachine::is_quiet() const noexcept {
    return pool_.free_count() + uncommitted_ == pool_.size();
}

std::uint32_t EndpointMachine::free_buffers() const noexcept {
    return pool_.free_count();
}

const Counters& EndpointMachine::counters() const noexcept {
    return counters_;
}

bool EndpointMachine::is_severed(NodeId node) const noexcept {
    return table_.is_severed(node);
}

bool EndpointMachine::stats(NodeId node, PeerStats& stats) const noexcept {
    stats = {};
    if (node >= settings_.nodes) return false;
    stats.is_severed = table_.is_severed(node);
    if (const FoldedPeer* folded = table_.folded(node)) {
        stats.is_connected = stats.is_folded = true;
        stats.datagram_bytes = folded->datagram_bytes;
        stats.smoothed_rtt_ns = std::uint64_t{folded->smoothed_rtt_us} * 1000;
        stats.packets_sent = folded->next_number;
        return true;
    }
    const Peer* peer = table_.hot(node);
    if (peer == nullptr) return stats.is_severed;
    stats.is_connected = peer->state == Peer::State::connected;
    stats.datagram_bytes = peer->mtu.current();
    stats.smoothed_rtt_ns = peer->rtt.has_sample() ? peer->rtt.smoothed() : 0;
    stats.minimum_rtt_ns = peer->rtt.has_sample() ? peer->rtt.least() : 0;
    stats.window_bytes = peer->congestion->window_bytes();
    stats.credit = peer->credit.left(now_, peer->next_dsn);
    stats.in_flight_bytes = peer->sent.bytes_in_flight();
    stats.buffers_held = peer->held;
    stats.packets_sent = peer->next_number;
    stats.packets_received = peer->packets_received;
    stats.retransmitted = peer->retransmitted;
    stats.bytes_sent = peer->bytes_sent;
    stats.bytes_received = peer->bytes_received;
    return true;
}

}  // namespace acp::datagram
