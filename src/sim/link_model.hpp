// SPDX-License-Identifier: BSD-3-Clause
// A modelled link on which the real parts of the protocol run: senders with all the data in the world, one queue
// that drops what does not fit, random loss, a receiver that acknowledges by batches, and, where asked for, TCP
// senders (TcpCubic) that use the same queue. Acknowledgements are not lost. Events have times of their own; nothing
// reads a clock, and the same settings give the same run. One thread.
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
    Time base_rtt_ns = 30'000;
    std::uint64_t queue_bytes = 4U << 20;
    std::uint64_t mark_above_bytes = ~0ULL;  // of queue: datagrams that find more are marked
    double loss = 0;                         // probability per datagram
    std::uint32_t flows = 1;
    std::uint32_t rivals = 0;  // TCP senders beside them, from the beginning
    Time flows_begin_ns = 0;   // the first flow's begin
    Time stagger_ns = 0;       // flow k begins at k times this
    std::uint32_t datagram_bytes = 1472;
    std::uint32_t ack_every = 8;            // datagrams per acknowledgement, at most
    double sender_bytes_per_ns = 1e9;       // how fast a sender makes datagrams
    std::uint64_t credit_datagrams = 3600;  // per flow, at most in flight
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

    // Forgets what was measured so far.
    void measure_from_here();

    [[nodiscard]] double utilisation() const;  // of the link, by datagrams that arrived
    [[nodiscard]] double fairness() const;     // Jain's index of what the flows got

    // What a flow got on average, as a multiple of what a rival got.   rivals > 0
    [[nodiscard]] double share_beside_rivals() const;

    // Of what the flows sent, how much was dropped for want of room.
    [[nodiscard]] double loss() const;

    [[nodiscard]] std::uint64_t rival_window() const;  // of the first, in bytes

    [[nodiscard]] std::uint64_t queue_max() const { return measured_.queue_max; }

    [[nodiscard]] std::uint64_t dropped() const { return measured_.dropped; }  // for want of room

    [[nodiscard]] std::uint64_t window(std::size_t flow = 0) const;
    [[nodiscard]] std::uint64_t pacing_window(std::size_t flow = 0) const;

    [[nodiscard]] std::uint64_t in_flight_max() const { return measured_.in_flight_max; }

    [[nodiscard]] Time now() const { return now_; }

    [[nodiscard]] const datagram::Congestion& congestion(std::size_t flow = 0) const;

    // From now on.
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
        std::uint32_t flow = 0;   // or rival
        std::uint64_t cargo = 0;  // index of packets_ or acks_; a rival's segment

        bool operator<(const LinkEvent& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    struct Packets {
        std::vector<PacketNumber> numbers;
        std::uint32_t marked = 0;
    };

    // Since measure_from_here().
    struct Measured {
        Time from = 0;
        std::uint64_t queue_max = 0;
        std::uint64_t dropped = 0;  // for want of room: of the flows alone
        std::uint64_t sent = 0;     // by the flows
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
    std::uint64_t order_ = 0;
    Time now_ = 0;
    double busy_until_ = 0;
    Measured measured_;
    std::size_t active_flows_;
    bool are_rivals_active_ = true;
};

}  // namespace acp::sim
