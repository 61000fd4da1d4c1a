// SPDX-License-Identifier: BSD-3-Clause
// What a seed decides before anything runs: how many nodes and processes, how their links behave, which faults
// come when, how memory answers and how much there is to do. A value, made from the seed alone; any thread.
// Tests: tests/unit/sim/plan_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/datagram_modes.hpp"
#include "base/random.hpp"
#include "sim/judge.hpp"

namespace acp::sim {

enum class Scale : std::uint8_t { small, full };

inline constexpr std::uint32_t nodes_max = 64;
inline constexpr std::uint32_t reorder_span_max = 256;
inline constexpr std::uint32_t million = 1'000'000;
inline constexpr std::uint64_t kib = 1024;
inline constexpr std::uint64_t mib = 1024 * kib;

// One direction of every pair of nodes, while faults are on. Chances are in parts per million.
struct LinkPlan {
    Time delay_ns = 50 * us;
    Time jitter_ns = 0;
    std::uint32_t ns_per_kib = 800;  // 10 Gb/s
    std::uint32_t queue_bytes = 1U << 20;
    std::uint32_t loss_ppm = 0;
    std::uint32_t burst_enter_ppm = 0;  // of falling into a burst, in which everything is lost
    std::uint32_t burst_leave_ppm = million;
    std::uint32_t duplicate_ppm = 0;
    Time duplicate_late_ns = 0;  // a copy comes up to that much later
    std::uint32_t reorder_ppm = 0;
    std::uint32_t reorder_span = 0;  // datagrams that may overtake
    std::uint32_t corrupt_ppm = 0;
};

// Somebody without a key who copies and forges, while faults are on (sim/attacker.hpp). All 0: nobody.
struct AttackPlan {
    std::uint32_t copy_ppm = 0;       // of handshake messages: sent again from elsewhere
    std::uint32_t data_copy_ppm = 0;  // of data
    bool overtakes = false;           // the first copy arrives before the original
    Time late_ns = 0;                 // else up to so much after it
    std::uint32_t repeats = 0;        // of each copy, and of each forgery at once
    Time repeat_ns = 100 * ms;
    Time forge_every_ns = 0;       // data in the name of another; 0: never
    std::uint32_t icmp_ppm = 0;    // of sends that find an error which a forged ICMP message left
    bool takes_asker_off = false;  // a node that asks is cut off for good, its question copied on

    [[nodiscard]] bool is_on() const noexcept {
        return copy_ppm != 0 || data_copy_ppm != 0 || forge_every_ns != 0 || icmp_ppm != 0;
    }
};

enum class FaultKind : std::uint8_t {
    one_way,   // a to b: nothing arrives
    isolate,   // a and everybody else, both ways
    split,     // nodes below a and the others
    mtu_hole,  // a to b: datagrams above `bytes` vanish unless they may be cut
    pause,     // node a stands still
    restart,   // node a's gateway begins anew, its processes are gone; `until` is not used
    death,     // process a dies
    sever      // node a is told to sever b
};

struct PlannedFault {
    FaultKind kind = FaultKind::one_way;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t bytes = 0;
    Time from = 0;
    Time until = 0;
};

// How a process's memory answers the router.
enum class MemoryManner : std::uint8_t {
    prompt,    // settles in the call
    batched,   // settles in flush()
    late,      // settles some time later
    reluctant  // refuses for a while now and then, else prompt or late
};

struct Plan {
    std::uint64_t seed = 0;
    NodeId nodes = 2;
    NodeId silent_nodes = 0;  // more of the job, of which nothing is ever heard: not simulated
    std::vector<std::uint32_t> first_process;  // nodes + 1 of them
    std::vector<MemoryManner> manners;         // per process

    std::uint32_t datagram_bytes = 1472;
    std::uint32_t datagram_bytes_max = 1472;
    base::Security security = base::Security::encrypt;
    base::CongestionAlgorithm control = base::CongestionAlgorithm::delay;
    std::uint32_t send_buffers = 256;
    std::uint64_t receive_bytes = 1U << 20;
    Time peer_timeout_ns = 10 * s;
    Time connect_timeout_ns = 5 * s;
    std::uint32_t key_packets_log2 = 22;
    std::uint32_t first_delivery = 0;
    Time idle_fold_ns = 60 * s;
    std::uint32_t commands_max = 64;
    std::uint32_t executions_max = 64;
    std::uint64_t undelivered_bytes_max = 64 * kib;

    LinkPlan link;
    AttackPlan attack;
    std::vector<PlannedFault> faults;
    Time faults_end = 0;  // from here on every link is clean and every node runs

    std::uint32_t steps = 8;  // per process
    std::uint64_t copy_bytes_max = 4096;
    Time gap_ns_max = 100 * us;  // between two steps of a process
    std::uint32_t meetings = 0;
    bool has_bad_addresses = false;
    bool is_closed_by_one = false;  // at the end node 0 leaves and all others hear of it

    [[nodiscard]] std::uint32_t procs() const noexcept { return first_process.back(); }

    [[nodiscard]] NodeId node_of(std::uint32_t process) const noexcept;

    // The network carries everything and every gateway runs all the time: whoever gives a node up was made to.
    [[nodiscard]] bool is_calm() const noexcept;
};

[[nodiscard]] Plan make_plan(std::uint64_t seed, Scale scale);

// Four nodes that work for a while every ten seconds, with every fault that heals by itself; the faults of one
// round are drawn `rounds` times.
[[nodiscard]] Plan make_soak_plan(std::uint64_t seed, std::uint32_t rounds);

inline constexpr Time soak_round_ns = 10 * s;

// A few lines for people.
[[nodiscard]] std::string describe(const Plan& plan);

// A number low .. high, its logarithm evenly spread.   1 <= low <= high
[[nodiscard]] std::uint64_t log_uniform(base::Random& random,
                                        std::uint64_t low,
                                        std::uint64_t high);

// True `ppm` times in a million.
[[nodiscard]] inline bool chance(base::Random& random, std::uint32_t ppm) noexcept {
    return ppm != 0 && random.below(million) < ppm;
}

}  // namespace acp::sim
