// SPDX-License-Identifier: BSD-3-Clause
// The counters of an endpoint: its traffic, and one counter for each reason to drop a datagram.
// Counters never decrease. Written and read by the endpoint's thread only.
// Tests: tests/unit/datagram/endpoint_bad_input_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace acp::datagram {

struct EndpointCounters {
    // Traffic.
    std::uint64_t datagrams_sent = 0;  // all that next_transmit() returned
    std::uint64_t bytes_sent = 0;
    std::uint64_t datagrams_received = 0;  // all that on_datagram() was given
    std::uint64_t bytes_received = 0;
    std::uint64_t delivered = 0;         // datagrams whose frames were given to the handler
    std::uint64_t retransmitted = 0;     // content sent again, under a new packet number
    std::uint64_t acknowledgements = 0;  // datagrams sent that carry only acknowledgements
    std::uint64_t probes = 0;            // sent after a probe timeout
    std::uint64_t pings = 0;             // sent to ask for an acknowledgement
    std::uint64_t path_probes = 0;       // path MTU probes sent
    std::uint64_t path_fallbacks = 0;    // path MTU black holes detected
    std::uint64_t key_changes = 0;       // key updates of a sending direction
    std::uint64_t connections = 0;       // handshakes completed
    std::uint64_t severed = 0;           // nodes severed
    std::uint64_t folded = 0;            // idle peers reduced to a FoldedPeer
    std::uint64_t inits_sent = 0;
    std::uint64_t cookies_sent = 0;
    std::uint64_t responses_sent = 0;
    std::uint64_t closes_sent = 0;
    std::uint64_t no_buffer = 0;  // reserve() found the pool empty or the peer's share used up
    std::uint64_t no_memory = 0;  // datagrams dropped for lack of memory; they are sent again

    // Datagrams dropped before they were authenticated, in the order of the checks.
    std::uint64_t short_header = 0;
    std::uint64_t wrong_version = 0;
    std::uint64_t unknown_type = 0;
    std::uint64_t wrong_length = 0;    // wrong for its type
    std::uint64_t too_long = 0;        // longer than the receive buffer, as a path probe may be
    std::uint64_t unknown_node = 0;    // the source is no node of this job, or this node itself
    std::uint64_t from_severed = 0;    // data of a severed node; may be answered
    std::uint64_t not_connected = 0;   // data of a node that is not connected; may be answered
    std::uint64_t wrong_epoch = 0;     // its key is gone, too far ahead, or may not be derived yet
    std::uint64_t replayed = 0;        // packet number seen before, or below the window
    std::uint64_t wrong_tag = 0;       // the AEAD tag does not match
    std::uint64_t wrong_mac = 0;       // the MAC of a handshake message or CLOSE does not match
    std::uint64_t wrong_job = 0;       // handshake message of another job
    std::uint64_t wrong_target = 0;    // addressed to another node
    std::uint64_t wrong_features = 0;  // security mode or cipher differ between the two nodes
    std::uint64_t wrong_source = 0;    // from an address that is not the node's in the book
    std::uint64_t weak_key = 0;        // no secret can be agreed on with that public key
    std::uint64_t stale_cookie = 0;    // the cookie is wrong or too old
    std::uint64_t init_crossed = 0;    // INIT crossed ours, which the other side will answer
    std::uint64_t init_severed = 0;    // INIT of a severed node; answered by a CLOSE
    std::uint64_t response_severed = 0;     // RESPONSE of a severed node; answered by a CLOSE
    std::uint64_t init_repeated = 0;        // INIT of a node that is connected or half open
    std::uint64_t half_open_full = 0;       // INIT ignored: too many handshakes are half open
    std::uint64_t unexpected_cookie = 0;    // COOKIE that answers no INIT of ours
    std::uint64_t unexpected_response = 0;  // RESPONSE that answers no INIT of ours
    std::uint64_t stale_close = 0;          // CLOSE of or for another instance, or out of date
    std::uint64_t answers_full = 0;         // an answer was not sent: queue full, or no allowance

    // Authenticated datagrams that violate the protocol: the other gateway is broken.
    std::uint64_t malformed = 0;  // lengths inside do not add up
    std::uint64_t unknown_frame = 0;
    std::uint64_t beyond_window = 0;        // serial number more than a window ahead
    std::uint64_t unsent_acknowledged = 0;  // acknowledges a packet or serial number never used

    // Authenticated and correct, but received before.
    std::uint64_t duplicates = 0;  // content that was delivered before
};

struct CounterName {
    const char* name;
    std::uint64_t EndpointCounters::*member;
};

// The names of all counters, in the order above.
inline constexpr std::array counter_names{
    CounterName{"datagrams_sent", &EndpointCounters::datagrams_sent},
    CounterName{"bytes_sent", &EndpointCounters::bytes_sent},
    CounterName{"datagrams_received", &EndpointCounters::datagrams_received},
    CounterName{"bytes_received", &EndpointCounters::bytes_received},
    CounterName{"delivered", &EndpointCounters::delivered},
    CounterName{"retransmitted", &EndpointCounters::retransmitted},
    CounterName{"acknowledgements", &EndpointCounters::acknowledgements},
    CounterName{"probes", &EndpointCounters::probes},
    CounterName{"pings", &EndpointCounters::pings},
    CounterName{"path_probes", &EndpointCounters::path_probes},
    CounterName{"path_fallbacks", &EndpointCounters::path_fallbacks},
    CounterName{"key_changes", &EndpointCounters::key_changes},
    CounterName{"connections", &EndpointCounters::connections},
    CounterName{"severed", &EndpointCounters::severed},
    CounterName{"folded", &EndpointCounters::folded},
    CounterName{"inits_sent", &EndpointCounters::inits_sent},
    CounterName{"cookies_sent", &EndpointCounters::cookies_sent},
    CounterName{"responses_sent", &EndpointCounters::responses_sent},
    CounterName{"closes_sent", &EndpointCounters::closes_sent},
    CounterName{"no_buffer", &EndpointCounters::no_buffer},
    CounterName{"no_memory", &EndpointCounters::no_memory},
    CounterName{"short_header", &EndpointCounters::short_header},
    CounterName{"wrong_version", &EndpointCounters::wrong_version},
    CounterName{"unknown_type", &EndpointCounters::unknown_type},
    CounterName{"wrong_length", &EndpointCounters::wrong_length},
    CounterName{"too_long", &EndpointCounters::too_long},
    CounterName{"unknown_node", &EndpointCounters::unknown_node},
    CounterName{"from_severed", &EndpointCounters::from_severed},
    CounterName{"not_connected", &EndpointCounters::not_connected},
    CounterName{"wrong_epoch", &EndpointCounters::wrong_epoch},
    CounterName{"replayed", &EndpointCounters::replayed},
    CounterName{"wrong_tag", &EndpointCounters::wrong_tag},
    CounterName{"wrong_mac", &EndpointCounters::wrong_mac},
    CounterName{"wrong_job", &EndpointCounters::wrong_job},
    CounterName{"wrong_target", &EndpointCounters::wrong_target},
    CounterName{"wrong_features", &EndpointCounters::wrong_features},
    CounterName{"wrong_source", &EndpointCounters::wrong_source},
    CounterName{"weak_key", &EndpointCounters::weak_key},
    CounterName{"stale_cookie", &EndpointCounters::stale_cookie},
    CounterName{"init_crossed", &EndpointCounters::init_crossed},
    CounterName{"init_severed", &EndpointCounters::init_severed},
    CounterName{"response_severed", &EndpointCounters::response_severed},
    CounterName{"init_repeated", &EndpointCounters::init_repeated},
    CounterName{"half_open_full", &EndpointCounters::half_open_full},
    CounterName{"unexpected_cookie", &EndpointCounters::unexpected_cookie},
    CounterName{"unexpected_response", &EndpointCounters::unexpected_response},
    CounterName{"stale_close", &EndpointCounters::stale_close},
    CounterName{"answers_full", &EndpointCounters::answers_full},
    CounterName{"malformed", &EndpointCounters::malformed},
    CounterName{"unknown_frame", &EndpointCounters::unknown_frame},
    CounterName{"beyond_window", &EndpointCounters::beyond_window},
    CounterName{"unsent_acknowledged", &EndpointCounters::unsent_acknowledged},
    CounterName{"duplicates", &EndpointCounters::duplicates},
};

static_assert(counter_names.size() * sizeof(std::uint64_t) == sizeof(EndpointCounters),
              "every counter has a name");

// The state of one peer at the time of the call.
struct PeerStats {
    bool is_connected = false;
    bool is_folded = false;
    bool is_severed = false;
    std::uint32_t datagram_bytes = 0;   // longest datagram that its path carries
    std::uint64_t smoothed_rtt_ns = 0;  // 0: not measured yet
    std::uint64_t minimum_rtt_ns = 0;
    std::uint64_t window_bytes = 0;  // congestion window
    std::uint32_t credit = 0;        // new datagrams that may be sent now
    std::uint64_t in_flight_bytes = 0;
    std::uint32_t buffers_held = 0;  // datagrams waiting or unacknowledged
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t retransmitted = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
};

}  // namespace acp::datagram
