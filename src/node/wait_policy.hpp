// SPDX-License-Identifier: BSD-3-Clause
// How long a thread polls before it sleeps: one row for each case of machine and job. Two questions
// decide the case: does every waiting thread have a CPU of its own, and what does one poll cost?
// node/wait.hpp executes the row. Pure.
// Figures and reasons: ADR 0004. Tests: tests/unit/node/wait_policy_test.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace acp::node {

// cheap: a few loads of shared memory. dear: a system call, because the thread itself receives from
// the network; then the answer comes from another node, and takes as long as several polls.
enum class LookCost : std::uint8_t { cheap, dear };

enum class WaitCase : std::uint8_t {
    own_cpu,       // each waiting thread has a CPU of its own
    own_cpu_dear,  // each waiting thread has a CPU of its own, and polls are dear
    crowded,       // more threads wait than there are CPUs
    crowded_dear,  // more ranks than CPUs, and polls are dear
    // a CPU for each rank, but not for all threads of a rank that wait like this one
    cpu_per_rank_dear,
    // a CPU for each thread that waits like this one, but not for all ranks' service threads
    cpu_per_thread_dear,
};
inline constexpr std::uint32_t wait_case_count = 6;

struct WaitPolicy {
    std::string_view name;
    LookCost look_cost = LookCost::cheap;
    // Polls before the first yield or the first read of the clock; looks_learned: the number that
    // the last poll found worthwhile.
    int first_looks = 0;
    int query_looks = 0;       // first_looks of a wait with timeout 0, which ends after them
    bool is_yielding = false;  // yields the CPU between polls; otherwise the thread spins
    // polls between two yields; looks_learned: more while no other thread wants the CPU
    int yield_looks = 0;
    // a thread that always finds others on its CPU naps, so that the kernel moves it
    bool is_napping = false;
    std::uint64_t poll_ns = 0;  // polls so long without any progress before it sleeps
    // spins so long instead while yields do not pay; 0: it sleeps at once
    std::uint64_t stay_ns = 0;
    // a longer yield has run a thread that computes
    std::uint64_t long_yield_ns = 0;
};

inline constexpr int looks_learned = -1;

// The load of a machine for a thread that is about to wait.
struct WaitLoad {
    std::uint32_t ranks = 1;             // ranks of this machine
    std::uint32_t cpus = 1;              // CPUs that they may use
    std::uint32_t threads_per_rank = 1;  // threads that wait like this one
};

// The case of a thread. If polls are dear the service thread of each rank counts as well: it
// receives from the network while the rank computes, and may be on the CPU of a thread that waits
// for its answer.
[[nodiscard]] WaitCase wait_case_of(const WaitLoad& load, LookCost look_cost) noexcept;

// The row of a case. Times grow with the number of threads per CPU.
[[nodiscard]] WaitPolicy wait_policy(WaitCase which, const WaitLoad& load) noexcept;

// The longest nap of a service thread while other threads of its process make progress
// (gma/service_sleep.hpp). It grows with the ranks per CPU, so that the naps of all ranks together
// take the same share of a CPU, up to the time for which computing ranks delay each other anyway.
[[nodiscard]] std::int64_t service_nap_max_ns(const WaitLoad& load) noexcept;

}  // namespace acp::node
