// SPDX-License-Identifier: BSD-3-Clause
// The events of the modelled link: sending, queueing, arrival, acknowledgement. One thread.
#include "sim/link_model.hpp"

#include <algorithm>
#include <utility>

namespace acp::sim {

using datagram::AckRanges;
using datagram::CongestionSample;
using datagram::never;
using datagram::SentDatagram;

struct LinkModel::Flow {
    Flow(std::uint32_t number, datagram::SentPool& pool, const LinkSettings& settings)
        : index(number),
          sent(pool),
          congestion(datagram::make_congestion(settings.control, settings.datagram_bytes)) {}

    std::uint32_t index;
    // The sender's state.
    datagram::SentDatagrams sent;
    datagram::RttEstimator rtt{10'000'000};
    datagram::LossDetector losses;
    datagram::ProbeTimer probes;
    std::unique_ptr<datagram::Congestion> congestion;
    datagram::Pacer pacer;
    PacketNumber next = 0;
    Time planned = never;
    Time ready = 0;  // when the sender's processor is free to make more datagrams
    std::uint32_t allowed_probes = 0;
    std::uint16_t marked_heard = 0;
    // The receiver's state.
    AckRanges ranges;
    std::uint16_t marked = 0;
    std::uint64_t arrived = 0;
};

struct LinkModel::Rival {
    std::uint32_t index = 0;
    Time alarm = never;  // time of the wake event scheduled; never: none
    TcpCubic tcp;
    std::uint64_t arrived = 0;
};

LinkModel::LinkModel(const LinkSettings& settings)
    : settings_(settings), random_(settings.seed), pool_(8192), active_flows_(settings.flows) {
    for (std::uint32_t i = 0; i < settings.flows; ++i) {
        flows_.push_back(std::make_unique<Flow>(i, pool_, settings));
        Flow& flow = *flows_.back();
        flow.pacer.set_rate(flow.congestion->pacing_window_bytes(), flow.rtt.smoothed(), true);
        flow.planned = settings.flows_begin_ns + i * settings.stagger_ns;
        schedule(flow.planned, Kind::wake, i, 0);
    }
    for (std::uint32_t i = 0; i < settings.rivals; ++i) {
        rivals_.push_back(std::make_unique<Rival>());
        rivals_.back()->index = i;
        schedule(0, Kind::rival_wake, i, 0);
    }
}

LinkModel::~LinkModel() = default;

void LinkModel::schedule(Time at, Kind kind, std::uint32_t flow, std::uint64_t cargo) {
    events_.push(LinkEvent{at, ++order_, kind, flow, cargo});
}

void LinkModel::run_until(Time end) {
    while (!events_.empty() && events_.top().at <= end) {
        const LinkEvent event = events_.top();
        events_.pop();
        now_ = event.at;
        handle(event);
    }
    now_ = end;
}

void LinkModel::handle(const LinkEvent& event) {
    const auto cargo = static_cast<std::uint32_t>(event.cargo);
    switch (event.kind) {
        case Kind::wake:
            if (event.at == flows_[event.flow]->planned) wake(*flows_[event.flow]);
            break;
        case Kind::arrive:
            arrive(*flows_[event.flow], cargo);
            break;
        case Kind::acknowledge:
            free_acks_.push_back(cargo);
            acknowledge(*flows_[event.flow], acks_[cargo]);
            break;
        case Kind::rival_wake:
            rivals_[event.flow]->alarm = never;
            rivals_[event.flow]->tcp.on_timeout(now_);
            send(*rivals_[event.flow]);
            break;
        case Kind::rival_acknowledge:
            acknowledge(*rivals_[event.flow], event.cargo);
            break;
    }
}

// A datagram reaches the queue. Returns whether it fits; then busy_until_ is when it has left the
// queue.
bool LinkModel::enqueue(double at, bool& is_marked) {
    const double one = settings_.datagram_bytes;
    const double queued = std::max(0.0, busy_until_ - at) * settings_.bytes_per_ns;
    if (queued + one > static_cast<double>(settings_.queue_bytes)) return false;
    measured_.queue_max = std::max(measured_.queue_max, static_cast<std::uint64_t>(queued + one));
    busy_until_ = std::max(busy_until_, at) + one / settings_.bytes_per_ns;
    is_marked = queued > static_cast<double>(settings_.mark_above_bytes);
    return true;
}

// Sends all that the TCP sender's window allows, at once: TCP is not paced here.
void LinkModel::send(Rival& rival) {
    if (!are_rivals_active_) return;
    for (std::uint64_t room = rival.tcp.room(); room != 0; --room) {
        const std::uint64_t segment = rival.tcp.send(now_);
        bool is_marked = false;
        if (static_cast<double>(random_.below(1U << 30)) < settings_.loss * (1U << 30)) continue;
        if (!enqueue(static_cast<double>(now_), is_marked)) continue;
        schedule(static_cast<Time>(busy_until_) + settings_.base_rtt_ns, Kind::rival_acknowledge,
                 rival.index, segment);
    }
    // One alarm is enough: when it expires, the sender compares the clock with its deadline, which
    // every acknowledgement moves.
    if (rival.tcp.deadline() != never && rival.alarm == never) {
        rival.alarm = std::max(rival.tcp.deadline(), now_ + 1);
        schedule(rival.alarm, Kind::rival_wake, rival.index, 0);
    }
}

void LinkModel::acknowledge(Rival& rival, std::uint64_t segment) {
    ++rival.arrived;
    rival.tcp.on_ack(now_, segment);
    send(rival);
}

void LinkModel::wake(Flow& flow) {
    flow.planned = never;
    if (flow.losses.deadline() <= now_) {
        SettledPackets settled;
        const std::uint64_t in_flight = flow.sent.bytes_in_flight();
        flow.losses.detect(flow.sent, now_, flow.rtt, settled, [](auto, const auto&) {});
        tell(flow, settled, nullptr, in_flight);
    }
    if (flow.probes.deadline() <= now_) {
        flow.allowed_probes = flow.probes.expire(now_, flow.rtt);
        if (flow.probes.is_persistent()) {
            SettledPackets settled;
            flow.losses.lose_all(flow.sent, settled, [](auto, const auto&) {});
            flow.congestion->on_silence();
        }
    }
    send(flow);
}

void LinkModel::send(Flow& flow) {
    const std::uint64_t one = settings_.datagram_bytes;
    while (flow.index < active_flows_) {
        const std::uint64_t window =
            std::min(flow.congestion->window_bytes(), settings_.credit_datagrams * one);
        const std::uint64_t in_flight = flow.sent.bytes_in_flight();
        std::uint64_t burst = flow.pacer.burst_bytes(settings_.datagram_bytes);
        burst = std::min(burst, window - std::min(window, in_flight)) / one;
        if (!flow.pacer.may_send(now_) || flow.ready > now_) burst = 0;
        // A probe timeout sends its probes regardless of window and pacer.
        if (flow.allowed_probes != 0) burst = std::exchange(flow.allowed_probes, 0);
        if (burst == 0) break;
        const auto made =
            static_cast<Time>(static_cast<double>(burst * one) / settings_.sender_bytes_per_ns);
        flow.ready = now_ + made;
        const PacketNumber first = flow.next;
        for (std::uint64_t i = 0; i < burst && flow.sent.has_room(flow.next); ++i) {
            flow.sent.add(flow.next++,
                          SentDatagram{.sent = now_, .bytes = static_cast<std::uint32_t>(one)});
        }
        if (flow.next == first) break;
        carry(flow, first);
        flow.pacer.on_sent(now_, burst * one);
        if (flow.probes.deadline() == never) flow.probes.arm(now_, flow.rtt);
        measured_.in_flight_max = std::max(measured_.in_flight_max, flow.sent.bytes_in_flight());
    }
    plan_wake(flow);
}

void LinkModel::plan_wake(Flow& flow) {
    Time at = std::min(flow.losses.deadline(), flow.probes.deadline());
    const bool has_window = flow.sent.bytes_in_flight() + settings_.datagram_bytes <=
                            std::min(flow.congestion->window_bytes(),
                                     settings_.credit_datagrams * settings_.datagram_bytes);
    if (has_window && flow.index < active_flows_) {
        at = std::min(at, std::max(flow.pacer.deadline(), flow.ready));
    }
    at = std::max(at, now_ + 1);
    // An earlier wake event is scheduled, and will plan the next one.
    if (at >= flow.planned && flow.planned > now_) return;
    flow.planned = at;
    if (at != never) schedule(at, Kind::wake, flow.index, 0);
}

// Puts the flow's datagrams from `first` on into the queue at the time they are made, and schedules
// their arrival.
void LinkModel::carry(Flow& flow, PacketNumber first) {
    const auto at = static_cast<double>(flow.ready);
    // Datagrams arrive in groups of ack_every, for each of which the receiver sends one
    // acknowledgement. A group arrives when its last datagram has left the queue.
    Packets told;
    const auto pass_on = [&](Time done) {
        if (told.numbers.empty()) return;
        std::uint32_t cargo = 0;
        if (free_packets_.empty()) {
            cargo = static_cast<std::uint32_t>(packets_.size());
            packets_.emplace_back();
        } else {
            cargo = free_packets_.back();
            free_packets_.pop_back();
        }
        std::swap(packets_[cargo], told);
        told = Packets{};
        schedule(done + settings_.base_rtt_ns / 2, Kind::arrive, flow.index, cargo);
    };
    for (PacketNumber number = first; number < flow.next; ++number) {
        bool is_marked = false;
        ++measured_.sent;
        if (static_cast<double>(random_.below(1U << 30)) < settings_.loss * (1U << 30)) continue;
        if (!enqueue(at, is_marked)) {
            ++measured_.dropped;
            continue;
        }
        told.numbers.push_back(number);
        told.marked += is_marked ? 1 : 0;
        if (told.numbers.size() == settings_.ack_every) pass_on(static_cast<Time>(busy_until_));
    }
    pass_on(static_cast<Time>(busy_until_));
}

void LinkModel::arrive(Flow& flow, std::uint32_t cargo) {
    Packets& packets = packets_[cargo];
    for (const PacketNumber number : packets.numbers) {
        if (flow.ranges.look(number) == AckRanges::Seen::fresh) {
            flow.ranges.record(now_, number, true);
            ++flow.arrived;
        }
    }
    flow.marked = static_cast<std::uint16_t>(flow.marked + packets.marked);
    packets.numbers.clear();
    packets.marked = 0;
    free_packets_.push_back(cargo);
    std::uint32_t slot = 0;
    if (free_acks_.empty()) {
        slot = static_cast<std::uint32_t>(acks_.size());
        acks_.emplace_back();
    } else {
        slot = free_acks_.back();
        free_acks_.pop_back();
    }
    flow.ranges.report(now_, acks_[slot]);
    acks_[slot].marked = flow.marked;
    schedule(now_ + settings_.base_rtt_ns / 2, Kind::acknowledge, flow.index, slot);
}

void LinkModel::acknowledge(Flow& flow, const AckFrame& frame) {
    const AckFrame ack = frame;
    const std::uint64_t in_flight = flow.sent.bytes_in_flight();
    SettledPackets settled = flow.losses.on_ack(flow.sent, ack, [](auto, const auto&) {});
    if (settled.largest_sent != never) flow.rtt.sample(now_, settled.largest_sent, ack.delay_ns);
    flow.losses.detect(flow.sent, now_, flow.rtt, settled, [](auto, const auto&) {});
    if (settled.acked != 0) flow.probes.on_ack();
    if (flow.sent.count() == 0) {
        flow.probes.disarm();
    } else {
        flow.probes.arm(now_, flow.rtt);
    }
    if (settled.spurious != 0) flow.congestion->on_spurious();
    tell(flow, settled, &ack, in_flight);
    send(flow);
}

void LinkModel::tell(Flow& flow,
                     const SettledPackets& settled,
                     const AckFrame* ack,
                     std::uint64_t in_flight) const {
    CongestionSample sample;
    sample.now = now_;
    sample.acked_bytes = settled.acked_bytes;
    sample.acked = settled.acked;
    sample.lost_bytes = settled.lost_bytes;
    sample.lost = settled.lost;
    sample.newest_lost_sent = settled.newest_lost_sent;
    if (ack != nullptr) {
        sample.marked = static_cast<std::uint16_t>(ack->marked - flow.marked_heard);
        flow.marked_heard = ack->marked;
        sample.is_drain_asked = ack->is_drain;
    }
    sample.sent = settled.largest_sent;
    sample.rtt_ns = flow.rtt.latest();
    sample.smoothed_rtt_ns = flow.rtt.smoothed();
    sample.in_flight = in_flight;
    sample.datagram_bytes = settings_.datagram_bytes;
    flow.congestion->on_sample(sample);
    flow.pacer.on_settled(now_, settled.acked, settled.lost, settled.lost_together,
                          settled.newest_lost_sent);
    flow.pacer.set_rate(flow.congestion->pacing_window_bytes(), flow.rtt.smoothed(),
                        flow.congestion->is_slow_start());
}

void LinkModel::measure_from_here() {
    measured_ = Measured{};
    measured_.from = now_;
    for (const auto& flow : flows_) flow->arrived = 0;
    for (const auto& rival : rivals_) rival->arrived = 0;
}

double LinkModel::share_beside_rivals() const {
    double ours = 0;
    double theirs = 0;
    for (const auto& flow : flows_) ours += static_cast<double>(flow->arrived);
    for (const auto& rival : rivals_) theirs += static_cast<double>(rival->arrived);
    return ours * static_cast<double>(rivals_.size()) /
           (std::max(theirs, 1.0) * static_cast<double>(flows_.size()));
}

double LinkModel::loss() const {
    return static_cast<double>(measured_.dropped) /
           static_cast<double>(std::max<std::uint64_t>(measured_.sent, 1));
}

std::uint64_t LinkModel::rival_window() const {
    return static_cast<std::uint64_t>(rivals_.front()->tcp.window() * settings_.datagram_bytes);
}

const datagram::Congestion& LinkModel::congestion(std::size_t flow) const {
    return *flows_[flow]->congestion;
}

double LinkModel::utilisation() const {
    double arrived = 0;
    for (const auto& flow : flows_) arrived += static_cast<double>(flow->arrived);
    for (const auto& rival : rivals_) arrived += static_cast<double>(rival->arrived);
    return arrived * settings_.datagram_bytes /
           (settings_.bytes_per_ns * static_cast<double>(now_ - measured_.from));
}

double LinkModel::fairness() const {
    double sum = 0;
    double squares = 0;
    for (const auto& flow : flows_) {
        const auto arrived = static_cast<double>(flow->arrived);
        sum += arrived;
        squares += arrived * arrived;
    }
    return squares == 0 ? 0 : sum * sum / (squares * static_cast<double>(flows_.size()));
}

std::uint64_t LinkModel::window(std::size_t flow) const {
    return flows_[flow]->congestion->window_bytes();
}

std::uint64_t LinkModel::pacing_window(std::size_t flow) const {
    return flows_[flow]->congestion->pacing_window_bytes();
}

}  // namespace acp::sim
