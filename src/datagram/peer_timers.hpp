// SPDX-License-Identifier: BSD-3-Clause
// The deadlines of peers: one function for each reason to act on a peer from which nothing came,
// and one alarm per peer that rings no later than the earliest of them. Only reads peers; when an
// alarm rings, the caller asks the deadlines again what is due. One thread.
// Tests: tests/unit/datagram/peer_timers_test.cpp.
#pragma once

#include <cstddef>

#include "datagram/endpoint.hpp"
#include "datagram/peer.hpp"
#include "datagram/timer_heap.hpp"

namespace acp::datagram {

class PeerTimers {
public:
    static constexpr Time ping_after_ns = 1'000'000'000;  // WIRE-85
    // An alarm that rings so late shows that the process was stopped.
    static constexpr Time stopped_after_ns = 1'000'000'000;
    // Pause before a starved peer is tried again.
    static constexpr Time starved_retry_ns = 1'000'000;

    //   settings  must outlive it
    explicit PeerTimers(const Settings& settings) : settings_(settings) {}

    // Makes room for the alarms of this many peers. Throws std::bad_alloc.
    void reserve(std::size_t peers) { alarms_.reserve(peers); }

    // Sets the alarm of a peer from its deadlines. The alarm never rings in a call of ring() with
    // the same `now`, so a loop over all alarms that are due terminates.
    void arm(Peer& peer, Time now) noexcept;

    void remove(Peer& peer) noexcept { alarms_.remove(peer); }

    [[nodiscard]] Time next() const noexcept { return alarms_.next(); }

    // Returns a peer whose alarm is due and removes the alarm; nullptr if none is due.
    [[nodiscard]] Peer* ring(Time now) noexcept { return alarms_.ring(now); }

    // WIRE-87: call it with the time before alarms ring. If they are later than stopped_after_ns,
    // this process was stopped, and answers of peers may wait in the socket: silence counts from
    // now on.
    void note_time(Time now) noexcept;

    // The longest silence of a running peer that has unacknowledged content; probes ask it more
    // often.
    [[nodiscard]] Time gap_max() const noexcept { return settings_.peer_timeout_ns / 2; }

    [[nodiscard]] Time connect_deadline(const Peer& peer) const noexcept;    // WIRE-86
    [[nodiscard]] Time half_open_deadline(const Peer& peer) const noexcept;  // WIRE-19
    [[nodiscard]] Time silence_deadline(const Peer& peer) const noexcept;    // WIRE-87
    [[nodiscard]] Time stall_deadline(const Peer& peer) const noexcept;      // WIRE-98
    [[nodiscard]] static Time ping_deadline(const Peer& peer) noexcept;      // WIRE-85
    [[nodiscard]] Time fold_deadline(const Peer& peer) const noexcept;       // WIRE-90

private:
    [[nodiscard]] Time deadline_of(const Peer& peer, Time now) const noexcept;

    const Settings& settings_;
    TimerHeap<Peer> alarms_;
    // When the process last ran on after being stopped; silence counts from here.
    Time resumed_ = 0;
};

}  // namespace acp::datagram
