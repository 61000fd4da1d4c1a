// SPDX-License-Identifier: BSD-3-Clause
// The plan of a run: how many nodes and processes there are, how their links behave, which faults
// happen when, how memory accesses settle, and how many commands there are. A value that follows
// from the seed alone; any thread.
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

// How one direction of every link behaves while faults are on. Chances are in parts per million.
struct LinkPlan {
    Time delay_ns = 50 * us;
    Time jitter_ns = 0;
    std::uint32_t ns_per_kib = 800;  // 10 Gb/s
    std::uint32_t queue_bytes = 1U << 20;
    std::uint32_t loss_ppm = 0;
    std::uint32_t burst_enter_ppm = 0;        // chance of a burst of losses to begin
    std::uint32_t burst_leave_ppm = million;  // chance of a burst to end, per datagram
    std::uint32_t duplicate_ppm = 0;
    Time duplicate_late_ns = 0;  // a duplicate arrives up to this much later
    std::uint32_t reorder_ppm = 0;
    std::uint32_t reorder_span = 0;  // most datagrams that overtake one
    std::uint32_t corrupt_ppm = 0;
};

// An attacker without a key, active while faults are on (sim/attacker.hpp). All zero: there is
// none.
struct AttackPlan {
    std::uint32_t copy_ppm = 0;       // chance of a handshake message to be copied
    std::uint32_t data_copy_ppm = 0;  // chance of data to be copied
    bool overtakes = false;           // the first copy arrives before the original
    Time late_ns = 0;                 // else the copy arrives up to this much after the original
    std::uint32_t repeats = 0;        // repetitions of each copy; forgeries sent at once
    Time repeat_ns = 100 * ms;
    Time forge_every_ns = 0;     // interval of forged data; 0: none
    std::uint32_t icmp_ppm = 0;  // chance of a send to find an error left by a forged ICMP message
    bool takes_asker_off = false;  // one node is cut off for good after its INIT

    [[nodiscard]] bool is_on() const noexcept {
        return copy_ppm != 0 || data_copy_ppm != 0 || forge_every_ns != 0 || icmp_ppm != 0;
    }
};

enum class FaultKind : std::uint8_t {
    one_way,   // nothing arrives from a at b
    isolate,   // nothing passes between a and all others
    split,     // nothing passes between nodes below a and the others
    mtu_hole,  // from a to b, datagrams above `bytes` vanish unless they may be fragmented
    pause,     // node a is stopped
    restart,   // node a's gateway restarts and its processes end; `until` is not used
    death,     // process a ends
    sever      // node a calls sever(b)
};

struct PlannedFault {
    FaultKind kind = FaultKind::one_way;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t bytes = 0;
    Time from = 0;
    Time until = 0;
};

// How accesses to a process's memory settle.
enum class MemoryManner : std::uint8_t {
    prompt,    // settles in the call
    batched,   // settles in flush()
    late,      // settles later, by an event
    reluctant  // now and then refuses for a while; else prompt or late
};

struct Plan {
    std::uint64_t seed = 0;
    NodeId nodes = 2;
    NodeId silent_nodes = 0;  // further nodes of the job, which never send anything: not simulated
    std::vector<std::uint32_t> first_process;  // nodes + 1 entries: first process of each node
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
    std::uint32_t first_delivery = 0;  // Settings::first_dsn
    Time idle_fold_ns = 60 * s;
    std::uint32_t commands_max = 64;
    std::uint32_t executions_max = 64;
    std::uint64_t undelivered_bytes_max = 64 * kib;

    LinkPlan link;
    AttackPlan attack;
    std::vector<PlannedFault> faults;
    Time faults_end = 0;  // from then on links are clean and nodes run

    std::uint32_t steps = 8;  // commands in each process's program
    std::uint64_t copy_bytes_max = 4096;
    Time gap_ns_max = 100 * us;  // longest pause between two steps of a process
    std::uint32_t meetings = 0;
    bool has_bad_addresses = false;  // programs contain commands with wrong addresses
    // at the end node 0 leaves, and all others must report it as lost
    bool is_closed_by_one = false;

    [[nodiscard]] std::uint32_t procs() const noexcept { return first_process.back(); }

    [[nodiscard]] NodeId node_of(std::uint32_t process) const noexcept;

    // Whether the network loses no datagram and all gateways run all the time: then only an
    // attacker can make a node sever another one unasked.
    [[nodiscard]] bool is_calm() const noexcept;
};

[[nodiscard]] Plan make_plan(std::uint64_t seed, Scale scale);

// Makes a plan for four nodes that work for a while every ten seconds, under every fault that heals
// by itself. The faults of one round are drawn `rounds` times.
[[nodiscard]] Plan make_soak_plan(std::uint64_t seed, std::uint32_t rounds);

inline constexpr Time soak_round_ns = 10 * s;

// Describes a plan in a few lines.
[[nodiscard]] std::string describe(const Plan& plan);

// A random number low .. high whose logarithm is uniformly distributed. 1 <= low <= high.
[[nodiscard]] std::uint64_t log_uniform(base::Random& random,
                                        std::uint64_t low,
                                        std::uint64_t high);

// True with a probability of ppm / 10^6.
[[nodiscard]] inline bool chance(base::Random& random, std::uint32_t ppm) noexcept {
    return ppm != 0 && random.below(million) < ppm;
}

}  // namespace acp::sim
