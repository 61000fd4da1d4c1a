// SPDX-License-Identifier: BSD-3-Clause
// How long a thread looks for what it waits for before it sleeps: one row for each case that a machine and a job can be
// in. The case is decided by two questions: has every thread that waits a CPU of its own, and what does one look cost.
// node/wait.hpp does what the row says. Pure.
// Figures and reasons: ADR 0004. Tests: tests/unit/node/wait_policy_test.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace acp::node {

// cheap: a few loads of shared memory. dear: a system call, because the thread itself must ask the network; then the
// answer comes from another node, and takes as long as several looks.
enum class LookCost : std::uint8_t { cheap, dear };

enum class WaitCase : std::uint8_t {
    own_cpu,       // each thread that waits has a CPU of its own
    own_cpu_dear,  // the same, and looks are dear
    crowded,       // more threads wait than there are CPUs
    crowded_dear,  // more ranks than CPUs, and looks are dear
    cpu_per_rank_dear,  // a CPU for each rank, but not for all the threads of one that wait as this one does
    cpu_per_thread_dear,  // a CPU for each thread that waits as this one does, but not for all the ranks' service threads
};
inline constexpr std::uint32_t wait_case_count = 6;

struct WaitPolicy {
    std::string_view name;
    LookCost look_cost = LookCost::cheap;
    // Looks before the first yield or the first look at the clock; looks_learned: as many as the last poll found worth it.
    int first_looks = 0;
    int query_looks = 0;       // the same for a wait of timeout 0, which ends after them
    bool is_yielding = false;  // between looks: gives the CPU to others; else the thread spins
    int yield_looks = 0;  // between two yields; looks_learned: more while nobody else wants the CPU
    bool is_napping =
        false;  // a thread that always finds others on its CPU naps, so that the kernel moves it
    std::uint64_t poll_ns = 0;  // for how long it looks without any progress before it sleeps
    std::uint64_t stay_ns =
        0;  // for how long it spins instead while yields do not pay; 0: it sleeps at once
    std::uint64_t long_yield_ns = 0;  // a yield that took longer met a thread that computes
};

inline constexpr int looks_learned = -1;

// The load of a machine, as a thread that is about to wait sees it.
struct WaitLoad {
    std::uint32_t ranks = 1;             // on this machine
    std::uint32_t cpus = 1;              // that they may use
    std::uint32_t threads_per_rank = 1;  // that wait as this one does
};

// The case of a thread. Where looks are dear the service thread of each rank counts as well: it listens to the network while
// the rank computes, and may find itself on the CPU of a thread that waits for its answer.
[[nodiscard]] WaitCase wait_case_of(const WaitLoad& load, LookCost look_cost) noexcept;

// The row of a case. Times grow with the number of threads per CPU.
[[nodiscard]] WaitPolicy wait_policy(WaitCase which, const WaitLoad& load) noexcept;

// For how long a service thread naps at most while other threads of its process do its work (gma/service_sleep.hpp): as much
// longer as there are more ranks than CPUs, so that the naps of all ranks together take the same share of a CPU. Not
// longer than ranks that compute may keep each other waiting anyway.
[[nodiscard]] std::int64_t service_nap_max_ns(const WaitLoad& load) noexcept;

}  // namespace acp::node
