// SPDX-License-Identifier: BSD-3-Clause
// When a peer must be looked at although nothing came from it: the deadline of each reason there is, and one alarm per
// peer that rings not after the earliest of them. Reads peers and decides nothing: what an alarm means is told by the
// deadlines once more, when it rings. One thread. Tests: tests/unit/datagram/peer_timers_test.cpp.
#pragma once

#include <cstddef>

#include "datagram/endpoint.hpp"
#include "datagram/peer.hpp"
#include "datagram/timer_heap.hpp"

namespace acp::datagram {

class PeerTimers {
public:
    static constexpr Time ping_after_ns = 1'000'000'000;  // WIRE-85
    // An alarm so late shows that the process was stopped.
    static constexpr Time stopped_after_ns = 1'000'000'000;
    static constexpr Time starved_retry_ns = 1'000'000;

    //   settings  outlive it
    explicit PeerTimers(const Settings& settings) : settings_(settings) {}

    // Makes room for the alarms of so many peers. Throws std::bad_alloc.
    void reserve(std::size_t peers) { alarms_.reserve(peers); }

    // Sets the alarm of a peer as its deadlines stand. It never rings in a call of ring() with the same `now`, so
    // that whoever looks after all that rang comes to an end.
    void arm(Peer& peer, Time now) noexcept;

    void remove(Peer& peer) noexcept { alarms_.remove(peer); }

    [[nodiscard]] Time next() const noexcept { return alarms_.next(); }

    // A peer whose alarm has come, which has none from then on; nullptr: no alarm is due.
    [[nodiscard]] Peer* ring(Time now) noexcept { return alarms_.ring(now); }

    // WIRE-87: to be told of the time before alarms ring. When they are so late that the process must have been
    // stopped, silence counts from now on: it has not listened either.
    void note_time(Time now) noexcept;

    [[nodiscard]] Time connect_deadline(const Peer& peer) const noexcept;    // WIRE-86
    [[nodiscard]] Time half_open_deadline(const Peer& peer) const noexcept;  // WIRE-19
    [[nodiscard]] Time silence_deadline(const Peer& peer) const noexcept;    // WIRE-87
    [[nodiscard]] Time narrow_deadline(const Peer& peer) const noexcept;     // WIRE-77
    [[nodiscard]] static Time ping_deadline(const Peer& peer) noexcept;      // WIRE-85
    [[nodiscard]] Time fold_deadline(const Peer& peer) const noexcept;       // WIRE-90

private:
    [[nodiscard]] Time deadline_of(const Peer& peer, Time now) const noexcept;

    const Settings& settings_;
    TimerHeap<Peer> alarms_;
    Time resumed_ = 0;  // after the process had been stopped
};

}  // namespace acp::datagram
