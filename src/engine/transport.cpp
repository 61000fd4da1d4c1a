// SPDX-License-Identifier: BSD-3-Clause
// Opening the sockets, choosing one for a destination, and sending.
#include "engine/transport.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "datagram/wire.hpp"
#include "os/clock.hpp"
#include "os/interfaces.hpp"

namespace acp::engine {

namespace {

// The network of an address of this host; the address alone where none is known.
os::AddressRange range_of(const os::SocketAddress& address,
                          std::span<const os::InterfaceAddress> interfaces) {
    for (const os::InterfaceAddress& one : interfaces) {
        os::SocketAddress bare = address;
        bare.port = one.address.port;
        if (bare == one.address) return {one.address, one.prefix_bits};
    }
    return {address, address.family == 6 ? 128U : 32U};
}

// How long the first of some datagrams in a row says that it is; 0 where that cannot be.
std::uint32_t first_bytes(std::span<const std::byte> joined) noexcept {
    const std::uint32_t first = datagram::first_datagram_bytes(joined);
    const bool is_said = joined.size() >= datagram::outer_bytes &&
                         datagram::load<datagram::OuterHeader>(joined.data()).bytes == first;
    return is_said ? first : 0;
}

// Names the variable that a full range of ports is from.
base::Status with_advice(base::Status failure, std::uint16_t last_port) {
    if (failure.code() != base::Code::state || last_port == 0) return failure;
    return {base::Code::state, std::string(failure.message()) +
                                   "; all ports of ACP_PORTS are taken, by another job or program: "
                                   "give it more, at least one for each job"};
}

}  // namespace

Transport::Transport(os::DatagramBatch batch, os::Event event)
    : batch_(std::move(batch)),
      event_(std::move(event)),
      wait_fds_{event_.fd()},
      buffer_(std::make_unique_for_overwrite<std::byte[]>(send_bytes)) {
    send_one_ = [this](const Transmit& one, datagram::MutableBytes bytes) {
        if (sockets_.empty()) return true;  // closed: as if lost
        return transmit(socket_for(as_socket_address(one.to)), one, bytes) == one.bytes;
    };
}

base::Result<std::unique_ptr<Transport>> Transport::open(const Options& options) {
    auto batch = os::DatagramBatch::create(messages_per_receive, os::DatagramBatch::longest_message,
                                           first_bytes);
    if (!batch.is_ok()) return std::move(batch).failure();
    auto event = os::Event::create();
    if (!event.is_ok()) return std::move(event).failure();
    std::unique_ptr<Transport> made(
        new Transport(std::move(batch).value(), std::move(event).value()));
    auto interfaces = os::list_interface_addresses();
    if (!interfaces.is_ok()) return std::move(interfaces).failure();
    os::DatagramSocket::Options wish;
    wish.receive_bytes = options.receive_bytes;
    for (const Address& address : options.bind) {
        wish.bind_to = as_socket_address(address);
        wish.last_port = address.port == 0 ? options.ports.last : std::uint16_t{0};
        if (address.port == 0) wish.bind_to.port = options.ports.first;
        auto socket = os::DatagramSocket::open(wish);
        if (!socket.is_ok()) return with_advice(std::move(socket).failure(), wish.last_port);
        made->addresses_.push_back(as_address(socket.value().address()));
        const os::AddressRange range = range_of(socket.value().address(), interfaces.value());
        made->add(std::move(socket).value(), range);
    }
    made->listeners_ = made->sockets_.size();
    // Lines are opened now, since a thread that sleeps on wait_fds() would not notice later ones.
    wish.bind_to = as_socket_address(options.bind.front());
    for (std::uint32_t line = 0; line < options.lines; ++line) {
        auto socket = os::DatagramSocket::open_spare(wish);
        if (!socket.is_ok()) return std::move(socket).failure();
        made->add(std::move(socket).value(), {});
    }
    made->kept_.resize(made->sockets_.size());
    if (!options.faults.is_harmless()) made->injector_.emplace(options.faults);
    return made;
}

void Transport::add(os::DatagramSocket socket, const os::AddressRange& range) {
    wait_fds_.push_back(socket.fd());
    sockets_.push_back({std::move(socket), range});
}

std::uint64_t Transport::receive_bytes() const noexcept {
    std::uint64_t least = ~0ULL;
    for (const Socket& socket : sockets_) {
        least = std::min<std::uint64_t>(least, socket.udp.receive_bytes());
    }
    return least;
}

// The one on the destination's own network, else the first of its family: the kernel knows the way.
std::size_t Transport::listener_for(const Address& to) const noexcept {
    if (listeners_ == 1) return 0;
    std::size_t found = listeners_;
    for (std::size_t i = 0; i < listeners_; ++i) {
        if (addresses_[i].family != to.family) continue;
        if (os::contains(sockets_[i].range, as_socket_address(to))) return i;
        found = std::min(found, i);
    }
    return std::min(found, listeners_ - 1);
}

// The number of the destination's line, else of the listener; a destination that has become
// frequent is given a line.
std::size_t Transport::socket_for(const os::SocketAddress& to) noexcept {
    for (std::size_t i = listeners_; i < sockets_.size(); ++i) {
        if (sockets_[i].udp.peer() == to) {
            sockets_[i].used = now_;
            return i;
        }
    }
    const std::size_t found = listener_for(as_address(to));
    const Socket& listener = sockets_[found];
    if (may_connect_ && sockets_.size() > listeners_ && frequent_.note(as_address(to))) {
        give_line(to, listener.udp);  // used from the next send on
    }
    return found;
}

// Connects an unused or idle line with a destination.
void Transport::give_line(const os::SocketAddress& to,
                          const os::DatagramSocket& listener) noexcept {
    for (Socket& line : lines()) {
        const bool is_free = line.udp.peer().family == 0 || now_ >= line.used + line_idle_ns;
        if (!is_free) continue;
        may_connect_ = line.udp.connect_beside(listener, to);
        counters_.lines += may_connect_ ? 1 : 0;
        line.used = now_;
        line.empty_looks = 0;
        return;
    }
}

// Sends a burst. Returns its bytes that are done with: all, unless the kernel had no room for the
// rest.
std::uint32_t Transport::transmit(std::size_t socket_number,
                                  const Transmit& transmit,
                                  datagram::MutableBytes bytes) {
    const os::SocketAddress to = as_socket_address(transmit.to);
    os::DatagramSocket& socket = sockets_[socket_number].udp;
    std::uint32_t at = 0;
    while (at < transmit.bytes) {
        const os::Sent sent = socket.send_burst(to, bytes.subspan(at, transmit.bytes - at),
                                                transmit.segment_bytes, transmit.may_fragment);
        ++counters_.sends;
        counters_.datagrams_sent += sent.datagrams;
        const std::uint32_t advance =
            std::min(transmit.bytes - at, sent.datagrams * transmit.segment_bytes);
        counters_.bytes_sent += advance;
        at += advance;
        if (sent.outcome == os::SendOutcome::sent) continue;
        if (sent.outcome == os::SendOutcome::busy) {
            ++counters_.busy;
            return at;
        }
        const std::uint32_t left =
            (transmit.bytes - at + transmit.segment_bytes - 1) / transmit.segment_bytes;
        if (sent.outcome == os::SendOutcome::too_long) {
            ++counters_.too_long;
            at += std::min(transmit.segment_bytes, transmit.bytes - at);  // the next may be shorter
        } else {
            is_closed_by_others_ = is_closed_by_others_ || sent.outcome == os::SendOutcome::closed;
            counters_.unreachable += left;
            at = transmit.bytes;  // lost, as the network may lose it
        }
    }
    return transmit.bytes;
}

// A socket with kept bursts takes no others until those are sent; other sockets do. A line that is
// full drops a burst; a listener, which carries nearly all traffic, is never full here, since
// may_send() asks the endpoint for nothing then.
void Transport::send_or_keep(const Transmit& burst, datagram::MutableBytes bytes) {
    if (sockets_.empty()) return;  // closed: as if lost
    const std::size_t socket = socket_for(as_socket_address(burst.to));
    std::uint32_t done = 0;
    if (!kept_.has(socket)) done = transmit(socket, burst, bytes);
    if (done == burst.bytes) return;
    if (!kept_.keep(socket, burst, bytes.subspan(done))) ++counters_.busy;
}

// Tries what was kept again. false: a listener keeps as much as it may.
bool Transport::may_send(Time now) {
    if (sockets_.empty()) return true;
    if (injector_) {  // which keeps its own
        if (injector_->flush(now, send_one_)) return true;
        retry_at_ = now + retry_ns;
        return false;
    }
    if (kept_.is_empty()) return true;
    kept_.flush([this](std::size_t socket, const Transmit& burst, std::span<std::byte> bytes) {
        return std::size_t{transmit(socket, burst, bytes)};
    });
    if (!kept_.is_empty()) retry_at_ = now + retry_ns;
    return !kept_.is_any_full(listeners_);
}

bool Transport::send(datagram::Endpoint& endpoint, Time now) {
    bool has_content = false;
    retry_at_ = datagram::never;
    now_ = now;
    if (!may_send(now)) return false;
    const datagram::MutableBytes into(buffer_.get(), send_bytes);
    for (std::uint32_t burst = 0; burst < bursts_per_poll; ++burst) {
        // a burst took microseconds: the next one's time of departure matters
        if (burst > 1) now = os::now_ns();
        const Transmit next = endpoint.next_transmit(now, into);
        if (next.bytes == 0) break;
        has_content = has_content || next.has_content;
        if (injector_) {
            injector_->transmit(now, next, into.first(next.bytes), send_one_);
            continue;
        }
        send_or_keep(next, into.first(next.bytes));
        if (!kept_.is_empty()) retry_at_ = now + retry_ns;
        if (kept_.is_any_full(listeners_)) break;
    }
    if (injector_ && !injector_->flush(now, send_one_)) retry_at_ = now + retry_ns;
    return has_content;
}

Time Transport::deadline() const noexcept {
    return injector_ ? std::min(retry_at_, injector_->deadline()) : retry_at_;
}

const TransportCounters& Transport::counters() noexcept {
    counters_.cut = batch_.cut_datagrams();
    return counters_;
}

const FaultCounters* Transport::faults() const noexcept {
    return injector_ ? &injector_->counters() : nullptr;
}

std::uint64_t Transport::receive_drops() const noexcept {
    std::uint64_t drops = 0;
    for (const Socket& socket : sockets_) {
        if (const auto queue = socket.udp.receive_queue()) drops += queue->drops;
    }
    return drops;
}

void Transport::close() noexcept {
    wait_fds_.resize(1);
    sockets_.clear();
    kept_ = {};
}

}  // namespace acp::engine
