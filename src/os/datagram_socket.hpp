// SPDX-License-Identifier: BSD-3-Clause
// A UDP socket on one IPv4 or IPv6 address that sends and receives bursts: many datagrams of one size to one
// destination by one system call, and what the kernel joined on arrival taken apart again. Never blocks, knows
// nothing of what datagrams mean, trusts no sender. One thread. The socket of a single peer on 127.0.0.1 is
// os/udp_socket.hpp. Tests: tests/unit/os/datagram_socket_test.cpp.
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
    sent,      // all of it
    busy,      // the kernel's buffers are full: send the rest later (poll for writing)
    too_long,  // a datagram is longer than the path carries unfragmented, or than UDP allows
    closed,    // the descriptor is no socket any more: this process closed it behind our back
    unreachable,  // no route, forbidden, port 0, the other family of addresses: the rest would fare no better
};

struct Sent {
    std::uint32_t datagrams = 0;  // taken by the kernel, counted from the burst's beginning
    SendOutcome outcome = SendOutcome::sent;
};

// What a send's errno means for the sender; pure.
[[nodiscard]] SendOutcome outcome_of(int error) noexcept;

// What waits in the socket's receive buffer, and what was lost because it was full.
struct ReceiveQueue {
    std::uint32_t charged_bytes = 0;  // in the kernel's accounting, of receive_bytes()
    std::uint32_t drops = 0;          // datagrams since the socket was opened, modulo 2^32
};

class DatagramSocket {
public:
    struct Options {
        SocketAddress bind_to{};          // an address of this host; port 0: a free one
        std::uint32_t receive_bytes = 0;  // receive buffer wished for, in the kernel's accounting
        std::uint32_t send_bytes = 0;     // likewise for sending; 0: as the system sets it
        bool may_segment = true;          // let the kernel cut bursts (GSO), where it can
        bool may_join = true;             // let it join what arrives (GRO), where it can
    };

    // Errors: argument (no family), limit (descriptors used up), state (the port is taken), system (the address is
    // not of this host, the kernel has no IPv6); the address in the message.
    static Result<DatagramSocket> open(const Options& options);

    // A socket without a port, which hears nothing before connect_beside(). Of options.bind_to only the family counts.
    // Errors: argument (no family), limit, system.
    static Result<DatagramSocket> open_spare(const Options& options);

    // Makes a spare socket the one that hears `peer` on the port of another of this process, which hears all others
    // from then on; what goes to the peer takes the shorter way through the kernel. What the other socket holds stays
    // there, and what others sent while this was done may be heard here. Again: for another peer, beside the same.
    // false: the kernel would not.
    bool connect_beside(const DatagramSocket& beside, const SocketAddress& peer) noexcept;

    // Whom it is connected with; family 0 when with nobody.
    [[nodiscard]] const SocketAddress& peer() const noexcept { return peer_; }

    // Where it is bound, with the port that was found.
    [[nodiscard]] const SocketAddress& address() const noexcept { return address_; }

    // What the kernel granted, in its own accounting: a datagram of 1.4 KB is charged about 2.3 KB, one joined
    // by it less.
    [[nodiscard]] std::uint32_t receive_bytes() const noexcept { return receive_bytes_; }

    [[nodiscard]] bool is_segmenting() const noexcept { return segment_bytes_max_ != 0; }

    [[nodiscard]] bool is_joining() const noexcept { return is_joining_; }

    // Sends datagrams of segment_bytes each, the last one shorter if the bytes do not divide, back to back in
    // memory. A datagram the kernel took may still be lost.
    //   burst          at least 1 byte
    //   segment_bytes  1 .. 65507
    //   may_fragment   false: the network must not cut these datagrams into fragments; too_long tells when this
    //                  host's own interface would have had to
    Sent send_burst(const SocketAddress& to,
                    std::span<const std::byte> burst,
                    std::uint32_t segment_bytes,
                    bool may_fragment) noexcept;

    // Takes what has arrived, at most as much as the batch has room for; what the batch held is gone. Returns
    // the number of messages, 0 when there is none.
    //   at_most  messages: who expects one saves the kernel a look for a second; >= 1
    std::uint32_t receive_burst(DatagramBatch& batch,
                                std::uint32_t at_most = DatagramBatch::messages_max) noexcept;

    // nullopt where the kernel does not tell (before Linux 4.12).
    [[nodiscard]] std::optional<ReceiveQueue> receive_queue() const noexcept;

    // For polling.
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
    std::uint32_t segment_bytes_max_ =
        0;  // longer ones are not segmented by the kernel; 0: none is
    bool is_joining_ = false;
    std::optional<bool> may_fragment_;  // as the socket is set now; nullopt: not set yet
};

// What to tell the user when a socket was granted less receive buffer than wished for; "" when it was not.
[[nodiscard]] std::string receive_buffer_advice(std::uint32_t wished, std::uint32_t granted);

}  // namespace acp::os
