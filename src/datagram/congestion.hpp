// SPDX-License-Identifier: BSD-3-Clause
// How many bytes may be in flight to one peer: the interface of congestion control algorithms. An
// algorithm gets one sample per acknowledgement, not per datagram. Knows neither clock nor
// datagrams. One thread.
// Tests: tests/unit/datagram/congestion_conformance_test.cpp,
// tests/unit/sim/congestion_link_test.cpp (on a modelled link).
#pragma once

#include <cstdint>
#include <memory>

#include "base/datagram_modes.hpp"
#include "datagram/time.hpp"

namespace acp::datagram {

// What one acknowledgement, or one deadline of the loss detector, revealed about the path.
struct CongestionSample {
    Time now = 0;
    std::uint64_t acked_bytes = 0;
    std::uint32_t acked = 0;  // datagrams
    std::uint64_t lost_bytes = 0;
    std::uint32_t lost = 0;
    Time newest_lost_sent = 0;  // when the most recently sent of the lost left
    std::uint32_t marked = 0;   // of `acked`: datagrams with the ECN mark "congestion experienced"
    Time sent = never;          // when the largest newly acked left; never: no RTT sample
    Time rtt_ns = 0;            // the RTT sample, less the peer's acknowledgement delay
    Time smoothed_rtt_ns = 0;
    bool is_drain_asked = false;       // AckFrame::is_drain
    std::uint64_t in_flight = 0;       // bytes in flight before this acknowledgement
    std::uint32_t datagram_bytes = 0;  // the longest datagram of this path now
};

class Congestion {
public:
    Congestion() = default;
    virtual ~Congestion() = default;
    Congestion(const Congestion&) = delete;
    Congestion& operator=(const Congestion&) = delete;

    // Updates the window. Times in successive samples never decrease.
    virtual void on_sample(const CongestionSample& sample) noexcept = 0;

    // Persistent congestion (RFC 9002, 7.6): several probe timeouts passed without an answer. The
    // window falls to its minimum and slow start begins again.
    virtual void on_silence() noexcept = 0;

    // All losses of the last reduction proved spurious: the datagrams were acknowledged after all.
    // Undoes that reduction.
    virtual void on_spurious() noexcept = 0;

    // Bytes that may be in flight. Never below two datagrams, so that the loss of one is revealed
    // by the acknowledgement of the other. A sender that must be slower than two datagrams per
    // round trip is slowed down by the pacer (pacing_window_bytes()).
    [[nodiscard]] virtual std::uint64_t window_bytes() const noexcept = 0;

    // The window from which the pacer computes its rate, in bytes; may be below window_bytes().
    [[nodiscard]] virtual std::uint64_t pacing_window_bytes() const noexcept = 0;
    [[nodiscard]] virtual bool is_slow_start() const noexcept = 0;
};

// Makes an algorithm for a path whose datagrams are `datagram_bytes` long at first; nullptr if
// there is no memory.
std::unique_ptr<Congestion> make_congestion(base::CongestionAlgorithm control,
                                            std::uint32_t datagram_bytes);

}  // namespace acp::datagram
