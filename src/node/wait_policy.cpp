// SPDX-License-Identifier: BSD-3-Clause
// The table of waiting policies.
#include "node/wait_policy.hpp"

#include <algorithm>
#include <array>

namespace acp::node {

namespace {

// The cost of waking a sleeper on another CPU. Measured on virtual machines: 23 to 50 us, elsewhere
// 5 to 10; a spin that is too long costs little, and measuring it in each process would cost more
// than it saves.
constexpr std::uint64_t wake_cost_ns = 25'000;

// Below twice the cost of a wake-up two threads would keep waking each other.
constexpr std::uint64_t spin_ns = 2 * wake_cost_ns;

// Twice the time in which a nearby node answers and sends its next request: polling so long costs
// less than a wake-up.
constexpr std::uint64_t round_trip_ns = 16'000;

constexpr std::uint64_t long_yield_ns = 200'000;

// A thread that computes keeps the CPU longer than this: the scheduler's slice is about 3 ms.
constexpr std::uint64_t long_yield_max_ns = 2'000'000;

// Between two yields if a CPU is free for the answering thread: as many polls as it needs to answer
// and ask again.
constexpr int answer_looks = 8;

// The end of a nap costs about 10 us of CPU: a hundredth of it.
constexpr std::int64_t nap_ns = 1'000'000;
// a bound on the ranks that lengthen a nap
constexpr std::int64_t ranks_per_cpu_max = 8;

// The time that one more thread on a CPU adds to a yield.
constexpr double turn_ns = 4'000;

// In the order of WaitCase. Columns as in WaitPolicy. If two threads yield to each other on one CPU
// while another is idle, the program's thread that waits for the answer naps (cpu_per_thread_dear);
// measured pairs have parted within 0.1 s. The service thread that gives the answer
// (cpu_per_rank_dear) does not nap: that would delay the answer. That variant was not measured.
constexpr std::array<WaitPolicy, wait_case_count> rows{{
    {"own_cpu", LookCost::cheap, 24, 24, false, 0, false, spin_ns, 0, 0},
    {"own_cpu_dear", LookCost::dear, 24, 24, false, 0, false, spin_ns, 0, 0},
    {"crowded", LookCost::cheap, looks_learned, looks_learned, true, looks_learned, false, spin_ns,
     0, long_yield_ns},
    {"crowded_dear", LookCost::dear, 0, 1, true, 1, false, spin_ns, 0, long_yield_ns},
    {"cpu_per_rank_dear", LookCost::dear, 0, 1, true, answer_looks, false, spin_ns, round_trip_ns,
     long_yield_ns},
    {"cpu_per_thread_dear", LookCost::dear, 1, 1, true, answer_looks, true, spin_ns, spin_ns,
     long_yield_ns},
}};

// The number of threads that may want a CPU at once.
std::uint64_t threads_of(const WaitLoad& load, LookCost look_cost) noexcept {
    const std::uint32_t of_rank =
        look_cost == LookCost::dear ? std::max(load.threads_per_rank, 2U) : load.threads_per_rank;
    return std::uint64_t{load.ranks} * of_rank;
}

}  // namespace

WaitCase wait_case_of(const WaitLoad& load, LookCost look_cost) noexcept {
    const bool is_dear = look_cost == LookCost::dear;
    if (threads_of(load, look_cost) <= load.cpus) {
        return is_dear ? WaitCase::own_cpu_dear : WaitCase::own_cpu;
    }
    if (!is_dear) return WaitCase::crowded;
    if (load.ranks > load.cpus) return WaitCase::crowded_dear;
    return std::uint64_t{load.ranks} * load.threads_per_rank <= load.cpus
               ? WaitCase::cpu_per_thread_dear
               : WaitCase::cpu_per_rank_dear;
}

WaitPolicy wait_policy(WaitCase which, const WaitLoad& load) noexcept {
    WaitPolicy policy = rows[static_cast<std::size_t>(which)];
    if (!policy.is_yielding) return policy;
    const double per_cpu =
        static_cast<double>(threads_of(load, policy.look_cost)) / static_cast<double>(load.cpus);
    if (policy.look_cost == LookCost::dear) {
        // A yielding thread has its share of the CPU, and the others take as long as it does for
        // each of their polls.
        const auto stretched = [&](std::uint64_t own_ns) {
            return static_cast<std::uint64_t>(static_cast<double>(own_ns) * std::max(per_cpu, 1.0));
        };
        policy.poll_ns = stretched(policy.poll_ns);
        policy.long_yield_ns = std::min(stretched(policy.long_yield_ns), long_yield_max_ns);
        return policy;
    }
    const auto turns_ns = static_cast<std::uint64_t>(turn_ns * per_cpu);
    policy.poll_ns += turns_ns;
    policy.long_yield_ns += turns_ns;
    return policy;
}

std::int64_t service_nap_max_ns(const WaitLoad& load) noexcept {
    const std::int64_t ranks_per_cpu = (load.ranks + load.cpus - 1) / load.cpus;
    return nap_ns * std::clamp<std::int64_t>(ranks_per_cpu, 1, ranks_per_cpu_max);
}

}  // namespace acp::node
