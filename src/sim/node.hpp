// SPDX-License-Identifier: BSD-3-Clause
// One simulated gateway: endpoint, router and memory over the simulated network, turned as a real gateway turns
// them. Stands between endpoint and router and holds the endpoint to its word: no frames of a severed node, a node
// severed once and for a reason that the network gave, no storm into silence. One thread.
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

// What all nodes of a run share.
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
    std::vector<std::byte>* scratch;               // transmit_bytes
    std::vector<std::vector<std::uint8_t>>* cuts;  // [a][b]: a has severed b
    std::vector<std::uint32_t>* incarnations;      // per node
};

class Node final : public datagram::EndpointHandler, public router::Completions {
public:
    Node(const Common& common, NodeId self);
    ~Node() override;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    // Makes endpoint and router. false: the endpoint refused its settings, the judge knows.
    bool start();

    void wake();            // an event of kind wake
    void wake_at(Time at);  // asks for one, unless an earlier one is coming
    void on_settle(const AgendaEntry& event);

    // Faults.
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

    // Nothing unacknowledged, nothing under way, nothing taken and not settled.
    [[nodiscard]] bool is_at_rest() const noexcept;

    // Tells the story what its endpoint counted.
    void tell_counters() const;

    // What is still held although nothing is under way; empty: nothing. Beside what was never committed: at most
    // one buffer per peer.
    [[nodiscard]] std::string leaks() const;

    // What keeps it from resting, for a message.
    [[nodiscard]] std::string unrest() const;

    [[nodiscard]] const datagram::EndpointCounters& counters() const noexcept {
        return endpoint_->counters();
    }

    void on_frames(NodeId from, datagram::Bytes frames) override;
    void on_room(NodeId node) override;
    void on_severed(NodeId node, datagram::SeverReason reason) override;

    void on_completion(const router::CommandEnd& completion) override;
    void on_result(std::uint32_t initiator,
                   std::uint64_t token,
                   std::span<const std::byte> result) override;
    void on_process_dead(std::uint32_t process, std::uint32_t wait_status) override;
    void on_node_dead(NodeId node) override;
    void on_met(std::uint32_t number, std::span<const std::uint32_t> table) override;

private:
    // What this node saw of another, to judge the endpoint by.
    struct Sight {
        Time heard = 0;                // when the last whole datagram of it was handed over
        Time asked = datagram::never;  // when the first one was sent to it after that
        Time sent = 0;                 // when the last one was sent to it
        Time busy = 0;                 // since when there was no long pause between two
        Time slice = 0;                // start of the second in which sent_in_slice counts
        std::uint32_t sent_in_slice = 0;
        bool is_severed = false;
        bool is_told = false;                // the fault told the endpoint to
        std::uint32_t incarnation = 0;       // whose packet came last
        std::uint64_t largest = 0;           // of its packet numbers
        Time waits_since = datagram::never;  // something is owed to it, and there is no connection
    };

    void take_datagrams(Time now);
    void hand(Time now, Packet& packet);
    void transmit(Time now);
    void send_one(Time now, const datagram::Transmit& batch, std::span<const std::byte> bytes);
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
    NonceLedger taken_;  // datagrams with content that were accepted, by sender and packet number
    Time wake_at_ = datagram::never;
    Time paused_until_ = 0;
    std::uint32_t full_buffers_ = 0;
    std::uint64_t news_ = 0;  // things told by the router, to see whether something moved
    bool is_closed_ = false;
    Time forged_slice_ = 0;            // start of the second in which keys_in_slice_ counts
    std::uint64_t keys_in_slice_ = 0;  // made for forged datagrams of idle peers
    std::uint32_t bursts_cost_ = 0;    // by errors that forged ICMP messages left
    Time checked_ = 0;                 // when check_waiting() looked last
};

}  // namespace acp::sim
