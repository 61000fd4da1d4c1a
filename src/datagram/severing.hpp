// SPDX-License-Identifier: BSD-3-Clause
// Severs nodes for good, and makes both gateways agree on it: a gateway that has severed a node
// answers all data from it with an authenticated CLOSE, upon which the other side severs too.
// Answers are few and short, so that they cannot be used for reflection attacks. A node is marked
// as severed at once; tell_news() deletes its record and notifies the handler later, so that no
// peer vanishes while a function uses it. One thread.
// Tests: tests/unit/datagram/endpoint_life_test.cpp, endpoint_bad_handshake_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "datagram/answer_queue.hpp"
#include "datagram/close_allowance.hpp"
#include "datagram/counters.hpp"
#include "datagram/credentials.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"
#include "datagram/peer_addresses.hpp"
#include "datagram/peers.hpp"
#include "datagram/send_buffers.hpp"

namespace acp::datagram {

class Severing {
public:
    // The parts it calls. All must outlive it.
    struct Parts {
        Credentials& credentials;
        AnswerQueue& answers;
        const PeerAddresses& addresses;
        Peers& peers;
        SendBuffers& buffers;
        EndpointCounters& counters;
    };

    // Throws std::bad_alloc.
    explicit Severing(const Parts& parts);

    // Severs a node: marks it at once; tell_news() does the rest. Does nothing if it is severed
    // already.
    void sever(NodeId node, SeverReason reason);

    // WIRE-95: answers an INIT with other features than ours, and severs the node unless it is
    // severed already.
    void sever_mismatched(const InitPacket& init, const Address& from);

    // WIRE-98: severs a peer that answers but gets no content, and notes how long that is.
    void sever_stalled(const Peer& peer);

    // Processes a received CLOSE.
    void on_close(const OuterHeader& outer, Bytes datagram);

    // WIRE-80: sends a CLOSE unasked, or in answer to a handshake message with a valid MAC: one for
    // each such message, so that it costs its sender no less.
    //   other_instance  instance of the node as known here
    void send_close(const Address& to, NodeId node, std::uint64_t other_instance) noexcept;

    // WIRE-82: sends a CLOSE in answer to unauthenticated data, within CloseAllowance.
    void send_close_for_data(const Address& to, const OuterHeader& data, Time now) noexcept;

    // Begins to leave: transmit_farewell() will send every connected node a CLOSE.
    void close() noexcept { is_closing_ = true; }

    [[nodiscard]] bool is_closing() const noexcept { return is_closing_; }

    // WIRE-84: returns one CLOSE for each connected node in turn, then nothing.
    [[nodiscard]] Transmit transmit_farewell(MutableBytes into) noexcept;

    [[nodiscard]] bool is_farewell_sent() const noexcept;

    [[nodiscard]] bool has_news() const noexcept { return !news_.empty() || has_more_news_; }

    // Deletes the records of severed nodes and notifies the handler of each, once.
    void tell_news(EndpointHandler& handler) {
        if (has_news()) tell_all(handler);
    }

    // The features of the last node that differed (all 0: none did).
    [[nodiscard]] const Features& differing_features() const noexcept { return differing_; }

    // The length of the content of the last node that stalled (0: none did).
    [[nodiscard]] std::uint32_t stalled_bytes() const noexcept { return stalled_bytes_; }

private:
    void tell_all(EndpointHandler& handler);
    void tell(NodeId node, EndpointHandler& handler);
    [[nodiscard]] ClosePacket close_packet(NodeId node,
                                           std::uint64_t other_instance,
                                           PacketNumber number) const noexcept;
    void answer(const Address& to, ClosePacket& close) noexcept;

    Parts parts_;
    CloseAllowance closes_;
    std::vector<NodeId> news_;    // severed nodes that were not yet reported to the handler
    bool has_more_news_ = false;  // there are more for which news_ found no memory
    bool is_closing_ = false;
    NodeId farewell_next_ = 0;  // next node that transmit_farewell() looks at
    Features differing_;
    std::uint32_t stalled_bytes_ = 0;
};

}  // namespace acp::datagram
