// SPDX-License-Identifier: BSD-3-Clause
// Sockets, batches and bytes for tests of datagrams over the loopback interface.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <string>
#include <vector>

#include "os/datagram_socket.hpp"

#include "support/ip.hpp"

namespace acp::os::testing {

using Bytes = std::vector<std::byte>;

struct Arrived {
    SocketAddress from;
    Bytes bytes;
};

using acp::test::ip;

inline DatagramSocket open_socket(DatagramSocket::Options options) {
    if (options.bind_to.family == 0) options.bind_to = ip("127.0.0.1");
    if (options.receive_bytes == 0) options.receive_bytes = 4U << 20;
    auto socket = DatagramSocket::open(options);
    EXPECT_TRUE(socket.is_ok()) << socket.failure().message();
    return std::move(socket).value();
}

inline DatagramBatch batch_of(std::uint32_t messages, std::uint32_t bytes) {
    auto batch = DatagramBatch::create(messages, bytes);
    EXPECT_TRUE(batch.is_ok()) << batch.failure().message();
    return std::move(batch).value();
}

// Bytes that differ by their position.
inline Bytes pattern(std::size_t bytes) {
    Bytes all(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        all[i] = static_cast<std::byte>((i * 2'654'435'761U) >> 13);
    }
    return all;
}

inline bool is_readable(const DatagramSocket& socket) {
    pollfd look{socket.fd(), POLLIN, 0};
    return poll(&look, 1, 2000) == 1;
}

// Receives datagrams until `bytes` bytes have arrived or no more arrive.
inline std::vector<Arrived> take(DatagramSocket& socket, DatagramBatch& batch, std::size_t bytes) {
    std::vector<Arrived> all;
    std::size_t got = 0;
    while (got < bytes && is_readable(socket)) {
        socket.receive_burst(batch);
        batch.for_each([&](const SocketAddress& from, std::span<std::byte> datagram) {
            all.push_back({from, Bytes(datagram.begin(), datagram.end())});
            got += datagram.size();
        });
    }
    return all;
}

}  // namespace acp::os::testing
