// SPDX-License-Identifier: BSD-3-Clause
// When the next burst may leave, so that a window does not leave at once: bursts of at most 64 KiB, one hand-over to
// the kernel, with gaps of bytes / (1.25 * window / rtt). A caller who comes late may make up for it, up to
// half a round trip. Where datagrams of one burst are lost together, a queue on the way holds no such burst: bursts are
// halved then, and when more than 3 % are lost, down to 2 datagrams, and below 16 a late sender does not make up for it. Knows no clock and sends nothing. One
// thread.
// Tests: tests/unit/datagram/pacer_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class Pacer {
public:
    static constexpr std::uint64_t burst_bytes_max = 65507;   // of UDP over IPv4
    static constexpr std::uint64_t burst_datagrams_min = 16;  // within the window
    static constexpr std::uint32_t burst_limit_min = 2;  // datagrams, where bursts overflow a queue
    static constexpr std::uint32_t burst_limit_max = 64;
    static constexpr std::uint32_t loss_memory = 256;           // datagrams; of which more than
    static constexpr std::uint32_t loss_usual = 8;              // lost shorten bursts, too
    static constexpr std::uint32_t limit_doubles_after = 4096;  // datagrams, none lost together
    static constexpr Time lateness_min_ns = 100'000;
    static constexpr Time lateness_max_ns = 1'000'000;
    // A longer round trip was measured of a node that was stopped; by the next one it may be short again.
    static constexpr Time rtt_max_ns = 1'000'000'000;

    // After each acknowledgement, and once before the first burst.
    //   window_bytes    Congestion::pacing_window_bytes()
    //   is_slow_start   then the gain is 2 instead of 1.25
    void set_rate(std::uint64_t window_bytes, Time smoothed_rtt_ns, bool is_slow_start) noexcept;

    // What an acknowledgement settled.
    //   lost           datagrams
    //   lost_together  SettledPackets::lost_together
    //   newest_lost_sent  when the latest of the lost was sent
    void on_settled(Time now,
                    std::uint32_t acked,
                    std::uint32_t lost,
                    std::uint32_t lost_together,
                    Time newest_lost_sent) noexcept;

    // Datagrams of one burst at most.
    [[nodiscard]] std::uint32_t burst_limit() const noexcept { return burst_limit_; }

    // Whether a burst may leave now. Always, when it is the first after a silence.
    [[nodiscard]] bool may_send(Time now) const noexcept { return now >= next_; }

    [[nodiscard]] Time deadline() const noexcept { return next_; }  // when may_send becomes true

    // The most bytes of one burst of datagrams of this size: at least one datagram.
    [[nodiscard]] std::uint64_t burst_bytes(std::uint32_t datagram_bytes) const noexcept;

    // A burst of this many bytes left. What a probe timeout or an acknowledgement sends is not told.
    void on_sent(Time now, std::uint64_t bytes) noexcept;

private:
    [[nodiscard]] Time time_of(std::uint64_t bytes) const noexcept {
        return static_cast<Time>(static_cast<double>(bytes) * ns_per_byte_);
    }

    Time next_ = 0;
    Time lateness_ = 0;
    Time limited_at_ = 0;  // when burst_limit_ was last halved
    std::uint64_t window_ = ~0ULL;
    std::uint32_t burst_limit_ = burst_limit_max;
    std::uint32_t unharmed_ = 0;  // datagrams acknowledged since burst_limit_ changed
    std::uint32_t counted_ = 0;   // datagrams settled, up to loss_memory
    std::uint32_t lost_ = 0;      // of them
    double ns_per_byte_ = 0;
};

}  // namespace acp::datagram
