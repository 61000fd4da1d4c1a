// SPDX-License-Identifier: BSD-3-Clause
// Bare datagrams between two ranks of a job, to measure the network and the kernel without the
// library. Round trips by sendto and recvfrom that spin, on unconnected sockets; a stream by
// segmentation offload on both sides; and how fast the cipher in use seals and opens alone. Each
// rank's main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "os/datagram_batch.hpp"
#include "os/datagram_socket.hpp"
#include "os/socket_address.hpp"

#include "job.hpp"

namespace acp::bench {

class BareUdp {
public:
    // Binds a socket on the address this rank's node uses, and learns those of all ranks.
    // Collective.
    explicit BareUdp(const Job& job);

    // Rank 0: sets the far rank of the calls below.
    void connect(int rank) noexcept { peer_ = static_cast<std::size_t>(rank); }

    // The far rank: answers each datagram until end() was called on the other side.
    void echo();

    // The far rank: receives a stream and acknowledges the bytes that have arrived, until end() is
    // called on rank 0.
    void drain();

    // Rank 0, while the other rank is in echo() or drain(): waits until it answers.
    void settle();
    // Rank 0, while the other rank is in echo().
    void round_trips(std::uint64_t count);

    // Rank 0, while the other rank is in drain(): `count` times sends `bytes` bytes and waits until
    // the far rank has acknowledged all of them. After a silence it sends the bytes again that are
    // not acknowledged.
    void transfers(std::uint64_t bytes, std::uint64_t count);

    // Rank 0, while the other rank is in drain(): what arrived per time.
    [[nodiscard]] double stream_mb_per_s(double duration_ns);

    // Rank 0: lets the other rank return.
    void end();

    // The cipher in use, sealing and opening datagrams of datagram_bytes() in one thread: the rate
    // of the slower of both; 0 when the job does not encrypt.
    [[nodiscard]] double cipher_mb_per_s() const;

    // The size the library uses between these nodes.
    [[nodiscard]] std::uint32_t datagram_bytes() const noexcept { return datagram_bytes_; }

private:
    // false when nothing came in time.   datagram  room for the longest
    bool receive(std::vector<std::byte>& datagram, std::uint64_t patience);
    void begin();
    // Receives all acknowledgements that have arrived, and stores the highest count in `bytes`.
    // False when none has arrived.
    bool take_count(std::vector<std::byte>& answer, std::uint64_t& bytes);

    std::optional<os::DatagramSocket> socket_;
    std::optional<os::DatagramBatch> batch_;
    std::size_t peer_ = 0;
    std::byte turn_{
        // the number of the test, in every datagram: a rank ignores late datagrams of earlier tests
        0};
    std::uint64_t told_bytes_ = 0;  // bytes of this test that the far rank has acknowledged
    std::uint32_t datagram_bytes_ = 1472;
    os::SocketAddress sender_;               // the sender of the datagram received last
    std::vector<os::SocketAddress> places_;  // the address of each rank's socket
};

}  // namespace acp::bench
