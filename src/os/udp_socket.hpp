// SPDX-License-Identifier: BSD-3-Clause
// A UDP socket on the loopback address, never blocking but in wait_readable. Knows nothing of what
// datagrams mean, and trusts no sender: whoever receives must check. One receiving thread at a time;
// send_to from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;

// Whether datagrams get to 127.0.0.0/8: a socket can be bound there while the loopback interface is down, and then nothing
// that is sent arrives. Asks the kernel for the way and sends nothing. Errors: limit (descriptors used up), system (the
// interface is down: the message names it and says how it is raised). Any thread; does not block.
[[nodiscard]] base::Status check_loopback();

class UdpSocket {
public:
    static constexpr std::int64_t is_lost = -2;  // see receive()

    // Binds 127.0.0.1 at a free port, close-on-exec.
    //   receive_buffer_bytes  wished for; the system may grant less, see receive_buffer_bytes()
    // Errors: limit (descriptors used up), system.
    static Result<UdpSocket> open_loopback(std::uint32_t receive_buffer_bytes);

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    // What the kernel granted, in its own accounting (a 1.4 KB datagram is charged about 2.3 KB).
    [[nodiscard]] std::uint32_t receive_buffer_bytes() const noexcept {
        return receive_buffer_bytes_;
    }

    // Sends head and body as one datagram to a port of 127.0.0.1. false when the kernel did not take
    // it (its buffers are full, or it is too long): try again later. true means sent, not arrived: a
    // full receive buffer drops it and nobody is told. Does not block.
    bool send_to(std::uint16_t port,
                 std::span<const std::byte> head,
                 std::span<const std::byte> body) noexcept;

    // The size of the next datagram, its bytes (up to the buffer's size) in buffer; -1 when none; is_lost when the
    // program has closed the socket's descriptor, which may be another file now. A size beyond the buffer's tells
    // that the rest was cut off. Does not block.
    //   source_port  who sent it, a port of 127.0.0.1; 0 when it came from elsewhere. nullptr: not asked
    std::int64_t receive(std::span<std::byte> buffer,
                         std::uint16_t* source_port = nullptr) noexcept;

    // Sleeps until a datagram, readability of extra_fd (-1: none), a signal handler, or the timeout
    // (< 0: for ever). true when the socket or extra_fd is readable.
    bool wait_readable(int extra_fd, std::int64_t timeout_ns) noexcept;

    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

    // Forgets a descriptor that is_lost: its number is not ours to close.
    void abandon() noexcept { (void)descriptor_.release(); }

private:
    UdpSocket(FileDescriptor descriptor, std::uint16_t port, std::uint32_t granted) noexcept
        : descriptor_(std::move(descriptor)), port_(port), receive_buffer_bytes_(granted) {}

    FileDescriptor descriptor_;
    std::uint16_t port_;
    std::uint32_t receive_buffer_bytes_;
};

}  // namespace acp::os
