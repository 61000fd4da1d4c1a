// SPDX-License-Identifier: BSD-3-Clause
// A UDP socket on one IPv4 or IPv6 address that sends and receives bursts: many datagrams of one
// size to one destination by one system call; on receipt it splits the messages that the kernel
// joined. Never blocks, does not parse datagrams, trusts no sender. One thread. os/udp_socket.hpp
// is the socket for peers on 127.0.0.1.
// Tests: tests/unit/os/datagram_socket_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "os/datagram_batch.hpp"
#include "os/file_descriptor.hpp"
#include "os/socket_address.hpp"

namespace acp::os {

using base::Result;

// How a burst ended.
enum class SendOutcome : std::uint8_t {
    sent,      // the whole burst was sent
    busy,      // the kernel's buffers are full: send the rest later (poll for writing)
    too_long,  // a datagram is longer than the path carries without fragments, or than UDP allows
    closed,    // the descriptor is no longer a socket: the program has closed it
    // no route, forbidden, port 0, or the other address family: the rest of the burst would fail
    // too
    unreachable,
};

struct Sent {
    std::uint32_t datagrams = 0;  // number taken by the kernel, from the burst's beginning
    SendOutcome outcome = SendOutcome::sent;
};

// The outcome that an errno of a send stands for; a pure function.
[[nodiscard]] SendOutcome outcome_of(int error) noexcept;

// The fill of the socket's receive buffer, and the datagrams dropped because it was full.
struct ReceiveQueue {
    std::uint32_t charged_bytes = 0;  // bytes used of receive_bytes(), in the kernel's accounting
    std::uint32_t drops = 0;          // datagrams dropped since the socket was opened, modulo 2^32
};

class DatagramSocket {
public:
    struct Options {
        SocketAddress bind_to{};          // an address of this host; port 0: a free one
        std::uint16_t last_port = 0;      // not 0: the first free port from that of bind_to to this
        std::uint32_t receive_bytes = 0;  // wanted receive buffer, in the kernel's accounting
        std::uint32_t send_bytes = 0;     // wanted send buffer; 0: the system's default
        bool may_segment = true;          // let the kernel segment bursts (GSO), where it can
        bool may_join = true;  // let the kernel join arriving datagrams (GRO), where it can
    };

    // Errors: argument (no family), limit (descriptors used up), state (the port, or each one up to
    // last_port, is taken), system (the address does not belong to this host, or the kernel has no
    // IPv6). The message names the address.
    static Result<DatagramSocket> open(const Options& options);

    // Opens a socket without a port, which receives nothing before connect_beside(). Only the
    // family of options.bind_to is used.
    // Errors: argument (no family), limit, system.
    static Result<DatagramSocket> open_spare(const Options& options);

    // Connects a spare socket to `peer`, on the port of another socket of this process. From then
    // on this socket receives the peer's datagrams and the other socket those of all others;
    // sending to the peer takes the shorter path through the kernel. Datagrams in the other socket
    // stay there, and datagrams that other peers send during the change may arrive here. May be
    // called again for another peer, beside the same socket. false: the kernel refused.
    bool connect_beside(const DatagramSocket& beside, const SocketAddress& peer) noexcept;

    // The peer with which it is connected; family 0: it is not connected.
    [[nodiscard]] const SocketAddress& peer() const noexcept { return peer_; }

    // The address it is bound to, with the port that the kernel chose.
    [[nodiscard]] const SocketAddress& address() const noexcept { return address_; }

    // The size that the kernel granted, in its own accounting: it charges about 2.3 KB for a
    // datagram of 1.4 KB, less for a joined one.
    [[nodiscard]] std::uint32_t receive_bytes() const noexcept { return receive_bytes_; }

    [[nodiscard]] bool is_segmenting() const noexcept { return segment_bytes_max_ != 0; }

    [[nodiscard]] bool is_joining() const noexcept { return is_joining_; }

    // Sends datagrams of segment_bytes each, which lie back to back in memory; the last one is
    // shorter if the bytes do not divide. A datagram that the kernel took may still be lost.
    //   burst          at least 1 byte
    //   segment_bytes  1 .. 65507
    //   may_fragment   false: the network must not fragment these datagrams; the outcome is
    //                  too_long when this host's own interface would have had to
    Sent send_burst(const SocketAddress& to,
                    std::span<const std::byte> burst,
                    std::uint32_t segment_bytes,
                    bool may_fragment) noexcept;

    // Receives the messages that have arrived, at most as many as the batch has room for, and
    // overwrites the content of the batch. Returns their number; 0: none has arrived.
    //   at_most  number of messages, >= 1; with 1 the kernel does not search for a second one
    std::uint32_t receive_burst(DatagramBatch& batch,
                                std::uint32_t at_most = DatagramBatch::messages_max) noexcept;

    // nullopt where the kernel does not report it (before Linux 4.12).
    [[nodiscard]] std::optional<ReceiveQueue> receive_queue() const noexcept;

    // For polling; stays owned here.
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

private:
    struct Destination;

    DatagramSocket(FileDescriptor descriptor, const SocketAddress& address) noexcept
        : descriptor_(std::move(descriptor)), address_(address) {}

    void use_options(const Options& options) noexcept;
    bool set_fragmenting(bool may_fragment) noexcept;
    Sent send_one(Destination& to, std::span<const std::byte> datagram) noexcept;
    Sent send_segmented(Destination& to,
                        std::span<const std::byte> burst,
                        std::uint32_t segment_bytes) noexcept;
    Sent send_singly(Destination& to,
                     std::span<const std::byte> burst,
                     std::uint32_t segment_bytes) noexcept;

    FileDescriptor descriptor_;
    SocketAddress address_;
    SocketAddress peer_;
    std::uint32_t receive_bytes_ = 0;
    // longer segments are not segmented by the kernel; 0: none is
    std::uint32_t segment_bytes_max_ = 0;
    bool is_joining_ = false;
    std::optional<bool> may_fragment_;  // the socket's present setting; nullopt: not set yet
};

// The advice for the user when the kernel granted a smaller receive buffer than requested; ""
// otherwise.
[[nodiscard]] std::string receive_buffer_advice(std::uint32_t wished, std::uint32_t granted);

}  // namespace acp::os
