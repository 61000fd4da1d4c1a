// SPDX-License-Identifier: BSD-3-Clause
// The endpoint itself: it owns and connects the parts, and passes each event (a datagram, an alarm,
// a call from above, room to send) to the part that handles it. Each part has its own fields, and
// its contract in its own header; calls run one way, from a line to lines below it:
//
//   Receiver          data: open, acknowledge, deliver
//   TimerEvents       the work that is due when an alarm rings
//   Transmitter       data and control frames, sealed
//   Handshake         INIT, COOKIE, RESPONSE
//   BatchPlanner      the buffers that leave together
//   LossRecovery      acknowledged and lost datagrams, probe timeout
//   Severing          severed nodes, and the CLOSEs for them
//   SendBuffers       room for frames, divided among the peers
//   PacketProtection  sealing and opening under keys
//   PeerAddresses     addresses of the nodes, cookies
//   Acknowledger      time and content of acknowledgements
//   Peers             table, alarms and ready queue of the peers
//   AnswerQueue       signed messages that wait to be sent
//   Credentials       identity of this endpoint: keys, instance, features
//
// The handler is called only from settle(), and to deliver frames; so no function finds that its
// peer vanished halfway. Knows neither neither socket nor clock. One thread.
#pragma once

#include "datagram/acknowledger.hpp"
#include "datagram/answer_queue.hpp"
#include "datagram/counters.hpp"
#include "datagram/credentials.hpp"
#include "datagram/credit_budget.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake.hpp"
#include "datagram/loss_recovery.hpp"
#include "datagram/packet_protection.hpp"
#include "datagram/peer_addresses.hpp"
#include "datagram/peers.hpp"
#include "datagram/receiver.hpp"
#include "datagram/send_buffers.hpp"
#include "datagram/severing.hpp"
#include "datagram/timer_events.hpp"
#include "datagram/transmitter.hpp"

namespace acp::datagram {

class EndpointMachine final : public Endpoint {
public:
    // Like Endpoint::create(), with settings that were checked. Throws std::bad_alloc.
    EndpointMachine(const Settings& settings,
                    CipherSuite& suite,
                    Entropy& entropy,
                    const AddressBook& book,
                    EndpointHandler& handler);

    std::byte* reserve(NodeId node, std::uint32_t bytes) override;
    MutableBytes reserve_rest(NodeId node, std::uint32_t bytes_min) override;
    void commit(NodeId node, std::uint32_t bytes) override;
    void commit_with_tail(NodeId node, std::uint32_t bytes, Bytes tail) override;
    [[nodiscard]] std::uint32_t frame_bytes_max(NodeId node) const noexcept override;
    void watch(NodeId node) override;
    void unwatch(NodeId node) override;
    void sever(NodeId node, SeverReason reason) override;
    [[nodiscard]] bool is_severed(NodeId node) const noexcept override;
    void close() override;
    void on_datagram(Time now, const Address& from, MutableBytes datagram) override;
    void on_timer(Time now) override;
    [[nodiscard]] Time deadline() const noexcept override;
    Transmit next_transmit(Time now, MutableBytes into) override;
    [[nodiscard]] bool is_quiet() const noexcept override;
    [[nodiscard]] std::uint32_t free_buffers() const noexcept override;
    [[nodiscard]] const EndpointCounters& counters() const noexcept override;
    [[nodiscard]] Features features() const noexcept override;
    [[nodiscard]] Features differing_features() const noexcept override;
    [[nodiscard]] std::uint32_t stalled_bytes() const noexcept override;
    [[nodiscard]] bool stats(NodeId node, PeerStats& stats) const noexcept override;

    // For the test that an idle peer takes 128 bytes.
    [[nodiscard]] const PeerTable& table() const noexcept { return peers_.table(); }

private:
    [[nodiscard, gnu::always_inline]] Peer* peer_to_owe(NodeId node);
    [[nodiscard]] bool is_header_sound(const OuterHeader& outer, std::size_t bytes) noexcept;
    Transmit transmit_peer(Peer& peer, MutableBytes into);
    void settle();

    Settings settings_;
    EndpointHandler& handler_;
    Time now_ = 0;  // the latest time passed in
    EndpointCounters counters_;
    Credentials credentials_;
    CreditBudget budget_;  // declared before peers_: their shares leave it when they are destroyed
    AnswerQueue answers_;
    PeerAddresses addresses_;
    Peers peers_;
    SendBuffers buffers_;
    Severing severing_;
    PacketProtection protection_;
    Acknowledger acknowledger_;
    LossRecovery recovery_;
    Handshake handshake_;
    Transmitter transmitter_;
    Receiver receiver_;
    TimerEvents timer_events_;
};

}  // namespace acp::datagram
