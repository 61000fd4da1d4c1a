// SPDX-License-Identifier: BSD-3-Clause
// The simulated network: every datagram from one node to another is delayed, queued, lost, doubled, changed,
// overtaken or cut off as the plan says, each node has a port of its rate and a socket of its size. Knows no
// frame and no key. One thread. Tests: tests/unit/sim/network_test.cpp.
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
    std::uint32_t incarnation = 0;  // of the sender's gateway
    bool is_intact = true;          // as it was sent
    bool is_copy = false;           // another one like it was sent on, too
    bool is_forged = false;         // an attacker sent it
    datagram::Address source;       // whence it seems to come
    std::vector<std::byte> bytes;
};

struct NetworkCounts {
    std::uint64_t sent = 0;
    std::uint64_t bytes = 0;
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t overtaken = 0;
    std::uint64_t cut = 0;         // by partitions and holes
    std::uint64_t queue_full = 0;  // in a link or port
    std::uint64_t socket_full = 0;
    std::uint64_t handed = 0;  // to an endpoint
    std::uint64_t forged = 0;  // by an attacker
};

class Network {
public:
    //   all must outlive it
    Network(const Plan& plan, Agenda& agenda, Judge& judge);

    static datagram::Address address_of(NodeId node) noexcept;
    static bool node_at(const datagram::Address& address, NodeId nodes, NodeId& node) noexcept;

    // Takes a copy of the datagram.
    void send(NodeId from,
              std::uint32_t incarnation,
              const datagram::Address& to,
              std::span<const std::byte> bytes,
              bool may_fragment);

    // An event of kind port or arrive. true: the node's socket holds something new.
    bool on_event(const AgendaEntry& event);

    // The oldest datagram in a node's socket, by index; false: none.
    bool receive(NodeId node, std::uint32_t& index);

    [[nodiscard]] Packet& packet(std::uint32_t index) noexcept { return packets_[index]; }

    [[nodiscard]] bool has_mail(NodeId node) const noexcept {
        return !sockets_[node].packets.empty();
    }

    void release(std::uint32_t index) { free_.push_back(index); }

    // What is in a node's socket is gone.
    void drop_socket(NodeId node);

    void begin(const PlannedFault& fault) { change(fault, 1); }

    void end(const PlannedFault& fault) { change(fault, -1); }

    // From now on nothing is lost, changed, doubled or overtaken.
    void heal() noexcept { is_healed_ = true; }

    // An event of kind forge: the attacker sends something of its own, and asks for the next such event.
    void forge();

    // What a forged ICMP message has left in a node's socket; 0: nothing.
    [[nodiscard]] int left_over_error() {
        return is_healed_ || !plan_->attack.is_on() ? 0 : attacker_.left_over_error();
    }

    // Ports with queues shared by all senders, as a switch has them, are modelled only when asked for.
    void use_ports() noexcept { has_ports_ = true; }

    // Nothing is on its way or in a socket.
    [[nodiscard]] bool is_empty() const noexcept { return free_.size() == packets_.size(); }

    [[nodiscard]] const NetworkCounts& counts() const noexcept { return counts_; }

private:
    struct Pair {
        Time free_at = 0;  // when the link has sent all it took
        std::uint32_t blocks = 0;
        std::uint32_t hole_blocks = 0;
        std::uint32_t hole_bytes = 0;
        bool is_in_burst = false;
    };

    struct Socket {
        std::deque<std::uint32_t> packets;
        std::uint64_t bytes = 0;  // in the kernel's accounting
        std::uint64_t read = 0;   // of them, and still on the account
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
    std::vector<Forgery> forgeries_;  // to be put onto the network
    NetworkCounts counts_;
    bool is_healed_ = false;
    bool has_ports_ = false;
};

}  // namespace acp::sim
