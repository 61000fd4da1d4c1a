// SPDX-License-Identifier: BSD-3-Clause
// The state of one peer: plain data and the algorithms that judge it, grouped by purpose; and the
// few bytes kept of a peer that has long been idle. Knows no socket; decides nothing. One thread:
// the endpoint's.
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

// The state that is kept of a connected peer after it was idle for idle_fold. Nothing is in flight,
// and all content received is complete.
struct FoldedPeer {
    Secret secret{};
    std::uint64_t instance = 0;
    PacketNumber next_number = 0;
    PacketNumber largest_came = 0;
    Address address;
    Dsn next_dsn = 0;
    Dsn next_content = 0;  // first serial number not yet received
    std::uint32_t smoothed_rtt_us = 0;
    std::uint16_t datagram_bytes = 0;
    std::uint16_t longest_came = 0;
    std::uint8_t unscheduled = 0;
    bool has_come = false;  // largest_came is valid
};

// docs/spec/wire.md, WIRE-92: 128 bytes per idle peer, with its seat in the table.
static_assert(sizeof(FoldedPeer) <= 104);

// The state of a handshake, of either side.
struct HandshakeState {
    Random16 nonce{};        // this side's
    Random16 other_nonce{};  // half open: the nonce of the initiator
    Random16 cookie{};
    Time began = 0;               // when the first INIT was sent or received
    Time next_init = 0;           // when to send the next INIT
    std::uint32_t inits = 0;      // tries so far
    std::uint32_t inits_due = 0;  // INITs to be sent now
};

// The keys of a connection. The secret is wiped on destruction.
struct PeerKeys {
    SecretPointer<Secret> secret;  // nullptr before there is a connection
    DirectionKey send;
    ReceiveKeys receive;
    PacketNumber next_number = 0;  // number of the next datagram sealed
};

// The content to be sent, as buffers of the endpoint's pool.
struct SendQueue {
    BufferQueue waiting;              // content never sent
    BufferQueue lost;                 // content to be sent again
    BufferIndex filling = no_buffer;  // the last of waiting, while frames are added to it
    std::uint32_t filling_bytes = 0;  // the most that its datagram may become long
    std::uint32_t held = 0;           // buffers of this peer: waiting, lost and in flight
    bool wants_room = false;          // reserve() found no room
};

// The path to a peer: the length of datagrams, and the credit granted by the peer.
struct PathState {
    Dsn next_dsn;
    SendCredit credit;
    std::uint8_t unscheduled = 0;  // datagrams that the peer takes unasked
    MtuProber mtu;
    // Content before this serial number was promised room when datagrams were short_bytes long, and
    // must stay that short.
    Dsn long_from = 0;
    std::uint32_t short_bytes = 0;  // 0: there was none
    // The time of the last advance of the cumulative serial number that the peer acknowledges.
    // never: all content is acknowledged.
    Time stalled_since = never;
    std::uint32_t lost_bytes = 0;  // length of the datagram of content that was lost last

    // The longest that the datagram with this content may be.
    [[nodiscard]] std::uint32_t bytes_of(Dsn dsn) const noexcept {
        const bool is_short = short_bytes != 0 && static_cast<std::int32_t>(dsn - long_from) < 0;
        return is_short ? std::min(short_bytes, mtu.current()) : mtu.current();
    }

    // Called when content has arrived, or when the cause of the delay was the peer's silence and
    // not the path.
    void note_progress(Time now) noexcept {
        if (stalled_since != never) stalled_since = now;
    }

    // Called when the path length changed: the allowance keeps its size in bytes, so its number of
    // datagrams changes.
    void fit_allowance() noexcept {
        credit.set_allowance(allowance_of(unscheduled, mtu.least(), mtu.current()));
    }
};

// What is in flight, and the algorithms that decide when more may be sent.
struct FlightState {
    SentDatagrams sent;
    RttEstimator rtt;
    LossDetector loss;
    ProbeTimer probe;
    std::unique_ptr<Congestion> congestion;
    Pacer pacer;
    // WIRE-52: datagrams that a probe timeout may still send whatever window, pacer and credit say
    std::uint32_t probe_budget = 0;
    std::uint32_t pings_due = 0;  // pings due after a probe timeout, beside what is sent again
    bool is_ping_due = false;
    bool is_short_due = false;  // the ping due must be a short datagram; data does not replace it
    bool is_paced = false;      // waiting for the pacer
    // There is no free record for a sent datagram and nothing is in flight that would free one, so
    // a timer retries.
    bool is_starved = false;
};

// What was received.
struct ReceiveState {
    AckRanges came;                  // packet numbers
    PacketNumber largest_came = 0;   // largest packet number, ack-eliciting or not
    bool has_come = false;           // largest_came is valid
    DuplicateWindow content;         // serial numbers of content
    CreditShare share;               // credit granted to the peer
    std::uint32_t longest_came = 0;  // longest datagram received, in bytes
};

// The acknowledgements that this side has yet to send to the peer.
struct AckState {
    // WIRE-44: bounds of `every`, below.
    static constexpr std::uint32_t every_min = 2;
    static constexpr std::uint32_t every_max = 16;

    // ack-eliciting datagrams received since the last acknowledgement
    std::uint32_t unacknowledged = 0;
    std::uint64_t unacknowledged_bytes = 0;
    // the number of datagrams after which an acknowledgement is due
    std::uint32_t every = every_min;
    // Acknowledgements to be sent one by one, for pings that arrived together: each ping is a try
    // to get an answer through.
    std::uint32_t echoes_due = 0;
    bool is_due = false;
    bool is_left_out = false;  // did not fit into the last batch
    Time at = never;           // when an acknowledgement becomes due

    // Whether ack-eliciting datagrams have arrived since the last acknowledgement, or one is due.
    [[nodiscard]] bool is_wanted() const noexcept { return unacknowledged != 0 || is_due; }
};

// Signs of life of a peer, and reasons to expect them.
struct PeerLife {
    std::uint32_t watchers = 0;           // calls of watch() without unwatch()
    Time heard = 0;                       // last authentic datagram, or start of the connection
    Time owing_since = never;             // since when an answer is expected; never: none is
    Time active = 0;                      // last ack-eliciting datagram in either direction
    std::uint32_t probes_unanswered = 0;  // probe timeouts since the peer's last authentic datagram
};

struct PeerTraffic {
    std::uint64_t packets_received = 0;
    std::uint64_t retransmitted = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
};

struct Peer : Timed {
    enum class State : std::uint8_t {
        connecting,  // our INIT was not answered yet
        half_open,   // we sent a RESPONSE; no authentic data shows yet that it arrived
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
                 .congestion = make_congestion(settings.control,
                                               std::clamp(MtuProber::base_bytes,
                                                          settings.datagram_bytes,
                                                          settings.datagram_bytes_max)),
                 .pacer = {}} {}

    ~Peer() = default;

    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    // The longest that the next datagram to be filled may be: the one behind all that wait.
    [[nodiscard]] std::uint32_t next_bytes() const noexcept {
        return path.bytes_of(path.next_dsn + queue.waiting.size());
    }

    NodeId node;
    State state = State::connecting;
    std::uint64_t instance = 0;  // instance of its gateway; 0: not known
    Address address;             // destination: an address of the book, or `shown`
    Address shown;  // address not in the book from which a cookie came back; family 0: none
    std::uint32_t probes_in_vain = 0;  // probe timeouts since something was acknowledged
    bool is_ready = false;             // linked into the ReadyQueue
    Peer* next_ready = nullptr;        // the next peer in that queue
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
