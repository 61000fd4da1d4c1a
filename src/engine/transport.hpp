// SPDX-License-Identifier: BSD-3-Clause
// The gateway's sockets: one per address it listens on, and a few lines: sockets on the same port, connected with the
// destinations most is sent to, which takes an eighth off a bare round trip. Delivers arriving
// datagrams in bursts, sends the bursts of the endpoint, keeps those that the kernel had no room for while other sockets send, and
// injects faults on request of the user. Knows no frame and no peer. Never blocks but in wait(). One thread, but wake() from any.
// Tests: tests/unit/engine/transport_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"
#include "datagram/endpoint.hpp"
#include "os/datagram_batch.hpp"
#include "os/datagram_socket.hpp"
#include "os/event.hpp"
#include "os/poll_set.hpp"

#include "engine/addresses.hpp"
#include "engine/fault_injector.hpp"
#include "engine/frequent.hpp"
#include "engine/kept_bursts.hpp"

namespace acp::engine {

// What went through the sockets; a datagram of a burst counts.
struct TransportCounters {
    std::uint64_t datagrams_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t sends = 0;  // system calls
    std::uint64_t datagrams_received = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t receives = 0;  // system calls that found something
    std::uint64_t busy =
        0;  // bursts that waited for the kernel's room, or were dropped for want of it
    std::uint64_t too_long = 0;     // datagrams longer than the path: probes, mostly
    std::uint64_t unreachable = 0;  // datagrams without a way
    std::uint64_t cut = 0;          // received datagrams that were cut off
    std::uint64_t lines = 0;        // given to frequent destinations
};

class Transport {
public:
    struct Options {
        std::vector<Address> bind;        // 1 or more
        base::PortRange ports;            // ports for the addresses in `bind` that have none
        std::uint32_t receive_bytes = 0;  // requested size of each receive buffer
        base::FaultPlan faults;
        std::uint32_t lines = 0;  // 0 .. lines_max
    };

    static constexpr std::uint32_t lines_max = 4;

    // Errors: as os::DatagramSocket::open, memory.
    static base::Result<std::unique_ptr<Transport>> open(const Options& options);

    // Where it listens, ports filled in.
    [[nodiscard]] std::span<const Address> addresses() const noexcept { return addresses_; }

    // What the kernel granted, of the socket that got least.
    [[nodiscard]] std::uint64_t receive_bytes() const noexcept;

    // Calls visit(const Address& from, std::span<std::byte> datagram) for what has arrived, a bounded number.
    // true when there was something. A socket that has long been silent is looked at in every eighth call only.
    template <typename Visitor>
    bool receive(Visitor&& visit) {
        bool has_any = false;
        ++looks_;
        for (std::uint32_t i = 0; i < sockets_.size(); ++i) {
            Socket& socket = sockets_[i];
            if (i != latest_ && socket.empty_looks >= silent_after &&
                (looks_ + i) % silent_every != 0) {
                continue;
            }
            if (!receive_from(socket, visit)) continue;
            latest_ = i;
            has_any = true;
        }
        return has_any;
    }

    // Calls visit() as receive() does, for all that has arrived before this call: sockets that were silent included.
    template <typename Visitor>
    void receive_all(Visitor&& visit) {
        for (Socket& socket : sockets_) {
            for (std::uint32_t round = 0; round < rounds_for_all; ++round) {
                if (!receive_from(socket, visit)) break;
            }
        }
    }

    // Sends what the endpoint has to send, as long as the kernel takes it and for a bounded number of bursts.
    // true when there was content among it: to have answered is no progress.
    bool send(datagram::Endpoint& endpoint, Time now);

    // When send() has something to do though the endpoint has not; datagram::never.
    [[nodiscard]] Time deadline() const noexcept;

    // Sleeps until something arrives, wake(), or the time is over.   timeout_ns  < 0: no limit
    void wait(std::int64_t timeout_ns) noexcept { (void)os::wait_readable(wait_fds_, timeout_ns); }

    // Takes back all wake() so far.
    void drain() noexcept { event_.drain(); }

    void wake() noexcept { event_.signal(); }

    // For threads that sleep elsewhere: one of them is readable if a datagram has arrived or wake() was called. Keep them in no
    // epoll set: the kernel would update it for every datagram, also while no thread sleeps (os/armed_wait.hpp).
    [[nodiscard]] std::span<const int> wait_fds() const noexcept { return wait_fds_; }

    // The event's, for processes that inherit it.
    [[nodiscard]] int event_fd() const noexcept { return event_.fd(); }

    [[nodiscard]] const TransportCounters& counters() noexcept;
    [[nodiscard]] const FaultCounters* faults() const noexcept;

    // Datagrams the kernel dropped because a receive buffer was full.
    [[nodiscard]] std::uint64_t receive_drops() const noexcept;

    // Whether a send failed because the process closed a socket's descriptor itself, as programs do that close all they find.
    [[nodiscard]] bool is_closed_by_others() const noexcept { return is_closed_by_others_; }

    // Closes the sockets: receive() finds nothing and send() sends nothing from then on.
    void close() noexcept;

private:
    static constexpr std::uint32_t receives_per_poll = 4;
    // A bound for one socket, which other nodes may fill as fast as it is read.
    static constexpr std::uint32_t rounds_for_all = 4096;
    static constexpr std::uint32_t bursts_per_poll = 8;
    static constexpr std::uint32_t messages_per_receive = 16;
    static constexpr std::uint32_t lone_messages_max = 4;  // in a row before more are looked for
    static constexpr std::uint32_t send_bytes = 65'536;
    static constexpr Time retry_ns = 100'000;            // after the kernel had no room
    static constexpr Time line_idle_ns = 1'000'000'000;  // then it may go to another destination
    static constexpr std::uint32_t silent_after = 64;    // looks that found nothing
    static constexpr std::uint32_t silent_every = 8;     // looks

    struct Socket {
        os::DatagramSocket udp;
        os::AddressRange range;           // the network it is on; of a line none
        Time used = 0;                    // a line: when something was sent
        std::uint32_t empty_looks = 0;    // consecutive polls that found nothing
        std::uint32_t lone_messages = 0;  // received one by one without a pause

        // Where messages come one by one each is taken alone: looking for a second costs as much as a third of the
        // first. A series without a pause, or several at once, is a reason to take as many as there are.
        [[nodiscard]] bool is_busy() const noexcept { return lone_messages >= lone_messages_max; }

        void note_received(std::uint32_t wanted, std::uint32_t got) noexcept {
            empty_looks = got == 0 ? empty_looks + 1 : 0;
            if (got == 0 || (wanted > 1 && got == 1)) {
                lone_messages = 0;
            } else if (wanted == 1) {
                ++lone_messages;
            }
        }
    };

    Transport(os::DatagramBatch batch, os::Event event);
    void add(os::DatagramSocket socket, const os::AddressRange& range);
    [[nodiscard]] std::size_t listener_for(const Address& to) const noexcept;
    [[nodiscard]] std::size_t socket_for(const os::SocketAddress& to) noexcept;
    void give_line(const os::SocketAddress& to, const os::DatagramSocket& listener) noexcept;

    [[nodiscard]] std::span<Socket> lines() noexcept {
        return std::span(sockets_).subspan(std::min(listeners_, sockets_.size()));
    }

    template <typename Visitor>
    bool receive_from(Socket& socket, Visitor&& visit) {
        bool has_any = false;
        for (std::uint32_t round = 0; round < receives_per_poll; ++round) {
            const std::uint32_t wanted = socket.is_busy() ? messages_per_receive : 1;
            const std::uint32_t got = socket.udp.receive_burst(batch_, wanted);
            socket.note_received(wanted, got);
            if (got == 0) break;
            has_any = true;
            ++counters_.receives;
            batch_.for_each([&](const os::SocketAddress& from, std::span<std::byte> datagram) {
                ++counters_.datagrams_received;
                counters_.bytes_received += datagram.size();
                visit(as_address(from), datagram);
            });
            if (got < messages_per_receive) break;
        }
        return has_any;
    }

    std::uint32_t transmit(std::size_t socket,
                           const Transmit& transmit,
                           datagram::MutableBytes bytes);
    void send_or_keep(const Transmit& burst, datagram::MutableBytes bytes);
    [[nodiscard]] bool may_send(Time now);

    std::vector<Socket> sockets_;  // the listeners, one per address, then the lines
    std::size_t listeners_ = 0;
    std::uint32_t latest_ = 0;  // socket that something came by
    std::uint32_t looks_ = 0;
    FrequentDestinations frequent_;
    bool is_closed_by_others_ = false;
    bool may_connect_ = true;  // until the kernel says no
    std::vector<Address> addresses_;
    os::DatagramBatch batch_;
    os::Event event_;
    std::vector<int> wait_fds_;  // the event's, then the sockets'
    std::unique_ptr<std::byte[]> buffer_;
    std::optional<FaultInjector> injector_;
    FaultInjector::Send send_one_;
    KeptBursts kept_;
    Time retry_at_ = datagram::never;
    Time now_ = 0;  // time of the last send
    TransportCounters counters_;
};

}  // namespace acp::engine
