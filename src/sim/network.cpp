// SPDX-License-Identifier: BSD-3-Clause
// The fate of each datagram in flight. All random numbers come from one seeded generator. One
// thread.
#include "sim/network.hpp"

#include <cstring>

#include "datagram/credit_budget.hpp"

namespace acp::sim {

namespace {

// Headers of UDP, IP and Ethernet, and the gap between frames.
constexpr std::uint64_t wire_overhead_bytes = 66;
constexpr std::uint16_t port_number = 7000;
constexpr std::uint32_t nodes_per_byte = 250;
constexpr std::uint64_t bits_flipped_max = 4;

std::uint64_t first_word(std::span<const std::byte> bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), std::min<std::size_t>(8, bytes.size()));
    return word;
}

}  // namespace

Network::Network(const Plan& plan, Agenda& agenda, Judge& judge)
    : plan_(&plan),
      agenda_(&agenda),
      judge_(&judge),
      random_(base::mix64(plan.seed ^ 0x6e6574U)),
      pairs_(static_cast<std::size_t>(plan.nodes) * plan.nodes),
      sockets_(plan.nodes),
      attacker_(plan, judge) {
    if (plan.attack.forge_every_ns != 0) agenda.add(0, EventKind::forge, 0, 0);
}

datagram::Address Network::address_of(NodeId node) noexcept {
    return datagram::ipv4(127, 0, static_cast<std::uint8_t>(1 + node / nodes_per_byte),
                          static_cast<std::uint8_t>(1 + node % nodes_per_byte), port_number);
}

bool Network::node_at(const datagram::Address& address, NodeId nodes, NodeId& node) noexcept {
    if (address.family != 4 || address.port != port_number) return false;
    const std::uint32_t guess = (address.ip[2] - 1U) * nodes_per_byte + (address.ip[3] - 1U);
    if (guess >= nodes || !(address_of(guess) == address)) return false;
    node = guess;
    return true;
}

void Network::block(NodeId from, NodeId to, int by) noexcept {
    if (from != to) pair(from, to).blocks += static_cast<std::uint32_t>(by);
}

void Network::change(const PlannedFault& fault, int by) {
    if (fault.kind == FaultKind::one_way) {
        block(fault.a, fault.b, by);
    } else if (fault.kind == FaultKind::isolate) {
        for (NodeId node = 0; node < plan_->nodes; ++node) {
            block(fault.a, node, by);
            block(node, fault.a, by);
        }
    } else if (fault.kind == FaultKind::split) {
        for (NodeId low = 0; low < fault.a; ++low) {
            for (NodeId high = fault.a; high < plan_->nodes; ++high) {
                block(low, high, by);
                block(high, low, by);
            }
        }
    } else if (fault.kind == FaultKind::mtu_hole) {
        Pair& link = pair(fault.a, fault.b);
        link.hole_blocks += static_cast<std::uint32_t>(by);
        link.hole_bytes = fault.bytes;
    }
}

void Network::send(NodeId from,
                   std::uint32_t incarnation,
                   const datagram::Address& to,
                   std::span<const std::byte> bytes,
                   bool may_fragment) {
    NodeId target = 0;
    ++counts_.sent;
    counts_.bytes += bytes.size();
    judge_->note(first_word(bytes) ^ (bytes.size() << 48) ^ judge_->now());
    if (plan_->attack.is_on() && to == Attacker::elsewhere()) {
        attacker_.hear(agenda_->now(), bytes, forgeries_);
        return inject();
    }
    if (!node_at(to, plan_->nodes, target) || target == from) {
        judge_->fail("node " + std::to_string(from) + " sends to an address of no other node");
        return;
    }
    Pair& link = pair(from, target);
    const Time now = agenda_->now();
    const std::uint64_t wire = bytes.size() + wire_overhead_bytes;
    const Time taking = wire * plan_->link.ns_per_kib / 1024;
    const Time start = std::max(now, link.free_at);
    if ((start - now) * 1024 / plan_->link.ns_per_kib > plan_->link.queue_bytes) {
        ++counts_.queue_full;
        return;
    }
    // A lost datagram takes its time on the link too.
    link.free_at = start + taking;
    if (is_lost(link, bytes.size(), may_fragment)) return;
    Time at = link.free_at + plan_->link.delay_ns;
    if (plan_->link.jitter_ns != 0) at += random_.below(plan_->link.jitter_ns);
    if (!is_healed_ && chance(random_, plan_->link.reorder_ppm)) {
        at += random_.below(plan_->link.reorder_span + 1) * std::max<Time>(taking, 200);
        ++counts_.overtaken;
    }
    dispatch(from, target, incarnation, bytes, at, false);
    if (plan_->attack.is_on() && !is_healed_) {
        attacker_.see(now, target, at, bytes, forgeries_);
        inject();
        if (attacker_.takes_off(from, bytes)) change({FaultKind::isolate, from, 0, 0, 0, 0}, 1);
    }
    if (!is_healed_ && chance(random_, plan_->link.duplicate_ppm)) {
        ++counts_.doubled;
        dispatch(from, target, incarnation, bytes,
                 at + random_.below(plan_->link.duplicate_late_ns + 1), true);
    }
}

bool Network::is_lost(Pair& link, std::uint64_t bytes, bool may_fragment) {
    if (link.blocks != 0 || (link.hole_blocks != 0 && bytes > link.hole_bytes && !may_fragment)) {
        ++counts_.cut;
        return true;
    }
    if (is_healed_) return false;
    const LinkPlan& plan = plan_->link;
    // Two states (Gilbert-Elliott): in a burst everything is lost.
    if (link.is_in_burst) {
        link.is_in_burst = !chance(random_, plan.burst_leave_ppm);
    } else {
        link.is_in_burst = chance(random_, plan.burst_enter_ppm);
    }
    if (link.is_in_burst || chance(random_, plan.loss_ppm)) {
        ++counts_.lost;
        return true;
    }
    return false;
}

std::uint32_t Network::take_packet() {
    if (free_.empty()) {
        packets_.emplace_back();
        return static_cast<std::uint32_t>(packets_.size() - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
}

void Network::dispatch(NodeId from,
                       NodeId to,
                       std::uint32_t incarnation,
                       std::span<const std::byte> bytes,
                       Time at,
                       bool is_copy) {
    const std::uint32_t index = take_packet();
    Packet& packet = packets_[index];
    packet.from = from;
    packet.to = to;
    packet.incarnation = incarnation;
    packet.is_intact = true;
    packet.is_copy = is_copy;
    packet.is_forged = false;
    packet.source = address_of(from);
    packet.bytes.assign(bytes.begin(), bytes.end());
    if (!is_healed_ && plan_->security != base::Security::off &&
        chance(random_, plan_->link.corrupt_ppm)) {
        corrupt(packet);
    }
    agenda_->add(at, has_ports_ ? EventKind::port : EventKind::arrive, to, index);
}

// Sends the attacker's datagrams. The network never loses or changes them, and cuts do not stop
// them.
void Network::inject() {
    for (Forgery& forged : forgeries_) {
        if (is_healed_) break;
        ++counts_.forged;
        const std::uint32_t index = take_packet();
        Packet& packet = packets_[index];
        packet.from = forged.named;
        packet.to = forged.to;
        packet.incarnation = 0;
        packet.is_intact = false;
        packet.is_copy = packet.is_forged = true;
        packet.source = forged.from;
        packet.bytes = std::move(forged.bytes);
        agenda_->add(forged.at, EventKind::arrive, forged.to, index);
    }
    forgeries_.clear();
}

void Network::forge() {
    if (is_healed_) return;
    attacker_.forge(agenda_->now(), forgeries_);
    inject();
    agenda_->add(agenda_->now() + plan_->attack.forge_every_ns, EventKind::forge, 0, 0);
}

void Network::corrupt(Packet& packet) {
    ++counts_.corrupted;
    packet.is_intact = false;
    if (random_.below(8) == 0) {  // truncate it instead
        packet.bytes.resize(random_.below(packet.bytes.size()));
        return;
    }
    const std::uint64_t bits = 1 + random_.below(bits_flipped_max);
    for (std::uint64_t i = 0; i < bits; ++i) {
        // Half of the errors hit the header, which would otherwise seldom be hit.
        const std::uint64_t within = random_.below(2) == 0
                                         ? std::min<std::uint64_t>(40, packet.bytes.size())
                                         : packet.bytes.size();
        const std::uint64_t bit = random_.below(within * 8);
        packet.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
}

bool Network::on_event(const AgendaEntry& event) {
    const auto index = static_cast<std::uint32_t>(event.argument);
    if (event.kind != EventKind::port) return on_arrival(index);
    Socket& socket = sockets_[event.node];
    const Time start = std::max(agenda_->now(), socket.port_free_at);
    if ((start - agenda_->now()) * 1024 / plan_->link.ns_per_kib > plan_->link.queue_bytes) {
        ++counts_.queue_full;
        release(index);
        return false;
    }
    const std::uint64_t wire = packets_[index].bytes.size() + wire_overhead_bytes;
    socket.port_free_at = start + wire * plan_->link.ns_per_kib / 1024;
    agenda_->add(socket.port_free_at, EventKind::arrive, event.node, index);
    return false;
}

bool Network::on_arrival(std::uint32_t index) {
    Packet& packet = packets_[index];
    Socket& socket = sockets_[packet.to];
    const std::uint64_t bytes =
        datagram::true_bytes(static_cast<std::uint32_t>(packet.bytes.size()));
    if (packet.is_forged && is_healed_) {
        release(index);
        return false;
    }
    if (socket.bytes + bytes > plan_->receive_bytes) {
        ++counts_.socket_full;
        release(index);
        return false;
    }
    socket.bytes += bytes;
    socket.packets.push_back(index);
    return true;
}

bool Network::receive(NodeId node, std::uint32_t& index) {
    Socket& socket = sockets_[node];
    if (socket.packets.empty()) return false;
    index = socket.packets.front();
    socket.packets.pop_front();
    // As Linux does, the socket drops the charge of read datagrams when it is empty, or when that
    // charge reaches a quarter of the buffer.
    socket.read += datagram::true_bytes(static_cast<std::uint32_t>(packets_[index].bytes.size()));
    if (socket.packets.empty() || socket.read >= plan_->receive_bytes / 4) {
        socket.bytes -= socket.read;
        socket.read = 0;
    }
    ++counts_.handed;
    return true;
}

void Network::drop_socket(NodeId node) {
    Socket& socket = sockets_[node];
    for (const std::uint32_t index : socket.packets) release(index);
    socket.packets.clear();
    socket.bytes = socket.read = 0;
}

}  // namespace acp::sim
