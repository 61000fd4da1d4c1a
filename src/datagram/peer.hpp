// SPDX-License-Identifier: BSD-3-Clause
// What an endpoint knows of one node it talks to, or tries to: plain data and the parts that judge it, in groups that
// belong to one affair each. And the few bytes that stay of it when it has been idle for long. Knows no socket; decides
// nothing. One thread: the endpoint's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "datagram/ack_ranges.hpp"
#include "datagram/address.hpp"
#include "datagram/congestion.hpp"
#include "datagram/credit_budget.hpp"
#include "datagram/duplicate_window.hpp"
#include "datagram/key_schedule.hpp"
#include "datagram/loss_detector.hpp"
#include "datagram/mtu_prober.hpp"
#include "datagram/pacer.hpp"
#include "datagram/probe_timer.hpp"
#include "datagram/rtt_estimator.hpp"
#include "datagram/send_credit.hpp"
#include "datagram/send_pool.hpp"
#include "datagram/sent_datagrams.hpp"
#include "datagram/timer_heap.hpp"

namespace acp::datagram {

// A connected peer that has long been idle: nothing is in flight, and nothing came out of order.
struct FoldedPeer {
    Secret secret{};
    std::uint64_t instance = 0;
    PacketNumber next_number = 0;
    PacketNumber largest_came = 0;
    Address address;
    Dsn next_dsn = 0;
    Dsn next_content = 0;  // first not yet received
    std::uint32_t smoothed_rtt_us = 0;
    std::uint16_t datagram_bytes = 0;
    std::uint16_t longest_came = 0;
    std::uint8_t unscheduled = 0;
    bool has_come = false;  // largest_came counts
};

// docs/spec/wire.md, WIRE-92: 128 bytes per idle peer, with its seat in the table.
static_assert(sizeof(FoldedPeer) <= 104);

// Both sides of a handshake: what was asked, and when it is asked again.
struct HandshakeState {
    Random16 nonce{};        // ours
    Random16 other_nonce{};  // half open: the initiator's
    Random16 cookie{};
    Time began = 0;      // first INIT sent, or received
    Time next_init = 0;  // when to send INIT again
    std::uint32_t inits = 0;
    std::uint32_t inits_due = 0;
};

// The keys of a connection. The secret is wiped when they go.
struct PeerKeys {
    SecretPointer<Secret> secret;  // nullptr before there is a connection
    DirectionKey send;
    ReceiveKeys receive;
    PacketNumber next_number = 0;  // of the next datagram sealed
};

// What is to be sent, as buffers of the endpoint's pool.
struct SendQueue {
    BufferQueue waiting;              // never sent
    BufferQueue lost;                 // to be sent again
    BufferIndex filling = no_buffer;  // the last of waiting, while frames are added to it
    std::uint32_t filling_bytes = 0;  // how long its datagram may become
    std::uint32_t held = 0;           // buffers: waiting, lost and in flight
    bool wants_room = false;          // reserve() found none
};

// How long datagrams to this peer may be, and how many it has room for.
struct PathState {
    Dsn next_dsn;
    SendCredit credit;
    std::uint8_t unscheduled = 0;  // credit it gives unasked
    MtuProber mtu;
    Dsn long_from = 0;  // content before it was promised room for datagrams of short_bytes
    std::uint32_t short_bytes = 0;  // 0: none was
    Time narrow_since = never;      // the path was cut back: when content from before came last

    // How long the datagram of the content with this number may be.
    [[nodiscard]] std::uint32_t bytes_of(Dsn dsn) const noexcept {
        const bool is_short = short_bytes != 0 && static_cast<std::int32_t>(dsn - long_from) < 0;
        return is_short ? std::min(short_bytes, mtu.current()) : mtu.current();
    }

    // The path has another length than before: what may be sent unasked is as many bytes as it was.
    void fit_allowance() noexcept {
        credit.set_allowance(allowance_of(unscheduled, mtu.least(), mtu.current()));
    }
};

// What was sent and is not acknowledged, and what tells when more may leave.
struct FlightState {
    SentDatagrams sent;
    RttEstimator rtt;
    LossDetector loss;
    ProbeTimer probe;
    std::unique_ptr<Congestion> congestion;
    Pacer pacer;
    std::uint32_t bypass = 0;     // datagrams that may leave whatever window, pace and credit say
    std::uint32_t pings_due = 0;  // of a probe timeout, beside what it sends again
    bool is_ping_due = false;
    bool is_short_due = false;  // data does not take that ping's place
    bool is_paced = false;      // waits for the pacer
    bool is_starved = false;    // found no record to note a datagram in, and has nothing in flight
};

// What came.
struct ReceiveState {
    AckRanges came;
    PacketNumber largest_came = 0;
    bool has_come = false;
    DuplicateWindow content;
    CreditShare share;
    std::uint32_t longest_came = 0;  // bytes of a datagram
};

// What is to be acknowledged, and when.
struct AckState {
    // WIRE-44: after so many datagrams, however short, an acknowledgement is due.
    static constexpr std::uint32_t every_min = 2;
    static constexpr std::uint32_t every_max = 16;

    std::uint32_t unacknowledged = 0;  // datagrams received that want it
    std::uint64_t unacknowledged_bytes = 0;
    std::uint32_t every = every_min;  // datagrams, however short
    std::uint32_t echoes_due = 0;     // acknowledgements of their own, for pings that came together
    bool is_due = false;
    bool is_left_out = false;  // of a batch, for want of room
    Time at = never;

    // Whether an acknowledgement would tell the other side something.
    [[nodiscard]] bool is_wanted() const noexcept { return unacknowledged != 0 || is_due; }
};

// Who cares for the peer, and when it was last heard.
struct PeerLife {
    std::uint32_t watchers = 0;
    Time heard = 0;  // last authentic datagram, or the connection's beginning
    Time owing_since = never;
    Time active = 0;  // last datagram that mattered, in either direction
    std::uint32_t probes_unanswered = 0;
};

struct PeerTraffic {
    std::uint64_t packets_received = 0;
    std::uint64_t retransmitted = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
};

struct Peer : Timed {
    enum class State : std::uint8_t {
        connecting,  // our INIT has not been answered
        half_open,   // we answered one; nobody has proved to have got the answer
        connected
    };

    Peer(NodeId its_node, const Settings& settings, SentPool& pool)
        : node(its_node),
          path{.next_dsn = settings.first_dsn,
               .credit = SendCredit(settings.first_dsn, 0),
               .mtu = MtuProber(settings.datagram_bytes, settings.datagram_bytes_max)},
          flight{.sent = SentDatagrams(pool),
                 .rtt = RttEstimator(settings.initial_rtt_ns),
                 .loss = {},
                 .probe = ProbeTimer(settings.peer_timeout_ns),
                 .congestion = make_congestion(settings.control, settings.datagram_bytes),
                 .pacer = {}} {}

    ~Peer() = default;

    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    // How long the datagram may be that the content behind all that waits will travel in.
    [[nodiscard]] std::uint32_t next_bytes() const noexcept {
        return path.bytes_of(path.next_dsn + queue.waiting.size());
    }

    NodeId node;
    State state = State::connecting;
    std::uint64_t instance = 0;        // of its gateway; 0: not known
    Address address;                   // where datagrams go to: one of the book, or `shown`
    Address shown;                     // not in the book: whence a cookie came back; family 0: none
    std::uint32_t probes_in_vain = 0;  // since something was acknowledged
    bool is_ready = false;             // in the queue of those that may have something to send
    Peer* next_ready = nullptr;        // behind it in that queue
    HandshakeState handshake;
    PeerKeys keys;
    SendQueue queue;
    PathState path;
    FlightState flight;
    ReceiveState received;
    AckState ack;
    PeerLife life;
    PeerTraffic traffic;
};

}  // namespace acp::datagram
