// SPDX-License-Identifier: BSD-3-Clause
// Reliable, authenticated datagrams between the gateways of a job, as a pure machine: no socket, no clock, no
// thread. Frames of bytes go in (reserve, commit), sealed datagrams come out (next_transmit); datagrams go in
// (on_datagram), frames come out (EndpointHandler). Frames arrive exactly once, in any order. A peer is
// connected to when something is first owed to it. A peer once severed stays severed: it answers nothing but
// an authenticated CLOSE, so that the other side learns of it; nothing is ever silently lost or resumed.
// No allocation after a peer is connected but for its next key, once in 2^22 datagrams, and to wake one that was
// idle for a minute. One thread. Protocol: docs/spec/wire.md.
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
    silent,       // no valid packet for peer_timeout although something was owed or watched
    unreachable,  // no answer to the handshake within connect_timeout on any of its addresses
    restarted,    // another instance of that gateway answered
    closed,       // it left the job, or has severed us
    told,         // sever() was called for it
    no_memory,    // for its next key, or for anything to be kept of it
    mismatched,   // its gateway has another cipher or another kind of security
    own_socket,   // sever() was called for it: this gateway's socket was closed by its process
    narrowed      // the path carries no more what was sent for it as it was before, in no way
};

struct Settings {
    std::uint64_t job_id = 0;
    NodeId node = 0;                      // this one
    NodeId nodes = 1;                     // of the job
    std::array<std::byte, 32> job_key{};  // the endpoint keeps what it derived, not this
    base::Security security = base::Security::encrypt;
    base::CongestionAlgorithm control = base::CongestionAlgorithm::delay;
    std::uint32_t datagram_bytes = 1472;  // UDP payload to start with, and what every path carries
    std::uint32_t datagram_bytes_max = 8972;  // probed for; <= 65507; = datagram_bytes: no probing
    std::uint64_t receive_bytes =
        1U << 23;  // of the socket's buffer, in the kernel's accounting: credit is cut from it
    std::uint32_t send_buffers =
        8192;  // datagrams unacknowledged or waiting, of all peers together
    std::uint32_t half_open_max =
        1024;  // answered handshakes whose initiator has not been heard again
    std::uint32_t key_packets_log2 = 22;  // a key seals 2^this datagrams; less only in tests
    std::uint32_t first_dsn = 0;          // serial number to begin with: tests let it wrap
    Time idle_fold_ns = 60'000'000'000;   // a peer silent so long keeps 128 bytes; 0: never
    Time initial_rtt_ns = 10'000'000;
    Time connect_timeout_ns = 5'000'000'000;
    Time peer_timeout_ns = 10'000'000'000;  // 0: never
};

// Where the nodes are; asked when one is first needed. Up to addresses_max per node, tried in turn.
class AddressBook {
public:
    static constexpr std::size_t addresses_max = 8;
    AddressBook() = default;
    virtual ~AddressBook() = default;
    AddressBook(const AddressBook&) = delete;
    AddressBook& operator=(const AddressBook&) = delete;
    [[nodiscard]] virtual std::span<const Address> addresses_of(NodeId node) const noexcept = 0;
};

// Called from inside on_datagram, on_timer and next_transmit, never from other functions. May call reserve, commit,
// watch, unwatch and sever.
class EndpointHandler {
public:
    EndpointHandler() = default;
    virtual ~EndpointHandler() = default;
    EndpointHandler(const EndpointHandler&) = delete;
    EndpointHandler& operator=(const EndpointHandler&) = delete;

    // The frames of one datagram, back to back as they were committed; valid during the call.
    virtual void on_frames(NodeId from, Bytes frames) = 0;

    // reserve() for this node, which found no room, may find some now.
    virtual void on_room(NodeId node) = 0;

    // A connected node would be given up now, for it has been silent for peer_timeout. True: the handler knows by other means
    // that it lives, and is asked again after as long a time.
    [[nodiscard]] virtual bool may_be_waited_for(NodeId /*node*/) { return false; }

    // Once per node, for good. What was committed and not yet acknowledged may or may not have arrived.
    virtual void on_severed(NodeId node, SeverReason reason) = 0;
};

// What next_transmit wrote: `count` datagrams of `segment_bytes` each (the last may be shorter), back to back.
struct Transmit {
    Address to;
    std::uint32_t bytes = 0;  // of all; 0: nothing to send now
    std::uint32_t segment_bytes = 0;
    std::uint32_t count = 0;
    bool may_fragment = false;  // else the kernel must not (probes)
    bool has_content = false;   // not only acknowledgements, handshakes and probes
};

// Since the endpoint was made, all peers together, those severed included.
struct
    EndpointCounters;  // datagram/counters.hpp: a named counter for every reason to drop, and traffic
struct PeerStats;      // datagram/counters.hpp: rtt, window, in flight, retransmissions of one peer
struct Features;       // datagram/handshake_packets.hpp: security and cipher

class Endpoint {
public:
    // Errors: argument (a setting out of range, named), memory.
    static base::Result<std::unique_ptr<Endpoint>> create(const Settings& settings,
                                                          CipherSuite& suite,
                                                          Entropy& entropy,
                                                          const AddressBook& book,
                                                          EndpointHandler& handler);
    virtual ~Endpoint() = default;
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    // Room for one frame of exactly `bytes` in the datagram being filled for a node; nullptr when there is none
    // now (on_room will tell) or the node is severed. Valid until commit, or forgotten by the next reserve. Throws
    // std::bad_alloc where there is no memory to keep anything of the node; nobody tells when there is.
    //   bytes  1 .. frame_bytes_max(node), now or when it was last asked: longer than the path is by now, the
    //          datagram goes in fragments
    virtual std::byte* reserve(NodeId node, std::uint32_t bytes) = 0;
    virtual void commit(NodeId node, std::uint32_t bytes) = 0;  // <= reserved

    // reserve() of all that is left in the datagram that has room for a frame of `bytes_min`, for several frames side by
    // side. Empty where reserve() gives nullptr.
    virtual MutableBytes reserve_rest(NodeId node, std::uint32_t bytes_min) = 0;

    // commit() of a frame that ends in bytes which lie elsewhere: `bytes` of it were written, and reserved was room for
    // all. The tail is read whenever the datagram is sent, until it is acknowledged: it must stay readable as long as the
    // endpoint lives, and keep what it holds until the other side has no use for the frame any more. It saves a
    // copy.
    //   tail.size()  sizeof(void*) .. 65535
    virtual void commit_with_tail(NodeId node, std::uint32_t bytes, Bytes tail) = 0;

    // The longest frame a datagram to this node carries now; grows when a longer path was found.
    [[nodiscard]] virtual std::uint32_t frame_bytes_max(NodeId node) const noexcept = 0;

    // As often as unwatch() was not called: probe the node when it is silent, and sever it when it stays so.
    virtual void watch(NodeId node) = 0;
    virtual void unwatch(NodeId node) = 0;

    // At once: is_severed() holds and reserve() gives nothing. The handler hears of it in the next call.
    //   reason  for the handler: told, no_memory
    virtual void sever(NodeId node, SeverReason reason) = 0;

    void sever(NodeId node) { sever(node, SeverReason::told); }

    [[nodiscard]] virtual bool is_severed(NodeId node) const noexcept = 0;

    // Tells every connected peer that this gateway leaves; next_transmit sends it.
    virtual void close() = 0;

    // A datagram as it came; opened in place. Whatever it holds: it is taken, or counted under the name of what
    // was wrong with it.
    virtual void on_datagram(Time now, const Address& from, MutableBytes datagram) = 0;

    // To be called when deadline() has come; earlier is harmless.
    virtual void on_timer(Time now) = 0;
    [[nodiscard]] virtual Time deadline() const noexcept = 0;  // never: nothing to wait for

    // Seals what may be sent now, for one destination, into `into` (at least 65536 bytes). To be called until it
    // returns nothing; half-filled datagrams are sent, so call it when a batch of work is done.
    virtual Transmit next_transmit(Time now, MutableBytes into) = 0;

    [[nodiscard]] virtual bool is_quiet()
        const noexcept = 0;  // nothing committed is unacknowledged
    [[nodiscard]] virtual std::uint32_t free_buffers() const noexcept = 0;
    [[nodiscard]] virtual const EndpointCounters& counters() const noexcept = 0;

    // What another gateway must do as this one does; and what the last one did that differed (all 0: none did).
    [[nodiscard]] virtual Features features() const noexcept = 0;
    [[nodiscard]] virtual Features differing_features() const noexcept = 0;

    [[nodiscard]] virtual bool stats(NodeId node,
                                     PeerStats& stats) const noexcept = 0;  // false: never met

protected:
    Endpoint() = default;
};

}  // namespace acp::datagram
