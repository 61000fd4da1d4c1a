// SPDX-License-Identifier: BSD-3-Clause
// Somebody on the simulated network who has no key: copies datagrams and sends them again from elsewhere, at once, so
// that the copy overtakes the original, or again and again; passes on what is answered to the copies; sends data in
// the names of others; cuts a node off behind its first question. Sees every datagram, loses and changes none. What
// chance decides comes from a seed. One thread. Tests: tests/unit/sim/attacker_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datagram/address.hpp"
#include "datagram/wire.hpp"
#include "sim/agenda.hpp"
#include "sim/plan.hpp"

namespace acp::sim {

// A datagram as an attacker puts it onto the network.
struct Forgery {
    datagram::Address from;
    NodeId to = 0;
    NodeId named = 0;  // the node in whose name it speaks
    Time at = 0;
    std::vector<std::byte> bytes;
};

class Attacker {
public:
    static constexpr std::uint32_t relays_max = 4096;  // answers passed on in one run
    static constexpr std::uint64_t copies_max =
        300'000;  // answers that are copied make more answers

    //   both must outlive it
    Attacker(const Plan& plan, Judge& judge);

    // An address that is no node's.
    [[nodiscard]] static datagram::Address elsewhere() noexcept;

    // A datagram goes from one node to another and will arrive at `arrival`.
    // Appends what the attacker makes of it.
    void see(Time now,
             NodeId to,
             Time arrival,
             std::span<const std::byte> bytes,
             std::vector<Forgery>& out);

    // A node has sent something to elsewhere().
    void hear(Time now, std::span<const std::byte> bytes, std::vector<Forgery>& out);

    // One datagram in the name of a node, sent to another by somebody who can write its header and nothing else.
    void forge(Time now, std::vector<Forgery>& out);

    // Whether the node shall be cut off from all others now, since its question is on its way.
    [[nodiscard]] bool takes_off(NodeId asker, std::span<const std::byte> bytes);

    // What the forged ICMP errors have left in a node's socket; 0: nothing.
    [[nodiscard]] int left_over_error();

private:
    void forge_one(Time now, NodeId to, NodeId named, std::vector<Forgery>& out);
    void copy(Time at, NodeId to, std::span<const std::byte> bytes, std::vector<Forgery>& out);
    [[nodiscard]] datagram::Address any_source(NodeId to, NodeId named);

    const Plan* plan_;
    Judge* judge_;
    base::Random random_;
    std::uint64_t sent_bytes_ = 0;   // from elsewhere()
    std::uint64_t heard_bytes_ = 0;  // there
    std::uint32_t relays_ = 0;
    std::uint64_t copies_ = 0;
    bool has_taken_off_ = false;
};

}  // namespace acp::sim
