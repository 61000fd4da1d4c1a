// SPDX-License-Identifier: BSD-3-Clause
// Decides which datagrams are copied and when copies arrive, and checks two rules at the attacker's
// address, which is no node's: nodes send only answers to it, and fewer bytes than it sent. One
// thread.
#include "sim/attacker.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "datagram/handshake_packets.hpp"
#include "sim/network.hpp"
#include "sim/packet_type.hpp"

namespace acp::sim {

namespace {

using datagram::OuterHeader;
using datagram::PacketType;

constexpr std::uint16_t port_elsewhere = 6666;
constexpr std::uint32_t forged_bytes = 100;

// The errors that a kernel leaves in a connected socket on fatal ICMP messages: type 3 and type 12.
constexpr std::array<int, 8> icmp_errors = {ENETUNREACH, EHOSTUNREACH, ENOPROTOOPT, ECONNREFUSED,
                                            EMSGSIZE,    EHOSTDOWN,    ENONET,      EPROTO};

}  // namespace

Attacker::Attacker(const Plan& plan, Judge& judge)
    : plan_(&plan), judge_(&judge), random_(base::mix64(plan.seed ^ 0x61747461U)) {}

datagram::Address Attacker::elsewhere() noexcept {
    return datagram::ipv4(127, 0, 0, 99, port_elsewhere);
}

// The source address of a copy: mostly the attacker's own, sometimes that of another node, which
// then gets the answer. With the address of the named node the copy equals the original, which
// matters only if that node itself is gone.
datagram::Address Attacker::any_source(NodeId to, NodeId named) {
    if (plan_->attack.takes_asker_off && random_.below(2) == 0) return Network::address_of(named);
    if (random_.below(4) != 0) return elsewhere();
    const auto node = static_cast<NodeId>(random_.below(plan_->nodes));
    return node == to || node == named ? elsewhere() : Network::address_of(node);
}

void Attacker::copy(Time at,
                    NodeId to,
                    std::span<const std::byte> bytes,
                    std::vector<Forgery>& out) {
    const auto named = datagram::load<OuterHeader>(bytes.data()).source;
    if (copies_ > copies_max) return;
    copies_ += plan_->attack.repeats + 1;
    for (std::uint32_t i = 0; i <= plan_->attack.repeats; ++i) {
        Forgery& forged = out.emplace_back();
        forged.from = any_source(to, named);
        forged.to = to;
        forged.named = named;
        forged.at = at + i * plan_->attack.repeat_ns;
        forged.bytes.assign(bytes.begin(), bytes.end());
        if (forged.from == elsewhere()) sent_bytes_ += bytes.size();
    }
}

void Attacker::see(Time now,
                   NodeId to,
                   Time arrival,
                   std::span<const std::byte> bytes,
                   std::vector<Forgery>& out) {
    if (bytes.size() < datagram::outer_bytes) return;
    const AttackPlan& attack = plan_->attack;
    const bool is_data = type_of(bytes) == PacketType::data;
    if (!chance(random_, is_data ? attack.data_copy_ppm : attack.copy_ppm)) return;
    // The first copy arrives just before the original.
    if (attack.overtakes && arrival > now) return copy(arrival - 1, to, bytes, out);
    copy(arrival + random_.below(attack.late_ns + 1), to, bytes, out);
}

void Attacker::hear(Time now, std::span<const std::byte> bytes, std::vector<Forgery>& out) {
    heard_bytes_ += bytes.size();
    const PacketType type = type_of(bytes);
    const OuterHeader outer = datagram::load<OuterHeader>(bytes.data());
    const std::string who = "node " + std::to_string(outer.source);
    if (type == PacketType::data) {
        return judge_->fail(who + " sends data to an address that only the attacker has used");
    }
    if (type == PacketType::init) {
        return judge_->fail(who + " sends an INIT to an address that only the attacker has used");
    }
    if (heard_bytes_ > sent_bytes_) {
        return judge_->fail(
            who + " answers an unknown address with more bytes than it received from there");
    }
    if (++relays_ > relays_max) return;
    // The attacker relays the answer to the node that it names, from its author's address or from
    // its own.
    const auto target = datagram::load<std::uint32_t>(bytes.data() + datagram::outer_bytes + 8);
    if (target >= plan_->nodes || target == outer.source) return;
    Forgery& forged = out.emplace_back();
    forged.from = random_.below(2) == 0 ? elsewhere() : Network::address_of(outer.source);
    forged.to = target;
    forged.named = outer.source;
    forged.at = now + plan_->link.delay_ns;
    forged.bytes.assign(bytes.begin(), bytes.end());
    if (forged.from == elsewhere()) sent_bytes_ += bytes.size();
}

void Attacker::forge(Time now, std::vector<Forgery>& out) {
    const AttackPlan& attack = plan_->attack;
    for (std::uint32_t i = 0; i <= attack.repeats; ++i) {
        const auto to = static_cast<NodeId>(random_.below(plan_->nodes));
        const auto named =
            static_cast<NodeId>((to + 1 + random_.below(plan_->nodes - 1)) % plan_->nodes);
        // A flood: several datagrams at once to the severing node, in the name of the node that it
        // severed last.
        const bool is_flood = attack.repeats != 0 && !plan_->faults.empty();
        if (is_flood) forge_one(now, plan_->faults.back().a, plan_->faults.back().b, out);
        if (!is_flood) forge_one(now, to, named, out);
    }
}

void Attacker::forge_one(Time now, NodeId to, NodeId named, std::vector<Forgery>& out) {
    Forgery& forged = out.emplace_back();
    forged.to = to;
    forged.named = named;
    forged.from = random_.below(2) == 0 ? elsewhere() : Network::address_of(forged.named);
    forged.at = now + plan_->link.delay_ns;
    forged.bytes.resize(forged_bytes);
    for (std::byte& byte : forged.bytes) byte = static_cast<std::byte>(random_());
    OuterHeader outer;
    outer.type = static_cast<std::uint8_t>(PacketType::data);
    outer.bytes = forged_bytes;
    outer.source = forged.named;
    // Half of the forged packet numbers are plausible ones.
    outer.number = random_.below(2) == 0 ? random_.below(4096) : random_();
    datagram::store(forged.bytes.data(), outer);
    if (forged.from == elsewhere()) sent_bytes_ += forged_bytes;
}

bool Attacker::takes_off(NodeId asker, std::span<const std::byte> bytes) {
    if (!plan_->attack.takes_asker_off || has_taken_off_ || asker >= plan_->nodes) return false;
    if (bytes.size() < datagram::outer_bytes || type_of(bytes) != PacketType::init) return false;
    // With a probability of 1/3, so that it is not always the first INIT of a run.
    has_taken_off_ = random_.below(3) == 0;
    return has_taken_off_;
}

int Attacker::left_over_error() {
    if (!chance(random_, plan_->attack.icmp_ppm)) return 0;
    return icmp_errors[random_.below(icmp_errors.size())];
}

}  // namespace acp::sim
