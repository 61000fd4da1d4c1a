// SPDX-License-Identifier: BSD-3-Clause
// An attacker on the simulated network, without a key. It replays datagrams from another address,
// once or repeatedly, also so that the copy overtakes the original; relays the answers to its
// copies; sends data in the names of nodes; and cuts a node off after its first INIT. It sees every
// datagram, but loses and changes none. A seed decides what it does. One thread.
// Tests: tests/unit/sim/attacker_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datagram/address.hpp"
#include "datagram/wire.hpp"
#include "sim/agenda.hpp"
#include "sim/plan.hpp"

namespace acp::sim {

// A datagram that an attacker sends.
struct Forgery {
    datagram::Address from;
    NodeId to = 0;
    NodeId named = 0;  // the node that it claims to come from
    Time at = 0;
    std::vector<std::byte> bytes;
};

class Attacker {
public:
    static constexpr std::uint32_t relays_max = 4096;  // answers passed on in one run, at most
    // Copies in one run, at most: answers to copies are copied again, which would never end.
    static constexpr std::uint64_t copies_max = 300'000;

    // Both arguments must outlive it.
    Attacker(const Plan& plan, Judge& judge);

    // The attacker's own address, which is no node's.
    [[nodiscard]] static datagram::Address elsewhere() noexcept;

    // Shows the attacker a datagram that is sent to node `to` and will arrive at `arrival`. Appends
    // the datagrams with which it reacts.
    void see(Time now,
             NodeId to,
             Time arrival,
             std::span<const std::byte> bytes,
             std::vector<Forgery>& out);

    // Gives the attacker a datagram that a node has sent to elsewhere(). Appends its relays.
    void hear(Time now, std::span<const std::byte> bytes, std::vector<Forgery>& out);

    // Appends a datagram in the name of a node, for which the attacker needs no key but only the
    // layout of the outer header; several if the plan asks for a flood.
    void forge(Time now, std::vector<Forgery>& out);

    // Whether the attacker cuts a node off from all others now that its INIT has been sent. At most
    // once in a run.
    [[nodiscard]] bool takes_off(NodeId asker, std::span<const std::byte> bytes);

    // The error that a forged ICMP message has left in a node's socket (errno); 0: none.
    [[nodiscard]] int left_over_error();

private:
    void forge_one(Time now, NodeId to, NodeId named, std::vector<Forgery>& out);
    void copy(Time at, NodeId to, std::span<const std::byte> bytes, std::vector<Forgery>& out);
    [[nodiscard]] datagram::Address any_source(NodeId to, NodeId named);

    const Plan* plan_;
    Judge* judge_;
    base::Random random_;
    std::uint64_t sent_bytes_ = 0;   // bytes sent from elsewhere()
    std::uint64_t heard_bytes_ = 0;  // bytes received there; never more than sent_bytes_
    std::uint32_t relays_ = 0;
    std::uint64_t copies_ = 0;
    bool has_taken_off_ = false;
};

}  // namespace acp::sim
