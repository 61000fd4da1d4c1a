// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives datagrams, acknowledges them, and retransmits.
#include "mailbox/port_udp.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "node/wait.hpp"
#include "os/clock.hpp"
#include "os/log_line.hpp"

namespace acp::mailbox {

namespace {

constexpr std::uint64_t never = ~0ULL;
constexpr std::uint64_t buffer_wish_min = 1024ULL * 1024;
constexpr std::uint64_t buffer_wish_max = 8ULL * 1024 * 1024;
constexpr std::uint64_t datagrams_wished = 8;  // per peer
constexpr std::uint32_t looks_for_answers_max = 64;

std::span<const std::byte> bytes_of(const void* object, std::size_t bytes) noexcept {
    return {static_cast<const std::byte*>(object), bytes};
}

}  // namespace

base::Result<std::unique_ptr<UdpPort::Ways>> UdpPort::open_ways(const node::Shape& shape) {
    const std::uint64_t wish =
        node::slots_of(shape) * datagrams_wished * charge(shape.datagram_bytes);
    auto socket = os::UdpSocket::open_loopback(
        static_cast<std::uint32_t>(std::clamp(wish, buffer_wish_min, buffer_wish_max)));
    if (!socket.is_ok()) {
        return std::move(socket).failure().within(
            "opening the datagram socket of this rank (ACP_INTRANODE=udp; auto needs none)");
    }
    auto event = os::Event::create();
    if (!event.is_ok()) {
        return std::move(event).failure().within("making the wake-up of the service thread");
    }
    return std::make_unique<Ways>(Ways{std::move(socket).value(), std::move(event).value()});
}

base::Result<std::unique_ptr<Port>> UdpPort::open(const node::Segment& segment,
                                                  std::uint32_t slot) {
    auto ways = open_ways(segment.shape());
    if (!ways.is_ok()) return std::move(ways).failure();
    return std::unique_ptr<Port>(new UdpPort(segment, slot, std::move(ways).value()));
}

UdpPort::UdpPort(const node::Segment& segment, std::uint32_t slot, std::unique_ptr<Ways> first)
    : segment_(segment),
      slot_(slot),
      datagram_bytes_(segment.shape().datagram_bytes),
      job_id_(segment.shape().job_id),
      // A quarter of the buffer is reserved for answers. The peers' receive buffers are as large as
      // this one.
      share_bytes_(std::uint64_t{first->socket.receive_buffer_bytes()} * 3 / 4 /
                   node::slots_of(segment.shape())),
      ways_(first.get()),
      peers_(node::slots_of(segment.shape())),
      reserved_(static_cast<std::uint32_t>(peers_.size())),
      buffer_(sizeof(PacketHead) + datagram_bytes_) {
    all_ways_.push_back(std::move(first));
    to_answer_.reserve(peers_.size());
    while (kept_.free_count() < reserved_ + kept_at_once) {
        if (!grow()) throw std::bad_alloc();
    }
    publish_port();
}

// The program has closed the descriptors. Their numbers may be files of the program now, so they
// are not closed here.
void UdpPort::Ways::abandon() noexcept {
    socket.abandon();
    event.abandon();
}

// The port number stays published when this process leaves, for datagrams that are in flight then.
void UdpPort::publish_port() noexcept {
    // release: partner is udp_port_of(), the socket is bound
    segment_.slot(slot_).udp_port.store(ways().socket.port(), std::memory_order_release);
}

// Opens another socket after the program has closed a descriptor of this port. Peers retransmit the
// datagrams that were lost in the old socket. Without descriptors or memory nothing changes: the
// next receive() tries again.
void UdpPort::renew_ways() noexcept {
    Ways& lost = ways();
    const int number = lost.socket.fd();
    try {
        all_ways_.reserve(all_ways_.size() + 1);
        auto renewed = open_ways(segment_.shape());
        if (!renewed.is_ok()) return;
        all_ways_.push_back(std::move(renewed).value());
    } catch (const std::bad_alloc&) {
        return;
    }
    lost.abandon();
    is_event_lost_.store(false, std::memory_order_relaxed);
    ways_.store(all_ways_.back().get(), std::memory_order_release);  // partner: ways()
    publish_port();
    if (all_ways_.size() > 2) return;  // the message was printed already
    os::print_error(
        "acp: rank %u has opened another UDP socket (ACP_INTRANODE=udp), for the program "
        "has closed descriptor "
        "%d, which it did not open\n",
        segment_.slot(slot_).rank.load(std::memory_order_relaxed), number);
}

std::uint16_t UdpPort::udp_port_of(std::uint32_t slot) const noexcept {
    // acquire: partner is the store in publish_port()
    return static_cast<std::uint16_t>(segment_.slot(slot).udp_port.load(std::memory_order_acquire));
}

// Allocates places for kept_at_once more datagrams. False: memory allocation failed, and nothing
// changed.
bool UdpPort::grow() noexcept {
    try {
        payloads_.reserve(payloads_.size() + 1);
        auto payloads =
            std::make_unique_for_overwrite<char[]>(std::size_t{kept_at_once} * datagram_bytes_);
        if (!kept_.grow(kept_at_once)) return false;
        payloads_.push_back(std::move(payloads));
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// Makes sure that a datagram to this peer can be kept. False: memory allocation failed, and the
// peer has unanswered datagrams; there will be room when it answers one.
bool UdpPort::make_room(const UdpPeer& peer) noexcept {
    return can_keep(peer) || grow();
}

// Keeps a copy of a sent datagram until it is answered. Call make_room() before.
void UdpPort::keep(UdpPeer& peer,
                   const PacketHead& packet,
                   std::span<const char> payload) noexcept {
    if (peer.unanswered.is_empty()) --reserved_;
    const std::uint32_t index = kept_.take();
    kept_[index].packet = packet;
    kept_[index].payload_bytes = static_cast<std::uint32_t>(payload.size());
    std::copy(payload.begin(), payload.end(), payload_of(index).begin());
    kept_.push(peer.unanswered, index);
    ++peer.unanswered_count;
    peer.charged_bytes += charge(payload.size());
}

void UdpPort::drop_oldest(UdpPeer& peer) noexcept {
    const std::uint32_t index = kept_.pop(peer.unanswered);
    --peer.unanswered_count;
    peer.charged_bytes -= charge(kept_[index].payload_bytes);
    kept_.give(index);
    if (peer.unanswered.is_empty()) ++reserved_;
}

// Sends a datagram, which also acknowledges the peer's datagrams. False when the kernel does not
// take it.
bool UdpPort::transmit(std::uint32_t receiver,
                       PacketHead& packet,
                       std::span<const char> payload) noexcept {
    const std::uint16_t to = udp_port_of(receiver);
    UdpPeer& peer = peers_[receiver];
    packet.head.acknowledged = peer.received;
    if (to == 0 || !ways().socket.send_to(to, bytes_of(&packet, sizeof packet),
                                          bytes_of(payload.data(), payload.size()))) {
        return false;
    }
    peer.owes_answer = false;
    return true;
}

bool UdpPort::send(std::uint32_t receiver, const MessageHead& head, std::span<const char> payload) {
    UdpPeer& peer = peers_[receiver];
    if (peer.is_dead) return true;  // counts as sent: the receiver is dead
    const std::uint64_t charged = charge(payload.size());
    const bool is_over =
        peer.charged_bytes + charged > share_bytes_ || peer.unanswered_count >= unanswered_max;
    if ((is_over && !peer.unanswered.is_empty()) || !make_room(peer)) {
        return false;
    }
    PacketHead packet{{job_id_, DatagramHead::Kind::message, slot_, peer.sent + 1, 0}, head};
    packet.message.payload_bytes = static_cast<std::uint32_t>(payload.size());
    if (!transmit(receiver, packet, payload)) return false;
    ++peer.sent;
    if (peer.unanswered.is_empty()) {
        peer.patience_ns = resend_after_ns;
        peer.resend_at_ns = os::now_ns() + peer.patience_ns;
    }
    keep(peer, packet, payload);
    // relaxed: the service thread reads it, and sleeps no longer than until this time
    if (peer.resend_at_ns < next_resend_ns_.load(std::memory_order_relaxed)) {
        next_resend_ns_.store(peer.resend_at_ns, std::memory_order_relaxed);
    }
    (void)make_room(peer);  // for the next datagram, before which has_room() may be called
    return true;
}

bool UdpPort::has_room(std::uint32_t receiver) const {
    const UdpPeer& peer = peers_[receiver];
    return peer.unanswered.is_empty() ||
           (can_keep(peer) && peer.unanswered_count < unanswered_max &&
            peer.charged_bytes + charge(datagram_bytes_) <= share_bytes_);
}

void UdpPort::on_acknowledged(std::uint32_t sender, const DatagramHead& head) {
    UdpPeer& peer = peers_[sender];
    // the answer was meant for an earlier port of this process
    if (head.acknowledged > peer.sent) return;
    bool has_progress = false;
    while (!peer.unanswered.is_empty() &&
           kept_[peer.unanswered.first].packet.head.number <= head.acknowledged) {
        drop_oldest(peer);
        has_progress = true;
    }
    if (has_progress) {
        peer.patience_ns = resend_after_ns;
        if (!peer.unanswered.is_empty()) peer.resend_at_ns = os::now_ns() + peer.patience_ns;
        note_next_resend();
    }
    if (peer.unanswered.is_empty()) return;
    // A gap shows a loss; datagrams are sent again once for it. If the oldest datagram was sent
    // again after a timeout and is now acknowledged, the datagrams after it were probably lost too
    // and are sent again.
    const std::uint64_t oldest = kept_[peer.unanswered.first].packet.head.number;
    const bool is_new_gap = head.kind == DatagramHead::Kind::gap && oldest > peer.resent_up_to;
    const bool is_rest_of_loss = has_progress && oldest <= peer.doubtful_up_to;
    if (is_new_gap || is_rest_of_loss) {
        peer.doubtful_up_to = 0;
        for (std::uint32_t index = peer.unanswered.first; index != Chain::nobody;
             index = kept_[index].next) {
            if (!transmit(sender, kept_[index].packet, payload_of(index))) break;
            peer.resent_up_to = kept_[index].packet.head.number;
        }
    }
}

// After a time without an answer, sends the oldest unanswered datagram again; the answer shows what
// is missing.
void UdpPort::resend_what_is_due() {
    if (next_resend_ns_.load(std::memory_order_relaxed) == never) return;
    const std::uint64_t now = os::now_ns();
    if (now < next_resend_ns_.load(std::memory_order_relaxed)) return;
    for (std::uint32_t slot = 0; slot < peers_.size(); ++slot) {
        UdpPeer& peer = peers_[slot];
        if (!peer.unanswered.is_empty() && now >= peer.resend_at_ns) {
            const std::uint32_t oldest = peer.unanswered.first;
            // if the kernel refuses it now, the next timeout sends it
            (void)transmit(slot, kept_[oldest].packet, payload_of(oldest));
            peer.doubtful_up_to = peer.sent;
            peer.patience_ns = std::min(2 * peer.patience_ns, resend_after_max_ns);
            peer.resend_at_ns = now + peer.patience_ns;
        }
    }
    note_next_resend();
}

void UdpPort::note_next_resend() noexcept {
    std::uint64_t earliest = never;
    for (const UdpPeer& peer : peers_) {
        if (!peer.unanswered.is_empty()) earliest = std::min(earliest, peer.resend_at_ns);
    }
    // relaxed: see send()
    next_resend_ns_.store(earliest, std::memory_order_relaxed);
}

// Makes this call of receive() send the peer an answer.
void UdpPort::owe(std::uint32_t sender) noexcept {
    if (!std::exchange(peers_[sender].is_listed, true)) {
        to_answer_.push_back(sender);
    }
}

// Sends each peer whose messages were put off an answer of kind gap, so that it sends them again
// now.
void UdpPort::ask_for_put_off() noexcept {
    has_put_off_ = false;
    for (std::uint32_t sender = 0; sender < peers_.size(); ++sender) {
        if (std::exchange(peers_[sender].is_put_off, false)) {
            peers_[sender].has_gap = true;
            owe(sender);
        }
    }
}

// Handles one datagram. True when it was a message and the handler was called.
//   handler  nullptr: messages are put off; their senders keep them and send them again
bool UdpPort::take(std::span<const std::byte> datagram,
                   std::uint16_t source,
                   const Handler* handler) {
    PacketHead packet;
    if (datagram.size() < sizeof packet.head) return false;
    std::memcpy(&packet.head, datagram.data(), sizeof packet.head);
    const std::uint32_t sender = packet.head.sender;
    if (packet.head.job_id != job_id_ || sender >= peers_.size() || source == 0 ||
        source != udp_port_of(sender)) {
        return false;
    }
    on_acknowledged(sender, packet.head);
    if (packet.head.kind != DatagramHead::Kind::message || datagram.size() < sizeof packet) {
        return false;
    }
    UdpPeer& peer = peers_[sender];
    std::memcpy(&packet, datagram.data(), sizeof packet);
    const bool is_next = packet.head.number == peer.received + 1;
    if (handler == nullptr) {
        peer.is_put_off = has_put_off_ = true;
        return false;
    }
    peer.owes_answer = true;
    owe(sender);
    if (!is_next || packet.message.payload_bytes != datagram.size() - sizeof packet) {
        peer.has_gap = peer.has_gap || packet.head.number > peer.received;
        return false;
    }
    peer.received = packet.head.number;
    const auto* payload = reinterpret_cast<const char*>(datagram.data()) + sizeof packet;
    (*handler)(sender, packet.message, {payload, packet.message.payload_bytes});
    return true;
}

void UdpPort::answer() {
    for (const std::uint32_t slot : to_answer_) {
        UdpPeer& peer = peers_[slot];
        peer.is_listed = false;
        // a message carried the answer
        if (!std::exchange(peer.owes_answer, false) && !peer.has_gap) continue;
        const bool has_gap = std::exchange(peer.has_gap, false);
        const DatagramHead head{job_id_,
                                has_gap ? DatagramHead::Kind::gap : DatagramHead::Kind::answer,
                                slot_, 0, peer.received};
        const std::uint16_t to = udp_port_of(slot);
        // A lost answer needs no retransmission: the next one covers it, or the answer to a
        // datagram that is sent again.
        if (to != 0) (void)ways().socket.send_to(to, bytes_of(&head, sizeof head), {});
    }
    to_answer_.clear();
}

// With max_messages == 0 only answers are handled: a process without memory for messages needs them
// to get room for its own messages.
std::uint32_t UdpPort::receive(const Handler& handler, std::uint32_t max_messages) {
    const bool is_message_wanted = max_messages != 0;
    if (is_message_wanted && has_put_off_) ask_for_put_off();
    const std::uint32_t looks_max = is_message_wanted ? 2 * max_messages : looks_for_answers_max;
    std::uint32_t handled = 0;
    for (std::uint32_t looks = 0;
         looks < looks_max && (handled < max_messages || !is_message_wanted); ++looks) {
        std::uint16_t source = 0;
        const std::int64_t size = ways().socket.receive(buffer_, &source);
        if (size < 0) {
            if (size == os::UdpSocket::is_lost || is_event_lost_.load(std::memory_order_relaxed)) {
                renew_ways();
            }
            resend_what_is_due();
            break;
        }
        if (static_cast<std::uint64_t>(size) <= buffer_.size() &&
            take(std::span(buffer_).first(static_cast<std::size_t>(size)), source,
                 is_message_wanted ? &handler : nullptr)) {
            ++handled;
        }
    }
    if (!to_answer_.empty()) answer();
    return handled;
}

bool UdpPort::has_mail() const {
    const std::uint64_t resend_at = next_resend_ns_.load(std::memory_order_relaxed);
    return ways().socket.wait_readable(-1, 0) || (resend_at != never && os::now_ns() >= resend_at);
}

void UdpPort::forget(std::uint32_t dead_slot) {
    UdpPeer& peer = peers_[dead_slot];
    peer.is_dead = true;
    while (!peer.unanswered.is_empty()) drop_oldest(peer);
    note_next_resend();
}

void UdpPort::wake_service() {
    // seq_cst: the caller has published the work before; partner: sleep_service(), which sets the
    // flag and then calls is_idle()
    if (is_asleep_.exchange(false, std::memory_order_seq_cst) && !ways().event.signal()) {
        // the program closed the event; receive() checks this flag
        is_event_lost_.store(true, std::memory_order_relaxed);
    }
}

void UdpPort::sleep_service(const std::function<bool()>& is_idle, std::int64_t timeout_ns) {
    Ways& awaited = ways();
    is_asleep_.store(true, std::memory_order_seq_cst);  // partner: wake_service
    if (is_idle()) {
        // No descriptor reports a death: this bound limits the time until it is noticed.
        std::int64_t bound_ns = node::liveness_check_ns;
        if (timeout_ns >= 0) bound_ns = std::min(bound_ns, timeout_ns);
        const std::uint64_t resend_at = next_resend_ns_.load(std::memory_order_relaxed);
        const std::uint64_t now = os::now_ns();
        if (resend_at != never) {
            bound_ns = resend_at > now
                           ? std::min(bound_ns, static_cast<std::int64_t>(resend_at - now))
                           : 0;
        }
        (void)awaited.socket.wait_readable(awaited.event.fd(), bound_ns);
    }
    is_asleep_.store(false, std::memory_order_relaxed);
    (void)awaited.event.drain();
}

}  // namespace acp::mailbox
