// SPDX-License-Identifier: BSD-3-Clause
// A UDP socket on the loopback address, which blocks only in wait_readable(). Knows nothing of what
// datagrams mean, and trusts no sender: the receiver must check the source. One receiving thread at
// a time; any thread may call send_to().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;

// Whether datagrams reach 127.0.0.0/8: a socket can be bound there while the loopback interface is
// down, but then no datagram arrives. Requests the route from the kernel and sends nothing. Errors:
// limit (descriptors used up), system (the interface is down: the message names it and the command
// that raises it). Any thread; does not block.
[[nodiscard]] base::Status check_loopback();

class UdpSocket {
public:
    static constexpr std::int64_t is_lost = -2;  // returned by receive()

    // Binds 127.0.0.1 at a free port, close-on-exec.
    //   receive_buffer_bytes  wanted size; the system may grant less, see receive_buffer_bytes()
    // Errors: limit (descriptors used up), system.
    static Result<UdpSocket> open_loopback(std::uint32_t receive_buffer_bytes);

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    // The size that the kernel granted, in its own accounting (it charges about 2.3 KB for a 1.4 KB
    // datagram).
    [[nodiscard]] std::uint32_t receive_buffer_bytes() const noexcept {
        return receive_buffer_bytes_;
    }

    // Sends head and body as one datagram to a port of 127.0.0.1. false when the kernel did not
    // take it (its buffers are full, or the datagram is too long): try again later. true means
    // sent, not arrived: a full receive buffer drops it without any report. Does not block.
    bool send_to(std::uint16_t port,
                 std::span<const std::byte> head,
                 std::span<const std::byte> body) noexcept;

    // Receives the next datagram into the buffer and returns its size; -1 when there is none;
    // is_lost when the program has closed the socket's descriptor, whose number may denote another
    // file now. A size beyond the buffer's means that the rest was cut off. Does not block.
    //   source_port  the sender's port on 127.0.0.1; 0 when it came from another address. nullptr:
    //                not stored
    std::int64_t receive(std::span<std::byte> buffer,
                         std::uint16_t* source_port = nullptr) noexcept;

    // Sleeps until a datagram arrives, extra_fd (-1: none) is readable, a signal handler runs, or
    // the timeout passes (< 0: none). true when the socket or extra_fd is readable.
    bool wait_readable(int extra_fd, std::int64_t timeout_ns) noexcept;

    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

    // Forgets a descriptor for which receive() returned is_lost: its number may be a file of the
    // program, so it is not closed.
    void abandon() noexcept { (void)descriptor_.release(); }

private:
    UdpSocket(FileDescriptor descriptor, std::uint16_t port, std::uint32_t granted) noexcept
        : descriptor_(std::move(descriptor)), port_(port), receive_buffer_bytes_(granted) {}

    FileDescriptor descriptor_;
    std::uint16_t port_;
    std::uint32_t receive_buffer_bytes_;
};

}  // namespace acp::os
