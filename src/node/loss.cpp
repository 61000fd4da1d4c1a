// SPDX-License-Identifier: BSD-3-Clause
// A bit for each lost process and node, and records of the first losses with their reasons. The
// record is written before the bit, the bit before the count, and readers load the count first. If
// two threads note the same loss at the same moment, it is recorded twice.
#include "node/loss.hpp"

#include <array>
#include <string_view>

#include "base/format.hpp"
#include "node/death.hpp"
#include "node/node_table.hpp"
#include "node/segment.hpp"

namespace acp::node {

namespace {

static_assert(std::size(decltype(ControlBlock::told){}) == losses_told);

bool is_set(const SharedU64* bits, std::uint32_t index) noexcept {
    return (bits[index / 64].load(std::memory_order_relaxed) >> (index % 64) & 1U) != 0;
}

bool has_losses(const Segment& segment) noexcept {
    // acquire: partner is note()
    return segment.has_gateway() && segment.control().losses.load(std::memory_order_acquire) != 0;
}

// The fields of a Loss that depend on its kind.
struct Why {
    std::uint32_t why = 0;
    std::uint8_t rail = every_rail;
    std::uint16_t bytes = 0;
    std::uint32_t process_number = 0;
    std::uint8_t state = 0;
};

bool note(const Segment& segment,
          SharedU64* bits,
          LossKind kind,
          std::uint32_t index,
          const Why& why) noexcept {
    if (is_set(bits, index)) {
        return false;
    }
    ControlBlock& control = segment.control();
    const std::uint32_t place = control.losses_begun.fetch_add(1, std::memory_order_relaxed);
    if (place < losses_told) {
        Loss& loss = control.told[place];
        loss.index.store(index, std::memory_order_relaxed);
        loss.why.store(why.why, std::memory_order_relaxed);
        loss.rail.store(why.rail, std::memory_order_relaxed);
        loss.bytes.store(why.bytes, std::memory_order_relaxed);
        loss.process_number.store(why.process_number, std::memory_order_relaxed);
        loss.state.store(why.state, std::memory_order_relaxed);
        // release: partner is kind_of()
        loss.kind.store(static_cast<std::uint32_t>(kind), std::memory_order_release);
    }
    const std::uint64_t mask = std::uint64_t{1} << (index % 64);
    const bool is_news = (bits[index / 64].fetch_or(mask, std::memory_order_relaxed) & mask) == 0;
    control.losses.fetch_add(1, std::memory_order_release);  // partner: has_losses
    return is_news;
}

LossKind kind_of(const Loss& told) noexcept {
    // acquire: the other fields; partner: note()
    return static_cast<LossKind>(told.kind.load(std::memory_order_acquire));
}

NodeLoss loss_in(const Loss& told) noexcept {
    return {static_cast<NodeFate>(told.why.load(std::memory_order_relaxed)),
            static_cast<std::uint8_t>(told.rail.load(std::memory_order_relaxed)),
            static_cast<std::uint16_t>(told.bytes.load(std::memory_order_relaxed))};
}

base::ProcessEnd end_in(const Loss& told) noexcept {
    return {told.why.load(std::memory_order_relaxed),
            told.process_number.load(std::memory_order_relaxed),
            static_cast<std::uint8_t>(told.state.load(std::memory_order_relaxed))};
}

// "UDP to 10.0.0.4:4711 and 10.1.0.4:4712": all addresses that are tried. With a rail: the node's
// address on it.
std::string ways_to(const Segment& segment, std::uint32_t node, std::uint8_t rail) {
    std::array<NodeAddress, node_addresses_max> addresses;
    const std::uint32_t count = NodeTable(segment).addresses(node, addresses);
    if (rail < count) return "UDP to " + text_of(addresses[rail], true);
    std::string text = "UDP to ";
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i != 0) text += i + 1 == count ? " and " : ", ";
        text += text_of(addresses[i], true);
    }
    return text;
}

// "the 10 s of ACP_PEER_TIMEOUT"
std::string timeout_text(const Segment& segment) {
    return "the " + base::human_duration(1e6 * segment.shape().peer_timeout_ms) +
           " of ACP_PEER_TIMEOUT";
}

std::string rail_text(std::string_view before, std::uint8_t rail) {
    return rail == every_rail ? std::string() : std::string(before) + std::to_string(rail);
}

std::string silence_text(const Segment& segment, std::uint32_t node, std::uint8_t rail) {
    const bool is_of_rail = rail != every_rail;
    return "has not answered for " + timeout_text(segment) + rail_text(" on rail ", rail) + " (" +
           ways_to(segment, node, rail) +
           (is_of_rail ? "; that network or its machine" : "; its machine") +
           " may be down, its agent or a rank that is its own gateway (ACP_GATEWAY) may be "
           "stopped, or a firewall may have begun to drop it)";
}

// Empty where every address of the node's machine is tried.
std::string left_out_text(const Segment& segment, std::uint32_t node) {
    const std::uint32_t left_out = NodeTable(segment).left_out(node);
    if (left_out == 0) return "";
    return "; " + std::to_string(left_out) + (left_out == 1 ? " more address" : " more addresses") +
           " of that machine " + (left_out == 1 ? "is" : "are") +
           " not tried, for a node has at most " + std::to_string(node_addresses_max) +
           ": acprun --net chooses";
}

std::string unreachable_text(const Segment& segment, std::uint32_t node, std::uint8_t rail) {
    return "could not be reached " +
           (rail != every_rail ? "on rail " + std::to_string(rail)
                               : std::string("at any of its addresses")) +
           " within " + timeout_text(segment) + " (" + ways_to(segment, node, rail) +
           left_out_text(segment, node) +
           "; a firewall may drop it, there or on the way, or the process that should answer there "
           "may be stopped)";
}

std::string stall_text(const Segment& segment, std::uint32_t node, NodeLoss why) {
    return "answers, but nothing that was sent to it in datagrams of " + base::in_bytes(why.bytes) +
           rail_text(" on rail ", why.rail) + " has arrived for " + timeout_text(segment) + " (" +
           ways_to(segment, node, why.rail) +
           "; the path does not carry packets of that length, whole or in fragments: compare the "
           "MTU of the interfaces, tunnels and bridges on the way)";
}

// The reason is known to another gateway alone, or this one has received an invalid frame.
std::string untold_text(const Segment& segment) {
    return "was given up, by the gateway of this node or of another (the errors on the other ranks "
           "say why; most often it has not answered for " +
           timeout_text(segment) +
           ": its machine may be down, or its agent or a rank that is its own gateway "
           "(ACP_GATEWAY) stopped; if it runs, its ranks may have made other collective calls than "
           "the rest)";
}

std::string text_of(const Segment& segment, std::uint32_t node, NodeLoss why) {
    switch (why.fate) {
        case NodeFate::silent:
            return silence_text(segment, node, why.rail);
        case NodeFate::unreachable:
            return unreachable_text(segment, node, why.rail);
        case NodeFate::restarted:
            return "was answered for by another instance of its gateway";
        case NodeFate::left:
            return "has left the job";
        case NodeFate::gave_up:
            return std::string("has given this node up") +
                   (why.rail != every_rail
                        ? ", which it does when it gets no answer by one of the rails"
                        : "; an error on its ranks says why");
        case NodeFate::stalled:
            return stall_text(segment, node, why);
        case NodeFate::no_memory:
            return "was given up for want of memory to talk to it";
        case NodeFate::mismatched:
            return "has a gateway with another cipher or kind of security than this node's (a line "
                   "of the gateway's names both)";
        case NodeFate::own_socket:
            return "cannot be reached, for this process has closed the descriptor of its own UDP "
                   "socket; a program that closes descriptors must leave those it did not open";
        case NodeFate::told:
            break;
    }
    return untold_text(segment);
}

// The record of a process or node; nullptr: it was not among the first losses.
const Loss* find_told(const Segment& segment, LossKind kind, std::uint32_t index) noexcept {
    const ControlBlock& control = segment.control();
    const std::uint32_t count =
        std::min(control.losses.load(std::memory_order_acquire), losses_told);
    for (std::uint32_t i = 0; i < count; ++i) {
        const Loss& loss = control.told[i];
        if (kind_of(loss) == kind && loss.index.load(std::memory_order_relaxed) == index)
            return &loss;
    }
    return nullptr;
}

std::string text_of(const Segment& segment, const Loss& loss) {
    const std::uint32_t index = loss.index.load(std::memory_order_relaxed);
    if (kind_of(loss) == LossKind::node) {
        const NodeTable table(segment);
        const std::uint32_t first = table.first_process(index);
        const std::uint32_t others = table.first_process(index + 1) - first - 1;
        return "rank " + std::to_string(segment.rank_of(first)) +
               (others == 0 ? " is" : " and " + std::to_string(others) + " more are") + " on " +
               node_name(segment, index) + ", which " + text_of(segment, index, loss_in(loss));
    }
    const base::ProcessEnd end = end_in(loss);
    return "rank " + std::to_string(segment.rank_of(index)) +
           (end.process_number != 0 ? " (process " + std::to_string(end.process_number) + ")"
                                    : std::string()) +
           " on " + node_name(segment, NodeTable(segment).node_of(index)) + " " +
           ending_text(end.wait_status, static_cast<SlotState>(end.state));
}

}  // namespace

bool note_lost_process(const Segment& segment,
                       std::uint32_t process,
                       const base::ProcessEnd& end) noexcept {
    return process < segment.shape().procs &&
           note(segment, segment.lost_processes(), LossKind::process, process,
                {end.wait_status, every_rail, 0, end.process_number, end.state});
}

bool note_lost_node(const Segment& segment, std::uint32_t node, NodeLoss why) noexcept {
    return node < segment.shape().nodes &&
           note(segment, segment.lost_nodes(), LossKind::node, node,
                {static_cast<std::uint32_t>(why.fate), why.rail, why.bytes, 0, 0});
}

bool is_node_lost(const Segment& segment, std::uint32_t node) noexcept {
    return has_losses(segment) && is_set(segment.lost_nodes(), node);
}

bool is_lost(const Segment& segment, std::uint32_t process) noexcept {
    return has_losses(segment) &&
           (is_set(segment.lost_processes(), process) ||
            is_set(segment.lost_nodes(), NodeTable(segment).node_of(process)));
}

bool is_gone(const Segment& segment, std::uint32_t process) noexcept {
    const Shape& shape = segment.shape();
    const std::uint32_t slot = process - shape.first_process;
    return slot < shape.local_procs ? is_dead(segment, slot) : is_lost(segment, process);
}

std::optional<base::ProcessEnd> end_of_lost(const Segment& segment,
                                            std::uint32_t process) noexcept {
    if (!has_losses(segment) || !is_set(segment.lost_processes(), process)) return std::nullopt;
    const Loss* told = find_told(segment, LossKind::process, process);
    return told == nullptr ? base::ProcessEnd{unknown_status} : end_in(*told);
}

bool first_loss_is_finished(const Segment& segment) noexcept {
    if (!has_losses(segment)) return false;
    const Loss& first = segment.control().told[0];
    return kind_of(first) == LossKind::process &&
           first.why.load(std::memory_order_relaxed) == finished_status;
}

std::string node_name(const Segment& segment, std::uint32_t node) {
    std::string text = "node " + std::to_string(node);
    std::array<NodeAddress, node_addresses_max> addresses;
    const NodeTable table(segment);
    const std::string host(table.host(node));
    if (table.addresses(node, addresses) != 0) {
        text += " (" + (host.empty() ? host : host + ", ") + text_of(addresses[0], false) + ")";
    }
    return text;
}

std::string told_loss(const Segment& segment, std::uint32_t index) {
    if (!has_losses(segment) || index >= losses_told ||
        index >= segment.control().losses.load(std::memory_order_acquire)) {
        return "";
    }
    const Loss& told = segment.control().told[index];
    return kind_of(told) == LossKind::not_told_yet ? "" : text_of(segment, told);
}

std::string fate_of_process(const Segment& segment, std::uint32_t process, NodeLoss otherwise) {
    const Shape& shape = segment.shape();
    if (process - shape.first_process < shape.local_procs) {
        return fate(segment, process - shape.first_process);
    }
    const std::uint32_t node = NodeTable(segment).node_of(process);
    const std::string rank = "rank " + std::to_string(segment.rank_of(process));
    if (const Loss* told = find_told(segment, LossKind::process, process)) {
        return text_of(segment, *told);
    }
    const Loss* told = find_told(segment, LossKind::node, node);
    if (told != nullptr || otherwise.fate != NodeFate::told) {
        const NodeLoss why = told == nullptr ? otherwise : loss_in(*told);
        return rank + " is on " + node_name(segment, node) + ", which " +
               text_of(segment, node, why);
    }
    return rank + " on " + node_name(segment, node) + " is gone";
}

}  // namespace acp::node
