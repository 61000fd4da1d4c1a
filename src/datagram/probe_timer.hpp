// SPDX-License-Identifier: BSD-3-Clause
// When to send again though nothing was heard: the probe timeout of RFC 9002, section 6.2, with a backoff that ends
// at half a second (on a path known to be short, for the first second, at a few hundredths), and more datagrams per
// probe the longer nothing is heard, so that a path which loses half of what it carries still gets an answer soon.
// Knows no clock; the caller sends the probes. One thread.
// Tests: tests/unit/datagram/probe_timer_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/rtt_estimator.hpp"
#include "datagram/time.hpp"

namespace acp::datagram {

class ProbeTimer {
public:
    static constexpr Time ack_delay_max_ns = 500'000;  // what a receiver may wait before it answers
    static constexpr Time granularity_ns = 1'000'000;
    static constexpr Time timeout_max_ns = 500'000'000;
    // A path is short when a timeout without backoff is at most short_timeout_ns. A burst of loss lasts for a number of
    // datagrams: on a short path a second of patience costs more than some datagrams in vain.
    static constexpr Time short_timeout_ns = 50'000'000;
    static constexpr Time soon_timeout_ns = 5'000'000;
    // The timeout that follows so many others in a row is the last of at most soon_timeout_ns, or short_timeout_ns.
    static constexpr std::uint32_t soon_count = 24;
    static constexpr std::uint32_t short_count = 42;
    static constexpr Time timeouts_per_silence = 4;
    static constexpr std::uint32_t probes_min = 2;
    static constexpr std::uint32_t probes_max = 8;
    static constexpr std::uint32_t persistent_count = 3;

    //   peer_timeout_ns  how long a peer may be silent: no timeout is longer than a quarter of it, whatever was
    //                    measured, so that a peer that was stopped for long is found lost in time when it dies
    //                    later; 0: for ever
    explicit ProbeTimer(Time peer_timeout_ns = 0) noexcept
        : longest_(peer_timeout_ns == 0 ? never : peer_timeout_ns / timeouts_per_silence) {}

    // Something that wants an acknowledgement was sent; or heard of, while more is in flight.
    void arm(Time now, const RttEstimator& rtt) noexcept;

    void disarm() noexcept { deadline_ = never; }  // nothing is in flight

    // Anything newly acknowledged ends the backoff. To be followed by arm() or disarm().
    void on_ack() noexcept { expirations_ = 0; }

    // deadline() has come: returns how many datagrams, the oldest first, to send again at once whatever window,
    // pacing and credit say. Armed anew, with backoff.
    [[nodiscard]] std::uint32_t expire(Time now, const RttEstimator& rtt) noexcept;

    // Exactly when the third timeout in a row has just expired: all in flight is to be given up, the window to go
    // to its floor.
    [[nodiscard]] bool is_persistent() const noexcept { return expirations_ == persistent_count; }

    [[nodiscard]] Time deadline() const noexcept { return deadline_; }

    [[nodiscard]] std::uint32_t expirations() const noexcept { return expirations_; }

    [[nodiscard]] Time timeout(const RttEstimator& rtt) const noexcept;  // with backoff

private:
    Time longest_;
    Time deadline_ = never;
    std::uint32_t expirations_ = 0;  // since anything was acknowledged
};

}  // namespace acp::datagram
