// SPDX-License-Identifier: BSD-3-Clause
// Nodes given up for good, and how two gateways come to agree on it: whoever has severed a node answers whatever it
// still sends with an authenticated CLOSE, which severs at the other end. Answers are few and short, so that nobody can
// use them against others. A severed node is marked at once; its peer is taken apart, and the handler told, in
// tell_news(), so that no function finds a peer gone halfway. One thread.
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
    // What it works with. All outlive it.
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

    // Gives a node up: marked at once; tell_news() does the rest. Nothing when it is severed already.
    void sever(NodeId node, SeverReason reason);

    // WIRE-95: the node asked with other features than ours: answers it, and severs it unless it is severed already.
    void sever_mismatched(const InitPacket& init, const Address& from);

    // A CLOSE came.
    void on_close(const OuterHeader& outer, Bytes datagram);

    // WIRE-80: a CLOSE in answer to what passed its MAC, or unasked: once for each such question, which cost whoever sent
    // it no less.
    //   other_instance  of the node, as it is known here
    void send_close(const Address& to, NodeId node, std::uint64_t other_instance) noexcept;

    // WIRE-82: a CLOSE in answer to data, which anybody may have made up.
    void send_close_for_data(const Address& to, const OuterHeader& data, Time now) noexcept;

    // This gateway leaves: transmit_farewell() tells every connected node.
    void close() noexcept { is_closing_ = true; }

    [[nodiscard]] bool is_closing() const noexcept { return is_closing_; }

    // WIRE-84: one CLOSE for each node that is connected, then nothing.
    [[nodiscard]] Transmit transmit_farewell(MutableBytes into) noexcept;

    [[nodiscard]] bool is_farewell_sent() const noexcept;

    [[nodiscard]] bool has_news() const noexcept { return !news_.empty() || has_more_news_; }

    // Takes the peers of severed nodes apart and tells the handler of each, once.
    void tell_news(EndpointHandler& handler) {
        if (has_news()) tell_all(handler);
    }

    // What the last node did that differed (all 0: none did).
    [[nodiscard]] const Features& differing_features() const noexcept { return differing_; }

private:
    void tell_all(EndpointHandler& handler);
    void tell(NodeId node, EndpointHandler& handler);
    [[nodiscard]] ClosePacket close_packet(NodeId node,
                                           std::uint64_t other_instance,
                                           PacketNumber number) const noexcept;
    void answer(const Address& to, ClosePacket& close) noexcept;

    Parts parts_;
    CloseAllowance closes_;
    std::vector<NodeId> news_;    // severed, the handler not yet told
    bool has_more_news_ = false;  // of nodes for which news_ had no room and no memory
    bool is_closing_ = false;
    NodeId farewell_next_ = 0;
    Features differing_;
};

}  // namespace acp::datagram
