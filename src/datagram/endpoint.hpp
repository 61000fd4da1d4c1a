// SPDX-License-Identifier: BSD-3-Clause
// Reliable, authenticated datagrams between the gateways of a job, as a pure state machine: no
// socket, no clock, no thread. Frames go in by reserve() and commit(), and leave as sealed
// datagrams by next_transmit(); received datagrams go in by on_datagram(), and their frames come
// out through EndpointHandler. Frames arrive exactly once, in any order. The endpoint connects to a
// peer when it first has content for it. A severed peer stays severed: it gets no answer but an
// authenticated CLOSE, by which the other side learns of it; so nothing is ever lost silently or
// resumed. Once a peer is connected nothing is allocated for it, except its next key, once in 2^22
// datagrams, and its record when it was folded for being idle. One thread calls all functions.
// Protocol: docs/spec/wire.md.
// Tests: tests/unit/datagram/endpoint_*_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/datagram_modes.hpp"
#include "base/status.hpp"
#include "datagram/address.hpp"
#include "datagram/cipher.hpp"
#include "datagram/time.hpp"

namespace acp::datagram {

using NodeId = std::uint32_t;

enum class SeverReason : std::uint8_t {
    // No authentic packet has arrived for peer_timeout, although content for the node was
    // unacknowledged or the node was watched.
    silent,
    unreachable,  // no answer to the handshake within connect_timeout on any address
    restarted,    // another instance of that gateway answered: it was restarted
    left,         // its CLOSE came: it leaves the job
    gave_up,      // its CLOSE came: it has severed this node, or has no connection with it
    told,         // sever() was called for it
    no_memory,    // no memory for its next key, or for its record
    mismatched,   // its gateway uses another cipher or security mode
    own_socket,   // sever() was called: this process closed the gateway's socket
    // The node answers, but has acknowledged no further content for peer_timeout: the path carries
    // no datagrams of that length, whole or in fragments.
    stalled
};

// Whether the node itself has ended the connection and notified this gateway by a CLOSE.
[[nodiscard]] constexpr bool is_told_by_it(SeverReason reason) noexcept {
    return reason == SeverReason::left || reason == SeverReason::gave_up;
}

struct Settings {
    std::uint64_t job_id = 0;
    NodeId node = 0;                      // this node
    NodeId nodes = 1;                     // number of nodes in the job
    std::array<std::byte, 32> job_key{};  // the endpoint keeps only keys derived from it
    base::Security security = base::Security::encrypt;
    base::CongestionAlgorithm control = base::CongestionAlgorithm::delay;
    // UDP payload that every path must carry; all peers begin with it.
    std::uint32_t datagram_bytes = 1472;
    // The longest UDP payload to probe for; <= 65507. Equal to datagram_bytes: no probing.
    std::uint32_t datagram_bytes_max = 8972;
    // Size of the socket's receive buffer as the kernel accounts it. Credit for the peers is taken
    // from it.
    std::uint64_t receive_bytes = 1U << 23;
    // The most datagrams that may wait or be unacknowledged, all peers together.
    std::uint32_t send_buffers = 8192;
    // The most half-open handshakes: those whose initiator has not confirmed our RESPONSE yet.
    std::uint32_t half_open_max = 1024;
    // A key seals 2^key_packets_log2 datagrams; tests use a smaller value.
    std::uint32_t key_packets_log2 = 22;
    // The first serial number of content; tests choose one that soon wraps around.
    std::uint32_t first_dsn = 0;
    // After so long without traffic a peer is folded into 128 bytes; 0: never.
    Time idle_fold_ns = 60'000'000'000;
    Time initial_rtt_ns = 10'000'000;  // assumed before the first RTT sample
    Time connect_timeout_ns = 5'000'000'000;
    Time peer_timeout_ns = 10'000'000'000;  // silence after which a peer is severed; 0: never
};

// The addresses of the nodes. The endpoint asks when it first needs a node; it tries up to
// addresses_max per node in turn.
class AddressBook {
public:
    static constexpr std::size_t addresses_max = 8;
    AddressBook() = default;
    virtual ~AddressBook() = default;
    AddressBook(const AddressBook&) = delete;
    AddressBook& operator=(const AddressBook&) = delete;
    [[nodiscard]] virtual std::span<const Address> addresses_of(NodeId node) const noexcept = 0;
};

// The endpoint's user. Its functions are called from within on_datagram(), on_timer() and
// next_transmit(), and from no others. They may call reserve(), commit(), watch(), unwatch() and
// sever().
class EndpointHandler {
public:
    EndpointHandler() = default;
    virtual ~EndpointHandler() = default;
    EndpointHandler(const EndpointHandler&) = delete;
    EndpointHandler& operator=(const EndpointHandler&) = delete;

    // Delivers the frames of one datagram, back to back as they were committed. They are valid
    // during the call.
    virtual void on_frames(NodeId from, Bytes frames) = 0;

    // There may be room again for a node for which reserve() found none.
    virtual void on_room(NodeId node) = 0;

    // Asks whether to keep a connected node that was silent for peer_timeout and would be severed
    // now. The handler returns true if it knows by other means that the node lives; it is asked
    // again after another peer_timeout.
    [[nodiscard]] virtual bool may_be_waited_for(NodeId /*node*/) { return false; }

    // The node was severed. Called once per node; it stays severed. Content that was not
    // acknowledged may or may not have arrived.
    virtual void on_severed(NodeId node, SeverReason reason) = 0;
};

// What next_transmit() wrote: `count` datagrams of `segment_bytes` each (the last may be shorter),
// back to back.
struct Transmit {
    Address to;
    std::uint32_t bytes = 0;  // of all datagrams; 0: there is nothing to send now
    std::uint32_t segment_bytes = 0;
    std::uint32_t count = 0;
    bool may_fragment = false;  // else the "don't fragment" flag must be set, as for probes
    bool has_content = false;   // more than acknowledgements, handshakes and probes
};

// The counters cover all peers, severed ones included, since the endpoint was made.
// datagram/counters.hpp: traffic, and one counter for each reason to drop a datagram.
struct EndpointCounters;
struct PeerStats;  // datagram/counters.hpp: RTT, window, bytes in flight of one peer
struct Features;   // datagram/handshake_packets.hpp: security mode and cipher

class Endpoint {
public:
    // Makes an endpoint. All arguments but `settings` must outlive it.
    // Errors: argument (names the setting that is out of range), memory.
    static base::Result<std::unique_ptr<Endpoint>> create(const Settings& settings,
                                                          CipherSuite& suite,
                                                          Entropy& entropy,
                                                          const AddressBook& book,
                                                          EndpointHandler& handler);
    virtual ~Endpoint() = default;
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    // Returns room for one frame of exactly `bytes` in the datagram that is being filled for a
    // node. Returns nullptr if there is none now (on_room() will be called) or if the node is
    // severed. The room is valid until commit() or the next reserve() for this node; bytes that are
    // not committed are not sent. Throws std::bad_alloc if there is no memory for the node's
    // record; then on_room() is not called.
    //   bytes  1 .. frame_bytes_max(node), its value now or when it was last asked. If the path has
    //          become shorter since, the datagram is sent in fragments
    virtual std::byte* reserve(NodeId node, std::uint32_t bytes) = 0;
    virtual void commit(NodeId node, std::uint32_t bytes) = 0;  // <= reserved

    // Like reserve(), but returns all the room left in the datagram, at least `bytes_min`, for
    // several frames side by side. Empty where reserve() returns nullptr.
    virtual MutableBytes reserve_rest(NodeId node, std::uint32_t bytes_min) = 0;

    // Commits a frame whose last bytes lie elsewhere, which spares copying them. `bytes` were
    // written; the room reserved must have sufficed for the tail too. The tail is read each time
    // the datagram is sent. It must stay readable as long as the endpoint lives, and unchanged
    // until the other side has no more use for the frame.
    //   tail.size()  sizeof(void*) .. 65535
    virtual void commit_with_tail(NodeId node, std::uint32_t bytes, Bytes tail) = 0;

    // The longest frame that a datagram to this node carries now. It grows when path probing
    // succeeds.
    [[nodiscard]] virtual std::uint32_t frame_bytes_max(NodeId node) const noexcept = 0;

    // Watches a node: as long as watch() was called more often than unwatch(), the node is pinged
    // when it is silent, and severed when it stays silent.
    virtual void watch(NodeId node) = 0;
    virtual void unwatch(NodeId node) = 0;

    // Severs a node. From now on is_severed() is true and reserve() returns nothing; the next call
    // that may call the handler notifies it.
    //   reason  passed to the handler: told, no_memory, own_socket
    virtual void sever(NodeId node, SeverReason reason) = 0;

    void sever(NodeId node) { sever(node, SeverReason::told); }

    [[nodiscard]] virtual bool is_severed(NodeId node) const noexcept = 0;

    // Makes next_transmit() send a CLOSE to every connected peer: this gateway leaves the job.
    // Nothing else is sent from then on.
    virtual void close() = 0;

    // Takes a received datagram, which is decrypted in place. Any bytes are allowed: a datagram
    // that is not accepted is counted under the reason.
    //   from  its source address
    virtual void on_datagram(Time now, const Address& from, MutableBytes datagram) = 0;

    // Does what is due. To be called when deadline() has passed; an early call is harmless.
    virtual void on_timer(Time now) = 0;
    [[nodiscard]] virtual Time deadline() const noexcept = 0;  // never: nothing is due

    // Seals datagrams for one destination that may be sent now. To be called until it returns
    // nothing. Datagrams that are only half filled are sent too, so call it when a batch of work is
    // done.
    //   into  at least 65536 bytes
    virtual Transmit next_transmit(Time now, MutableBytes into) = 0;

    // Whether all content committed has been acknowledged.
    [[nodiscard]] virtual bool is_quiet() const noexcept = 0;
    [[nodiscard]] virtual std::uint32_t free_buffers() const noexcept = 0;
    [[nodiscard]] virtual const EndpointCounters& counters() const noexcept = 0;

    // The features that all gateways must share; and those of the last gateway that differed (all
    // 0: none did).
    [[nodiscard]] virtual Features features() const noexcept = 0;
    [[nodiscard]] virtual Features differing_features() const noexcept = 0;

    // The length of the datagram of content that did not arrive at the node that was severed last
    // for that reason (SeverReason::stalled); 0: none was.
    [[nodiscard]] virtual std::uint32_t stalled_bytes() const noexcept = 0;

    // Writes the state of one peer. Returns false if this endpoint has exchanged no message with
    // the node.
    [[nodiscard]] virtual bool stats(NodeId node, PeerStats& stats) const noexcept = 0;

protected:
    Endpoint() = default;
};

}  // namespace acp::datagram
