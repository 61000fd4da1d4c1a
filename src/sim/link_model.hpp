// SPDX-License-Identifier: BSD-3-Clause
// A modelled bottleneck link on which the real parts of the protocol run: senders with endless
// data; one queue that drops datagrams that do not fit (drop-tail); random loss; a receiver that
// acknowledges several datagrams at a time; and on request TCP senders (TcpCubic) that share the
// queue. Acknowledgements are not lost. A run depends on nothing but its settings: time is virtual,
// and chance comes from a seed. One thread.
// Tests: tests/unit/sim/congestion_link_test.cpp, rival_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "base/datagram_modes.hpp"
#include "base/random.hpp"
#include "datagram/ack_ranges.hpp"
#include "datagram/congestion.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/loss_detector.hpp"
#include "datagram/pacer.hpp"
#include "datagram/probe_timer.hpp"
#include "sim/tcp_cubic.hpp"

namespace acp::sim {

using datagram::AckFrame;
using datagram::PacketNumber;
using datagram::SettledPackets;

struct LinkSettings {
    double bytes_per_ns = 1.25;  // 10 Gb/s
    Time base_rtt_ns = 30'000;   // round trip with an empty queue
    std::uint64_t queue_bytes = 4U << 20;
    std::uint64_t mark_above_bytes = ~0ULL;  // datagrams that find a longer queue get an ECN mark
    double loss = 0;                         // probability of random loss per datagram
    std::uint32_t flows = 1;                 // senders that run the protocol
    std::uint32_t rivals = 0;                // TCP senders on the same link, from the beginning
    Time flows_begin_ns = 0;                 // when the first flow begins
    Time stagger_ns = 0;                     // flow k begins k times this later
    std::uint32_t datagram_bytes = 1472;
    std::uint32_t ack_every = 8;            // datagrams per acknowledgement, at most
    double sender_bytes_per_ns = 1e9;       // speed of a sender's processor
    std::uint64_t credit_datagrams = 3600;  // most datagrams in flight per flow
    base::CongestionAlgorithm control = base::CongestionAlgorithm::delay;
    std::uint64_t seed = 1;
};

class LinkModel {
public:
    explicit LinkModel(const LinkSettings& settings);
    ~LinkModel();
    LinkModel(const LinkModel&) = delete;
    LinkModel& operator=(const LinkModel&) = delete;

    void run_until(Time end);

    // Restarts the measurements.
    void measure_from_here();

    [[nodiscard]] double utilisation() const;  // arrived bytes as a share of the link's rate
    [[nodiscard]] double fairness() const;     // Jain's fairness index of the flows' arrived bytes

    // The mean rate of a flow divided by the mean rate of a TCP sender. Only with rivals.
    [[nodiscard]] double share_beside_rivals() const;

    // The share of the datagrams sent by the flows that the queue dropped.
    [[nodiscard]] double loss() const;

    [[nodiscard]] std::uint64_t rival_window() const;  // window of the first TCP sender, in bytes

    [[nodiscard]] std::uint64_t queue_max() const { return measured_.queue_max; }

    // Datagrams of the flows that the queue dropped.
    [[nodiscard]] std::uint64_t dropped() const { return measured_.dropped; }

    [[nodiscard]] std::uint64_t window(std::size_t flow = 0) const;
    [[nodiscard]] std::uint64_t pacing_window(std::size_t flow = 0) const;

    [[nodiscard]] std::uint64_t in_flight_max() const { return measured_.in_flight_max; }

    [[nodiscard]] Time now() const { return now_; }

    [[nodiscard]] const datagram::Congestion& congestion(std::size_t flow = 0) const;

    // Change settings during a run.
    void set_loss(double loss) { settings_.loss = loss; }

    void set_base_rtt(Time base_rtt_ns) { settings_.base_rtt_ns = base_rtt_ns; }

    void stop_rivals() { are_rivals_active_ = false; }

    void stop_flows_from(std::size_t first) { active_flows_ = first; }

private:
    struct Flow;
    struct Rival;
    enum class Kind : std::uint8_t { wake, arrive, acknowledge, rival_wake, rival_acknowledge };

    struct LinkEvent {
        Time at = 0;
        std::uint64_t order = 0;
        Kind kind = Kind::wake;
        std::uint32_t flow = 0;   // or number of the rival
        std::uint64_t cargo = 0;  // index in packets_ or acks_; a rival's segment number

        bool operator<(const LinkEvent& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    // The datagrams that one acknowledgement will report.
    struct Packets {
        std::vector<PacketNumber> numbers;
        std::uint32_t marked = 0;
    };

    // Measurements since measure_from_here().
    struct Measured {
        Time from = 0;
        std::uint64_t queue_max = 0;
        std::uint64_t dropped = 0;  // datagrams of the flows that the queue dropped
        std::uint64_t sent = 0;     // datagrams that the flows sent
        std::uint64_t in_flight_max = 0;
    };

    void schedule(Time at, Kind kind, std::uint32_t flow, std::uint64_t cargo);
    void handle(const LinkEvent& event);
    [[nodiscard]] bool enqueue(double at, bool& is_marked);
    void send(Rival& rival);
    void acknowledge(Rival& rival, std::uint64_t segment);
    void wake(Flow& flow);
    void send(Flow& flow);
    void carry(Flow& flow, PacketNumber first);
    void arrive(Flow& flow, std::uint32_t cargo);
    void acknowledge(Flow& flow, const AckFrame& frame);
    void tell(Flow& flow,
              const SettledPackets& settled,
              const AckFrame* ack,
              std::uint64_t in_flight) const;
    void plan_wake(Flow& flow);

    LinkSettings settings_;
    base::Random random_;
    datagram::SentPool pool_;
    std::vector<std::unique_ptr<Flow>> flows_;
    std::vector<std::unique_ptr<Rival>> rivals_;
    std::priority_queue<LinkEvent> events_;
    std::vector<Packets> packets_;
    std::vector<std::uint32_t> free_packets_;
    std::vector<AckFrame> acks_;
    std::vector<std::uint32_t> free_acks_;
    std::uint64_t order_ = 0;  // number of the next event, to order those of equal time
    Time now_ = 0;
    double busy_until_ = 0;  // when the link has sent all that is in the queue
    Measured measured_;
    std::size_t active_flows_;  // flows from this index on have stopped sending
    bool are_rivals_active_ = true;
};

}  // namespace acp::sim
