// SPDX-License-Identifier: BSD-3-Clause
// Drives one gateway in virtual time. One thread.
#include "sim/node.hpp"

#include <algorithm>

#include "base/left_over_error.hpp"
#include "datagram/wire.hpp"
#include "sim/packet_type.hpp"

namespace acp::sim {

namespace {

constexpr std::uint32_t receive_batch = 64;
constexpr std::uint32_t turns_max = 4;
constexpr std::uint32_t transmits_max = 4096;  // transmissions of one wake: more are a storm
constexpr Time turn_cost_ns = 300;
constexpr Time datagram_cost_ns = 400;
// Most datagrams per second to a node from which none has arrived for silence_ns.
constexpr std::uint32_t silent_sends_max = 64;
constexpr Time silence_ns = 3 * s;
constexpr std::uint64_t forged_keys_max = 400;  // keys per second made for forged datagrams
constexpr std::uint32_t bursts_cost_max = 8;
constexpr Time wait_slack_ns = 2 * s;
constexpr Time wait_check_ns = 100 * ms;
constexpr Time storm_gap_ns = 1500 * ms;  // a pause this long ends a series of datagrams

}  // namespace

Node::Node(const Common& common, NodeId self)
    : common_(common), self_(self), sights_(common.plan->nodes) {}

Node::~Node() = default;

bool Node::start() {
    const Plan& plan = *common_.plan;
    datagram::Settings settings;
    settings.job_id = plan.seed;
    settings.node = self_;
    settings.nodes = plan.nodes + plan.silent_nodes;
    settings.job_key.fill(static_cast<std::byte>(plan.seed));
    settings.security = plan.security;
    settings.control = plan.control;
    settings.datagram_bytes = plan.datagram_bytes;
    settings.datagram_bytes_max = plan.datagram_bytes_max;
    settings.receive_bytes = plan.receive_bytes;
    settings.send_buffers = plan.send_buffers;
    settings.key_packets_log2 = plan.key_packets_log2;
    settings.first_dsn = plan.first_delivery;
    settings.idle_fold_ns = plan.idle_fold_ns;
    settings.connect_timeout_ns = plan.connect_timeout_ns;
    settings.peer_timeout_ns = plan.peer_timeout_ns;
    suite_ = std::make_unique<CheckingSuite>(*common_.ledger, *common_.judge);
    entropy_ = std::make_unique<SeededEntropy>(base::mix64(plan.seed + self_) + incarnation_);
    placement_ = std::make_unique<ArrayPlacement>(
        ArrayPlacement::Surroundings{common_.plan, common_.memory, common_.agenda, common_.referee,
                                     &common_.referee->dead()},
        self_, incarnation_);
    auto made = datagram::Endpoint::create(settings, *suite_, *entropy_, *common_.book, *this);
    if (!made.is_ok()) {
        common_.judge->fail("no endpoint: " + std::string(made.failure().message()));
        return false;
    }
    endpoint_ = std::move(made.value());
    router::RouterSettings router_settings;
    router_settings.node = self_;
    router_settings.nodes = plan.nodes;
    router_settings.procs = plan.procs();
    router_settings.commands_max = plan.commands_max;
    router_settings.executions_max = plan.executions_max;
    router_settings.undelivered_bytes_max = plan.undelivered_bytes_max;
    router_ = std::make_unique<router::Router>(router_settings, common_.memory->layout(),
                                               *common_.map, *placement_, *this);
    router_->bind(*endpoint_);
    placement_->bind(*router_);
    full_buffers_ = endpoint_->free_buffers();
    return true;
}

void Node::wake_at(Time at) {
    at = std::max(at, common_.agenda->now());
    if (at >= wake_at_) return;
    wake_at_ = at;
    common_.agenda->add(at, EventKind::wake, self_, at);
}

void Node::wake() {
    const Time now = common_.agenda->now();
    if (now != wake_at_) return;  // this event was replaced by an earlier one
    wake_at_ = datagram::never;
    if (now < paused_until_) return wake_at(paused_until_);
    router_->set_now(now);
    const std::uint64_t handed_before = common_.network->counts().handed;
    const std::uint64_t sent_before = common_.network->counts().sent;
    take_datagrams(now);
    if (endpoint_->deadline() <= now) endpoint_->on_timer(now);
    const std::uint64_t news_before = news_;
    const Time next_issue = common_.referee->issue(self_, now, *router_);
    bool has_moved = true;
    for (std::uint32_t i = 0; has_moved && i < turns_max; ++i) has_moved = router_->poll(now);
    transmit(now);
    check_counters();
    if (common_.plan->attack.is_on() && now >= checked_ + wait_check_ns) check_waiting(now);
    const NetworkCounts& counts = common_.network->counts();
    // The computing time of this run of the gateway: the next run begins no earlier than that.
    const Time cost = turn_cost_ns + datagram_cost_ns * (counts.handed - handed_before +
                                                         counts.sent - sent_before);
    Time next = std::min({next_issue, endpoint_->deadline(), router_->deadline()});
    if (has_moved || news_ != news_before || common_.network->has_mail(self_)) next = now;
    if (next != datagram::never) wake_at(std::max(next, now + cost));
}

void Node::take_datagrams(Time now) {
    std::uint32_t index = 0;
    for (std::uint32_t i = 0; i < receive_batch && common_.network->receive(self_, index); ++i) {
        Packet& packet = common_.network->packet(index);
        common_.judge->note(packet.bytes.size() ^ (std::uint64_t{packet.from} << 32) ^ now);
        common_.judge->tell("node %u gets %zu B of node %u, type %u%s%s", self_,
                            packet.bytes.size(), packet.from,
                            static_cast<unsigned>(type_of(packet.bytes)),
                            packet.is_intact ? "" : ", damaged", packet.is_copy ? ", again" : "");
        hand(now, packet);
        common_.network->release(index);
    }
}

void Node::hand(Time now, Packet& packet) {
    if (packet.is_forged) return hand_forged(now, packet);
    const datagram::Address from = Network::address_of(packet.from);
    const bool is_word = packet.is_intact && type_of(packet.bytes) == datagram::PacketType::data;
    if (!is_word) return endpoint_->on_datagram(now, from, packet.bytes);
    Sight& sight = sights_[packet.from];
    const Sight before_it = sight;
    if (!packet.is_copy) {
        sight.heard = now;
        sight.asked = datagram::never;
        sight.sent_in_slice = 0;
    }
    const auto number = datagram::load<datagram::OuterHeader>(packet.bytes.data()).number;
    const std::uint64_t sender =
        base::mix64((std::uint64_t{packet.from} << 32) | packet.incarnation);
    const datagram::EndpointCounters& counters = endpoint_->counters();
    const std::uint64_t before = counters.delivered + counters.duplicates;
    const std::uint64_t keyless = counters.wrong_epoch;
    const std::uint64_t too_long = counters.too_long;
    endpoint_->on_datagram(now, from, packet.bytes);
    const bool is_late = sight.incarnation == packet.incarnation && number < sight.largest;
    if ((is_late && counters.wrong_epoch != keyless) || counters.too_long != too_long) {
        // The endpoint dropped the datagram, because it arrived after its key was dropped (WIRE-39)
        // or was too long for the receiver (WIRE-78): it is no sign of life.
        sight.heard = before_it.heard;
        sight.asked = before_it.asked;
        sight.sent_in_slice = before_it.sent_in_slice;
    }
    if (sight.incarnation != packet.incarnation) sight.largest = 0;
    sight.incarnation = packet.incarnation;
    sight.largest = std::max(sight.largest, number);
    const bool is_taken = counters.delivered + counters.duplicates != before;
    if (is_taken && !taken_.add(sender, number)) {
        common_.judge->fail("node " + std::to_string(self_) +
                            " takes a replayed datagram of node " + std::to_string(packet.from));
    }
}

// Hands the endpoint a datagram of the attacker: a copy of an authentic one, or a forgery.
void Node::hand_forged(Time now, Packet& packet) {
    datagram::PeerStats stats;
    const bool is_folded = endpoint_->stats(packet.from, stats) && stats.is_folded;
    const std::uint64_t made = suite_->made();
    const std::uint64_t wrong = endpoint_->counters().wrong_tag;
    endpoint_->on_datagram(now, packet.source, packet.bytes);
    if (!is_folded || endpoint_->counters().wrong_tag == wrong) return;
    if (now >= forged_slice_ + s) {
        forged_slice_ = now;
        keys_in_slice_ = 0;
    }
    keys_in_slice_ += suite_->made() - made;
    if (keys_in_slice_ > forged_keys_max) {
        common_.judge->fail("node " + std::to_string(self_) +
                            " derives a key for each forged datagram");
    }
}

// Checks that a node for which content is held is connected or severed in time, even if datagrams
// arrive from it.
void Node::check_waiting(Time now) {
    checked_ = now;
    const Time patience =
        2 * common_.plan->connect_timeout_ns + common_.plan->peer_timeout_ns + wait_slack_ns;
    for (NodeId node = 0; node < common_.plan->nodes; ++node) {
        datagram::PeerStats stats;
        const bool is_known = node != self_ && endpoint_->stats(node, stats);
        Sight& sight = sights_[node];
        const bool waits = is_known && !stats.is_connected && !stats.is_severed &&
                           stats.buffers_held != 0 && now > paused_until_ + patience;
        if (!waits) sight.waits_since = datagram::never;
        if (waits) sight.waits_since = std::min(sight.waits_since, now);
        if (!waits || now < sight.waits_since + patience) continue;
        common_.judge->fail("node " + std::to_string(self_) + " waits for node " +
                            std::to_string(node) + " without a notification of its loss");
    }
}

// Whether the kernel accepts a burst within as many tries as os::DatagramSocket makes. A try fails
// if a forged ICMP message has left an error in the socket: the kernel reports the error instead of
// sending.
bool Node::is_sent(const datagram::Transmit& batch) {
    NodeId to = 0;
    if (!Network::node_at(batch.to, common_.plan->nodes, to)) return true;
    for (int tries = 0; tries < base::left_over_tries_max; ++tries) {
        const int error = common_.network->left_over_error();
        if (error == 0) return true;
        if (!base::may_be_left_over(error)) break;
    }
    common_.judge->tell("node %u: an earlier error of its socket loses a burst to node %u", self_,
                        to);
    if (++bursts_cost_ > bursts_cost_max) {
        common_.judge->fail("node " + std::to_string(self_) +
                            " loses whole bursts by forged ICMP messages");
    }
    return false;
}

void Node::transmit(Time now) {
    std::vector<std::byte>& scratch = *common_.scratch;
    for (std::uint32_t i = 0; i < transmits_max; ++i) {
        const datagram::Transmit batch = endpoint_->next_transmit(now, scratch);
        if (batch.bytes == 0) return;
        if (batch.segment_bytes == 0 || batch.bytes > scratch.size() ||
            (batch.bytes + batch.segment_bytes - 1) / batch.segment_bytes != batch.count) {
            return common_.judge->fail("node " + std::to_string(self_) +
                                       ": the sizes in a batch of datagrams are inconsistent");
        }
        if (!is_sent(batch)) continue;
        for (std::uint32_t at = 0; at < batch.bytes; at += batch.segment_bytes) {
            const std::uint32_t bytes = std::min(batch.segment_bytes, batch.bytes - at);
            send_one(now, batch, std::span(scratch).subspan(at, bytes));
        }
    }
    common_.judge->fail("node " + std::to_string(self_) + " sends without end");
}

void Node::send_one(Time now, const datagram::Transmit& batch, std::span<const std::byte> bytes) {
    NodeId to = 0;
    if (Network::node_at(batch.to, common_.plan->nodes, to)) {
        Sight& sight = sights_[to];
        sight.asked = std::min(sight.asked, now);
        if (now >= sight.slice + s) {
            sight.slice = now;
            sight.sent_in_slice = 0;
        }
        if (now > sight.sent + storm_gap_ns) sight.busy = now;
        sight.sent = now;
        // A CLOSE answers a received datagram, and their number is limited (WIRE-82).
        const bool is_answer = type_of(bytes) == datagram::PacketType::close;
        const bool is_silent =
            !is_answer && now > std::max({sight.heard, sight.busy, paused_until_}) + silence_ns;
        if (is_silent && ++sight.sent_in_slice > silent_sends_max) {
            common_.judge->fail("node " + std::to_string(self_) +
                                " sends too many datagrams to node " + std::to_string(to) +
                                ", which is silent");
        }
        common_.judge->tell("node %u sends %zu B to node %u, type %u", self_, bytes.size(), to,
                            static_cast<unsigned>(type_of(bytes)));
    }
    common_.network->send(self_, incarnation_, batch.to, bytes, batch.may_fragment);
}

void Node::on_settle(const AgendaEntry& event) {
    router_->set_now(common_.agenda->now());
    if (placement_->on_event(event)) wake_at(std::max(common_.agenda->now(), paused_until_));
}

void Node::restart() {
    common_.judge->tell("node %u is restarted", self_);
    ++incarnation_;
    (*common_.incarnations)[self_] = incarnation_;
    common_.referee->restart(self_);
    common_.network->drop_socket(self_);
    endpoint_.reset();
    router_.reset();
    // The new instance has severed no one and has seen nothing.
    sights_.assign(common_.plan->nodes, Sight{});
    taken_ = NonceLedger();
    std::fill((*common_.cuts)[self_].begin(), (*common_.cuts)[self_].end(), std::uint8_t{0});
    paused_until_ = 0;
    if (!start()) return;
    router_->set_now(common_.agenda->now());
    for (std::uint32_t process = common_.plan->first_process[self_];
         process < common_.plan->first_process[self_ + 1]; ++process) {
        // Processes that died stay dead; the new router reports them to the other nodes again.
        if (common_.referee->is_dead(process))
            router_->note_death(process, Casualties::end_of(process));
    }
    wake_at(common_.agenda->now());
}

void Node::kill(std::uint32_t process) {
    if (common_.referee->is_dead(process)) return;
    common_.referee->kill(process);
    router_->set_now(common_.agenda->now());
    router_->note_death(process, Casualties::end_of(process));
    wake_at(common_.agenda->now());
}

void Node::sever(NodeId other) {
    sights_[other].is_told = true;
    endpoint_->sever(other);
    wake_at(common_.agenda->now());
}

void Node::close() {
    is_closed_ = true;
    endpoint_->close();
    wake_at(common_.agenda->now());
}

bool Node::is_at_rest() const noexcept {
    const bool is_idle =
        router_->is_idle() || (common_.referee->is_meeting_stuck() && router_->outstanding() == 0);
    return is_idle && endpoint_->is_quiet() && placement_->pending() == 0;
}

std::string Node::unrest() const {
    std::string text = "node " + std::to_string(self_) + ":";
    if (!endpoint_->is_quiet()) text += " its endpoint waits for acknowledgements";
    if (!router_->is_idle()) {
        text +=
            " its router is not idle (" + std::to_string(router_->outstanding()) + " outstanding)";
    }
    if (placement_->pending() != 0) text += " its memory has accesses that have not settled";
    return text;
}

std::string Node::leaks() const {
    if (endpoint_->free_buffers() + common_.plan->nodes - 1 >= full_buffers_) return {};
    return "node " + std::to_string(self_) + " has " + std::to_string(endpoint_->free_buffers()) +
           " of " + std::to_string(full_buffers_) + " buffers at rest";
}

void Node::tell_counters() const {
    if (!common_.judge->is_telling() || endpoint_ == nullptr) return;
    std::string text;
    for (const datagram::CounterName& counter : datagram::counter_names) {
        const std::uint64_t value = endpoint_->counters().*counter.member;
        if (value != 0) text += std::string(" ") + counter.name + " " + std::to_string(value);
    }
    common_.judge->tell("node %u:%s", self_, text.c_str());
}

void Node::check_counters() {
    const datagram::EndpointCounters& counters = endpoint_->counters();
    // These counters rise only for authenticated datagrams, so any increase is a defect of an
    // endpoint. With security off, corrupted datagrams pass for authentic.
    const char* wrong = counters.malformed != 0       ? "malformed datagrams"
                        : counters.unknown_frame != 0 ? "unknown frames"
                        : counters.beyond_window != 0 ? "delivery numbers beyond its window"
                        : counters.unsent_acknowledged != 0
                            ? "acknowledgements of datagrams it never sent"
                        : counters.wrong_job != 0      ? "datagrams of another job"
                        : counters.wrong_features != 0 ? "datagrams with other features"
                                                       : nullptr;
    if (wrong != nullptr && common_.plan->security != base::Security::off) {
        common_.judge->fail("node " + std::to_string(self_) + " counts authentic " + wrong);
    }
}

void Node::on_frames(NodeId from, datagram::Bytes frames) {
    if (from >= common_.plan->nodes || from == self_) {
        return common_.judge->fail("frames from no other node");
    }
    if (sights_[from].is_severed) {
        return common_.judge->fail("node " + std::to_string(self_) + " takes frames of node " +
                                   std::to_string(from) + ", which it has severed");
    }
    router_->on_frames(from, frames);
}

void Node::on_room(NodeId node) {
    router_->on_room(node);
    ++news_;
}

// Whether a fault kept content from that node during the last peer timeout.
bool Node::may_have_stalled(NodeId node, Time now) const {
    const Time timeout = common_.plan->peer_timeout_ns;
    const auto keeps_it = [&](const PlannedFault& fault) {
        if (fault.from >= now || fault.until + timeout <= now) return false;
        switch (fault.kind) {
            case FaultKind::one_way:
            case FaultKind::mtu_hole:
                return fault.a == self_ && fault.b == node;
            case FaultKind::isolate:
                return fault.a == self_ || fault.a == node;
            case FaultKind::split:
                return (self_ < fault.a) != (node < fault.a);
            default:
                return false;
        }
    };
    const std::vector<PlannedFault>& faults = common_.plan->faults;
    return now >= timeout && std::any_of(faults.begin(), faults.end(), keeps_it);
}

void Node::judge_severed(NodeId node, datagram::SeverReason reason) {
    const Sight& sight = sights_[node];
    const Time now = common_.agenda->now();
    const bool is_other_new = (*common_.incarnations)[node] != 0 || incarnation_ != 0;
    constexpr Time slack = 2 * ms;
    bool is_right = true;
    const bool is_given_up = reason == datagram::SeverReason::silent ||
                             reason == datagram::SeverReason::unreachable ||
                             reason == datagram::SeverReason::stalled;
    // NOLINTNEXTLINE(bugprone-branch-clone): each branch has a reason of its own
    if (common_.plan->attack.is_on() && common_.plan->is_calm() && is_given_up) {
        // No fault of the network explains it, only the attacker; and a node that another one
        // severed gets a CLOSE.
        is_right = false;
    } else if (reason == datagram::SeverReason::silent) {
        // Right if nothing arrived from the node for the timeout, and datagrams were sent to it for
        // a quarter of it.
        const Time timeout = common_.plan->peer_timeout_ns;
        is_right = now - sight.heard + slack >= timeout &&
                   now - std::min(sight.asked, now) + slack >= timeout / 4;
    } else if (reason == datagram::SeverReason::unreachable) {
        is_right = now >= common_.plan->connect_timeout_ns;
    } else if (reason == datagram::SeverReason::stalled) {
        is_right = may_have_stalled(node, now);
    } else if (reason == datagram::SeverReason::restarted) {
        is_right = is_other_new;
    } else if (datagram::is_told_by_it(reason)) {
        is_right = is_other_new || (*common_.cuts)[node][self_] != 0;
    } else if (reason == datagram::SeverReason::told) {
        // The fault called sever(), or the router did: other nodes reported the loss to it, or it
        // was restarted and lacks the state for the node's frames.
        is_right = sight.is_told || common_.referee->is_broken(node) || incarnation_ != 0;
    } else {
        is_right = false;
    }
    if (is_right) return;
    common_.judge->fail("node " + std::to_string(self_) + " severs node " + std::to_string(node) +
                        " for reason " + std::to_string(static_cast<int>(reason)) +
                        ", which does not hold");
}

void Node::on_severed(NodeId node, datagram::SeverReason reason) {
    common_.judge->note((std::uint64_t{self_} << 32) ^ node ^
                        (static_cast<std::uint64_t>(reason) << 60));
    common_.judge->tell("node %u severs node %u, reason %d", self_, node, static_cast<int>(reason));
    if (sights_[node].is_severed) {
        return common_.judge->fail("node " + std::to_string(self_) + " severs node " +
                                   std::to_string(node) + " twice");
    }
    judge_severed(node, reason);
    sights_[node].is_severed = true;
    (*common_.cuts)[self_][node] = 1;
    common_.referee->cut(self_, node);
    router_->on_severed(node, reason);
    ++news_;
}

void Node::on_completion(const router::CommandEnd& completion) {
    ++news_;
    common_.referee->on_completion(self_, completion);
}

void Node::on_result(const router::CommandEnd& completion, std::span<const std::byte> result) {
    ++news_;
    common_.referee->on_result(self_, completion.initiator, completion.token, result);
}

void Node::on_process_dead(std::uint32_t process, const base::ProcessEnd& end) {
    common_.referee->on_process_dead(self_, process, end);
}

void Node::on_node_dead(NodeId node) {
    common_.referee->on_node_dead(self_, node);
}

void Node::on_met(std::uint32_t number, std::span<const std::uint32_t> table) {
    ++news_;
    common_.referee->on_met(self_, number, table);
}

}  // namespace acp::sim
