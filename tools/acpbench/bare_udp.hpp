// SPDX-License-Identifier: BSD-3-Clause
// Bare datagrams between two ranks of a job: what the network and the kernel do without the library. Round
// trips by sendto and recvfrom that spin, on unconnected sockets; a stream by segmentation offload on both sides;
// and how fast the cipher in use seals and opens alone. Each rank's main thread.
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
    // Binds a socket on the address this rank's node uses, and learns those of all ranks. Collective.
    explicit BareUdp(const Job& job);

    // Rank 0: whom the calls below talk to.
    void connect(int rank) noexcept { peer_ = static_cast<std::size_t>(rank); }

    // The far rank: answers each datagram until end() was called on the other side.
    void echo();

    // The far rank: takes a stream in and tells how much came, until end().
    void drain();

    // Rank 0, while the other rank is in echo() or drain(): waits until it answers.
    void settle();
    // Rank 0, while the other rank is in echo().
    void round_trips(std::uint64_t count);

    // Rank 0, while the other rank is in drain(): sends that many bytes and waits until the other side has told that
    // it has them all, `count` times. What does not come in time is sent again as a whole.
    void transfers(std::uint64_t bytes, std::uint64_t count);

    // Rank 0, while the other rank is in drain(): what arrived per time.
    [[nodiscard]] double stream_mb_per_s(double duration_ns);

    // Rank 0: lets the other rank return.
    void end();

    // The cipher in use, sealing and opening datagrams of datagram_bytes() in one thread: the rate of the slower
    // of both; 0 when the job does not encrypt.
    [[nodiscard]] double cipher_mb_per_s() const;

    // The size the library uses between these nodes.
    [[nodiscard]] std::uint32_t datagram_bytes() const noexcept { return datagram_bytes_; }

private:
    // false when nothing came in time.   datagram  room for the longest
    bool receive(std::vector<std::byte>& datagram, std::uint64_t patience);
    void begin();
    // Takes in what the other side has told so far; whether it has told anything.
    bool take_count(std::vector<std::byte>& answer, std::uint64_t& bytes);

    std::optional<os::DatagramSocket> socket_;
    std::optional<os::DatagramBatch> batch_;
    std::size_t peer_ = 0;
    std::byte turn_{
        0};  // of echo and drain, in every datagram: what is left of an earlier one is ignored
    std::uint64_t told_bytes_ = 0;  // of this turn: what the other side has told to have
    std::uint32_t datagram_bytes_ = 1472;
    os::SocketAddress sender_;               // of the last datagram
    std::vector<os::SocketAddress> places_;  // of each rank
};

}  // namespace acp::bench
