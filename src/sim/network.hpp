// SPDX-License-Identifier: BSD-3-Clause
// The simulated network: delays, queues, loses, duplicates, corrupts, reorders or cuts off
// datagrams between nodes as the plan says. Each node has a switch port of a certain rate and a
// socket of a certain size. Knows no frame and no key. One thread.
// Tests: tests/unit/sim/network_test.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "datagram/address.hpp"
#include "sim/agenda.hpp"
#include "sim/attacker.hpp"
#include "sim/plan.hpp"

namespace acp::sim {

struct Packet {
    NodeId from = 0;
    NodeId to = 0;
    std::uint32_t incarnation = 0;  // counts restarts of the sender's gateway
    bool is_intact = true;          // not corrupted
    bool is_copy = false;           // a duplicate of another packet
    bool is_forged = false;         // sent by the attacker
    datagram::Address source;       // source address
    std::vector<std::byte> bytes;
};

struct NetworkCounts {
    std::uint64_t sent = 0;
    std::uint64_t bytes = 0;
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t overtaken = 0;
    std::uint64_t cut = 0;         // dropped by cuts and holes
    std::uint64_t queue_full = 0;  // dropped by the queue of a link or port
    std::uint64_t socket_full = 0;
    std::uint64_t handed = 0;  // handed to an endpoint
    std::uint64_t forged = 0;  // sent by an attacker
};

class Network {
public:
    // All arguments must outlive it.
    Network(const Plan& plan, Agenda& agenda, Judge& judge);

    static datagram::Address address_of(NodeId node) noexcept;
    static bool node_at(const datagram::Address& address, NodeId nodes, NodeId& node) noexcept;

    // Sends a datagram, of which it takes a copy.
    //   may_fragment  it passes holes for long datagrams
    void send(NodeId from,
              std::uint32_t incarnation,
              const datagram::Address& to,
              std::span<const std::byte> bytes,
              bool may_fragment);

    // Handles an event of kind port or arrive. Returns true if the node's socket received a
    // datagram.
    bool on_event(const AgendaEntry& event);

    // Takes the oldest datagram from a node's socket and stores its index; false if there is none.
    // The caller returns the index by release().
    bool receive(NodeId node, std::uint32_t& index);

    [[nodiscard]] Packet& packet(std::uint32_t index) noexcept { return packets_[index]; }

    [[nodiscard]] bool has_mail(NodeId node) const noexcept {
        return !sockets_[node].packets.empty();
    }

    void release(std::uint32_t index) { free_.push_back(index); }

    // Drops all datagrams in a node's socket, as a restart does.
    void drop_socket(NodeId node);

    void begin(const PlannedFault& fault) { change(fault, 1); }

    void end(const PlannedFault& fault) { change(fault, -1); }

    // Ends all random faults: nothing is lost, corrupted, duplicated or reordered from now on.
    void heal() noexcept { is_healed_ = true; }

    // Handles an event of kind forge: the attacker sends forged datagrams. Adds the next such
    // event.
    void forge();

    // The error that a forged ICMP message has left in a node's socket (errno); 0: none.
    [[nodiscard]] int left_over_error() {
        return is_healed_ || !plan_->attack.is_on() ? 0 : attacker_.left_over_error();
    }

    // Models a switch whose ports have queues that all senders share. Off unless called.
    void use_ports() noexcept { has_ports_ = true; }

    // Whether no datagram is in flight or in a socket.
    [[nodiscard]] bool is_empty() const noexcept { return free_.size() == packets_.size(); }

    [[nodiscard]] const NetworkCounts& counts() const noexcept { return counts_; }

private:
    struct Pair {
        Time free_at = 0;               // when the link has sent all that it accepted
        std::uint32_t blocks = 0;       // cuts in force
        std::uint32_t hole_blocks = 0;  // holes in force: longer datagrams than hole_bytes vanish
        std::uint32_t hole_bytes = 0;
        bool is_in_burst = false;  // true: a burst of losses is on (Gilbert-Elliott model)
    };

    struct Socket {
        std::deque<std::uint32_t> packets;
        // bytes charged to the socket as the kernel charges them (true_bytes())
        std::uint64_t bytes = 0;
        std::uint64_t read = 0;  // the part of `bytes` that was read and is still charged
        Time port_free_at = 0;
    };

    Pair& pair(NodeId from, NodeId to) noexcept { return pairs_[from * plan_->nodes + to]; }

    void change(const PlannedFault& fault, int by);
    void block(NodeId from, NodeId to, int by) noexcept;
    bool is_lost(Pair& link, std::uint64_t bytes, bool may_fragment);
    void dispatch(NodeId from,
                  NodeId to,
                  std::uint32_t incarnation,
                  std::span<const std::byte> bytes,
                  Time at,
                  bool is_copy);
    void inject();
    void corrupt(Packet& packet);
    bool on_arrival(std::uint32_t index);
    std::uint32_t take_packet();

    const Plan* plan_;
    Agenda* agenda_;
    Judge* judge_;
    base::Random random_;
    std::vector<Pair> pairs_;
    std::vector<Socket> sockets_;
    std::vector<Packet> packets_;
    std::vector<std::uint32_t> free_;
    Attacker attacker_;
    std::vector<Forgery> forgeries_;  // the datagrams that the attacker sends next
    NetworkCounts counts_;
    bool is_healed_ = false;
    bool has_ports_ = false;
};

}  // namespace acp::sim
