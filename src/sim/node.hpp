// SPDX-License-Identifier: BSD-3-Clause
// One simulated gateway: endpoint, router and memory on the simulated network, driven as a real
// gateway drives them. It stands between endpoint and router and checks the endpoint's contract: no
// frames of a severed node; a node is severed once, and for a reason that the network gave; no
// storm of datagrams to a node that does not answer. One thread.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "datagram/counters.hpp"
#include "router/router.hpp"
#include "sim/cipher.hpp"
#include "sim/network.hpp"
#include "sim/placement.hpp"
#include "sim/referee.hpp"

namespace acp::sim {

inline constexpr std::size_t transmit_bytes = 65536;

// The objects that all nodes of a run share. All must outlive the nodes.
struct Common {
    const Plan* plan;
    Judge* judge;
    Agenda* agenda;
    Network* network;
    Memory* memory;
    Referee* referee;
    NonceLedger* ledger;
    const datagram::AddressBook* book;
    const router::Map* map;
    std::vector<std::byte>* scratch;               // transmit_bytes long
    std::vector<std::vector<std::uint8_t>>* cuts;  // [a][b]: nonzero if a has severed b
    std::vector<std::uint32_t>* incarnations;      // per node: how often its gateway was restarted
};

class Node final : public datagram::EndpointHandler, public router::Completions {
public:
    Node(const Common& common, NodeId self);
    ~Node() override;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    // Makes endpoint and router. If the endpoint refuses its settings, reports a violation to the
    // judge and returns false.
    bool start();

    void wake();            // handles an event of kind wake
    void wake_at(Time at);  // schedules one, unless an earlier one is scheduled
    void on_settle(const AgendaEntry& event);

    // Faults, as the plan says.
    void pause(Time until) noexcept { paused_until_ = std::max(paused_until_, until); }

    void restart();
    void kill(std::uint32_t process);
    void sever(NodeId other);
    void close();

    [[nodiscard]] bool is_severed(NodeId other) const noexcept {
        return endpoint_->is_severed(other);
    }

    [[nodiscard]] bool has_started() const noexcept { return endpoint_ != nullptr; }

    [[nodiscard]] bool has_met(NodeId other) const noexcept {
        datagram::PeerStats stats;
        return endpoint_->stats(other, stats) && (stats.is_connected || stats.is_folded);
    }

    // Whether no content is unacknowledged, no command in progress, and no memory access unsettled.
    [[nodiscard]] bool is_at_rest() const noexcept;

    // Writes the endpoint's counters to the story.
    void tell_counters() const;

    // Describes the buffers and records that are held although no command is in progress; empty:
    // none. At most one buffer per peer may be held, without committed content.
    [[nodiscard]] std::string leaks() const;

    // Describes why the node is not at rest, for a message.
    [[nodiscard]] std::string unrest() const;

    [[nodiscard]] const datagram::EndpointCounters& counters() const noexcept {
        return endpoint_->counters();
    }

    void on_frames(NodeId from, datagram::Bytes frames) override;
    void on_room(NodeId node) override;
    void on_severed(NodeId node, datagram::SeverReason reason) override;

    void on_completion(const router::CommandEnd& completion) override;
    void on_result(const router::CommandEnd& completion,
                   std::span<const std::byte> result) override;
    void on_process_dead(std::uint32_t process, const base::ProcessEnd& end) override;
    void on_node_dead(NodeId node) override;
    void on_met(std::uint32_t number, std::span<const std::uint32_t> table) override;

private:
    // The datagrams between this node and another one; the endpoint's decisions are judged by it.
    struct Sight {
        Time heard = 0;                // when its last intact datagram was handed to the endpoint
        Time asked = datagram::never;  // when the first datagram after that was sent to it
        Time sent = 0;                 // when the last datagram was sent to it
        Time busy = 0;   // when the present series of datagrams without a long pause began
        Time slice = 0;  // start of the second in which sent_in_slice counts
        std::uint32_t sent_in_slice = 0;
        bool is_severed = false;
        bool is_told = false;           // a fault called sever() of this node
        std::uint32_t incarnation = 0;  // incarnation that sent the last datagram
        std::uint64_t largest = 0;      // largest packet number of that incarnation
        // since when content for it is held without a connection; never: none is
        Time waits_since = datagram::never;
    };

    void take_datagrams(Time now);
    void hand(Time now, Packet& packet);
    void transmit(Time now);
    void send_one(Time now, const datagram::Transmit& batch, std::span<const std::byte> bytes);
    [[nodiscard]] bool may_have_stalled(datagram::NodeId node, Time now) const;
    void judge_severed(NodeId node, datagram::SeverReason reason);
    [[nodiscard]] bool is_sent(const datagram::Transmit& batch);
    void hand_forged(Time now, Packet& packet);
    void check_waiting(Time now);
    void check_counters();

    Common common_;
    NodeId self_;
    std::uint32_t incarnation_ = 0;
    std::unique_ptr<CheckingSuite> suite_;
    std::unique_ptr<SeededEntropy> entropy_;
    std::unique_ptr<ArrayPlacement> placement_;
    std::unique_ptr<router::Router> router_;
    std::unique_ptr<datagram::Endpoint> endpoint_;
    std::vector<Sight> sights_;
    NonceLedger taken_;  // (sender, packet number) of content that the endpoint accepted
    Time wake_at_ = datagram::never;  // time of the wake event scheduled; never: none
    Time paused_until_ = 0;
    std::uint32_t full_buffers_ = 0;  // free buffers when none is held
    std::uint64_t news_ = 0;  // number of reports of router and endpoint; a change shows progress
    bool is_closed_ = false;
    Time forged_slice_ = 0;            // start of the second in which keys_in_slice_ counts
    std::uint64_t keys_in_slice_ = 0;  // keys made for forged datagrams of folded peers
    std::uint32_t bursts_cost_ = 0;    // bursts lost by errors that forged ICMP messages left
    Time checked_ = 0;                 // when check_waiting() ran last
};

}  // namespace acp::sim
