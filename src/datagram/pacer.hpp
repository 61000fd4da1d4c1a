// SPDX-License-Identifier: BSD-3-Clause
// Pacing (RFC 9002, 7.7): when the next burst may be sent, so that a window is spread over a round
// trip. A burst is at most 64 KiB, one call of the kernel; the gap after it is bytes / (1.25 *
// window / RTT). A caller that is late may catch up, by at most half a round trip. If datagrams of
// one burst are lost together, some queue on the path is shorter than the burst. Then, and when
// more than 3 % are lost, the burst limit is halved, down to 2 datagrams; below 16 a late sender
// does not catch up. Knows no clock and sends nothing. One thread.
// Tests: tests/unit/datagram/pacer_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class Pacer {
public:
    static constexpr std::uint64_t burst_bytes_max = 65507;  // largest UDP payload over IPv4
    // Smallest burst, if the window allows it.
    static constexpr std::uint64_t burst_datagrams_min = 16;
    // datagrams; reached on paths with short queues
    static constexpr std::uint32_t burst_limit_min = 2;
    static constexpr std::uint32_t burst_limit_max = 64;
    static constexpr std::uint32_t loss_memory = 256;  // datagrams settled; if more of them than
    static constexpr std::uint32_t loss_usual = 8;     // this were lost, bursts are halved
    static constexpr std::uint32_t limit_doubles_after = 4096;  // acknowledged without bursts lost
    static constexpr Time lateness_min_ns = 100'000;
    static constexpr Time lateness_max_ns = 1'000'000;
    // A longer RTT was measured while the node was stopped; the next sample may be short again.
    static constexpr Time rtt_max_ns = 1'000'000'000;

    // Sets the rate. To be called after each acknowledgement, and once before the first burst.
    //   window_bytes    Congestion::pacing_window_bytes()
    //   is_slow_start   the gain is 2 instead of 1.25
    void set_rate(std::uint64_t window_bytes, Time smoothed_rtt_ns, bool is_slow_start) noexcept;

    // Adapts the burst limit to what an acknowledgement settled.
    //   acked, lost       datagrams
    //   lost_together     SettledPackets::lost_together
    //   newest_lost_sent  when the most recently sent of the lost left
    void on_settled(Time now,
                    std::uint32_t acked,
                    std::uint32_t lost,
                    std::uint32_t lost_together,
                    Time newest_lost_sent) noexcept;

    // The most datagrams of one burst.
    [[nodiscard]] std::uint32_t burst_limit() const noexcept { return burst_limit_; }

    // Whether a burst may be sent now. Always true for the first one after a silence.
    [[nodiscard]] bool may_send(Time now) const noexcept { return now >= next_; }

    [[nodiscard]] Time deadline() const noexcept { return next_; }  // when may_send() becomes true

    // The most bytes of one burst of datagrams of this length: at least one datagram.
    [[nodiscard]] std::uint64_t burst_bytes(std::uint32_t datagram_bytes) const noexcept;

    // A burst of this many bytes was sent. Probes and acknowledgements are not counted.
    void on_sent(Time now, std::uint64_t bytes) noexcept;

private:
    [[nodiscard]] Time time_of(std::uint64_t bytes) const noexcept {
        return static_cast<Time>(static_cast<double>(bytes) * ns_per_byte_);
    }

    Time next_ = 0;        // when the next burst may be sent
    Time lateness_ = 0;    // how far behind now next_ may fall: what a late sender catches up
    Time limited_at_ = 0;  // when burst_limit_ was last halved
    std::uint64_t window_ = ~0ULL;  // bytes, as of the last set_rate()
    std::uint32_t burst_limit_ = burst_limit_max;
    std::uint32_t unharmed_ = 0;  // datagrams acknowledged since burst_limit_ changed
    std::uint32_t counted_ = 0;   // datagrams settled, up to loss_memory
    std::uint32_t lost_ = 0;      // lost ones among counted_
    double ns_per_byte_ = 0;
};

}  // namespace acp::datagram
