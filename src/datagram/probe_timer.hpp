// SPDX-License-Identifier: BSD-3-Clause
// The probe timeout (PTO) of RFC 9002, 6.2: when to send something although no acknowledgement
// came. The backoff ends at half a second; on a path known to be short it stays at a few hundredths
// of a second for about the first second. Later probes send more datagrams at a time, so that a
// path that loses half of what it carries still gets an answer soon. Knows no clock; the caller
// sends the probes. One thread.
// Tests: tests/unit/datagram/probe_timer_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/rtt_estimator.hpp"
#include "datagram/time.hpp"

namespace acp::datagram {

class ProbeTimer {
public:
    // The longest a receiver delays an acknowledgement.
    static constexpr Time ack_delay_max_ns = 500'000;
    static constexpr Time granularity_ns = 1'000'000;
    static constexpr Time timeout_max_ns = 500'000'000;
    // A path is short if a timeout without backoff is at most short_timeout_ns. A burst of loss
    // lasts for a number of datagrams, so on a short path it is cheaper to send a few datagrams in
    // vain than to wait a second.
    static constexpr Time short_timeout_ns = 50'000'000;
    static constexpr Time soon_timeout_ns = 5'000'000;
    // The last of soon_count timeouts in a row is at most soon_timeout_ns, the last of short_count
    // at most short_timeout_ns; then the usual backoff begins.
    static constexpr std::uint32_t soon_count = 24;
    static constexpr std::uint32_t short_count = 42;
    static constexpr Time timeouts_per_silence = 4;  // no timeout exceeds peer_timeout / 4
    static constexpr std::uint32_t probes_min = 2;
    static constexpr std::uint32_t probes_max = 8;
    // Timeouts in a row: persistent congestion.
    static constexpr std::uint32_t persistent_count = 3;

    //   peer_timeout_ns  silence after which a peer is severed; 0: never. No timeout exceeds a
    //                    quarter of it, whatever RTT was measured: an RTT measured while the peer
    //                    was stopped must not delay the discovery of its death
    explicit ProbeTimer(Time peer_timeout_ns = 0) noexcept
        : longest_(peer_timeout_ns == 0 ? never : peer_timeout_ns / timeouts_per_silence) {}

    // To be called when an ack-eliciting datagram was sent, and after an acknowledgement while more
    // are in flight.
    void arm(Time now, const RttEstimator& rtt) noexcept;

    void disarm() noexcept { deadline_ = never; }  // called when nothing is in flight

    // A datagram was newly acknowledged, which ends the backoff. To be followed by arm() or
    // disarm().
    void on_ack() noexcept { expirations_ = 0; }

    // deadline() has passed. Returns how many datagrams to send at once, the oldest first, whatever
    // window, pacer and credit say. Arms the timer again, with backoff.
    [[nodiscard]] std::uint32_t expire(Time now, const RttEstimator& rtt) noexcept;

    // Whether the third timeout in a row has just expired (persistent congestion): the caller then
    // declares everything in flight lost and sets the window to its minimum.
    [[nodiscard]] bool is_persistent() const noexcept { return expirations_ == persistent_count; }

    [[nodiscard]] Time deadline() const noexcept { return deadline_; }

    [[nodiscard]] std::uint32_t expirations() const noexcept { return expirations_; }

    // The next timeout, with backoff.
    [[nodiscard]] Time timeout(const RttEstimator& rtt) const noexcept;

private:
    Time longest_;
    Time deadline_ = never;
    std::uint32_t expirations_ = 0;  // timeouts since a datagram was newly acknowledged
};

}  // namespace acp::datagram
