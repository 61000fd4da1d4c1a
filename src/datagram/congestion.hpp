// SPDX-License-Identifier: BSD-3-Clause
// How much may be in the network to one peer: what every congestion control is told, and what it says. Told once per
// acknowledgement, not per datagram. Knows neither clock nor datagrams. One thread.
// Tests: tests/unit/datagram/congestion_conformance_test.cpp, tests/unit/sim/congestion_link_test.cpp (on a modelled link).
#pragma once

#include <cstdint>
#include <memory>

#include "base/datagram_modes.hpp"
#include "datagram/time.hpp"

namespace acp::datagram {

// What one acknowledgement (or loss deadline) brought.
struct CongestionSample {
    Time now = 0;
    std::uint64_t acked_bytes = 0;
    std::uint32_t acked = 0;  // datagrams
    std::uint64_t lost_bytes = 0;
    std::uint32_t lost = 0;
    Time newest_lost_sent = 0;  // when the latest of the lost was sent
    std::uint32_t marked = 0;   // of the acked, those marked "congestion experienced"
    Time sent = never;  // when the largest acked was sent; never: no sample of the round trip
    Time rtt_ns = 0;    // of it, without the peer's delay
    Time smoothed_rtt_ns = 0;
    bool is_drain_asked = false;       // AckFrame::is_drain
    std::uint64_t in_flight = 0;       // bytes, before this acknowledgement was taken
    std::uint32_t datagram_bytes = 0;  // the longest on this path now
};

class Congestion {
public:
    Congestion() = default;
    virtual ~Congestion() = default;
    Congestion(const Congestion&) = delete;
    Congestion& operator=(const Congestion&) = delete;

    virtual void on_sample(const CongestionSample& sample) noexcept = 0;

    // Several probe timeouts without any answer: starts anew from the floor.
    virtual void on_silence() noexcept = 0;

    // What was taken for lost was not (all of the last reaction's).
    virtual void on_spurious() noexcept = 0;

    // Bytes that may be in flight; never below 2 datagrams: what must be slower still is paced.
    [[nodiscard]] virtual std::uint64_t window_bytes() const noexcept = 0;

    // For the pacer: may be below window_bytes().
    [[nodiscard]] virtual std::uint64_t pacing_window_bytes() const noexcept = 0;
    [[nodiscard]] virtual bool is_slow_start() const noexcept = 0;
};

// nullptr: no memory.
std::unique_ptr<Congestion> make_congestion(base::CongestionAlgorithm control,
                                            std::uint32_t datagram_bytes);

}  // namespace acp::datagram
