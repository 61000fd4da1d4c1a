// SPDX-License-Identifier: BSD-3-Clause
// Measures whether an exchange over rails overlaps with a computation. Rank 0 sends a message of
// BYTES to each other rank; the driver (shaped_rails_test.py) shapes its rails, so that the network
// needs much time and the CPUs little. Run by acprun with a rank per node.
//   nodes_shaped_overlap BYTES ROUNDS
// Waits for a line on standard input of rank 0. Prints for each round the milliseconds of the
// exchange alone, of the computation alone, which takes about as long as the exchange, and of both
// at once: on rank 0, until the last byte is in the memory of the rank that waits for it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <acp.h>
#include <acp/exchange.h>

#include "support/clock.hpp"
#include "support/rank_check.hpp"

namespace {

using acp::test::give_up;
using acp::test::must;

constexpr double steps_first = 50e6;

// A computation without memory accesses: each step depends on the one before it. Never 0.
std::uint64_t compute(std::uint64_t steps) {
    std::uint64_t value = steps | 1;
    // It stays odd.
    for (std::uint64_t i = 0; i < steps; ++i) value = value * value + 2 * i;
    return value;
}

acp_plan_t compiled_plan(std::vector<char>& memory) {
    const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
    must(pattern != ACP_PATTERN_NULL, "acp_create_pattern");
    if (acp_rank() != 0) {
        must(acp_add_recv_pattern(pattern, -acp_rank(), memory.data(), memory.size()) == 0,
             "acp_add_recv_pattern");
    } else {
        for (int rank = 1; rank < acp_procs(); ++rank) {
            must(acp_add_send_pattern(pattern, rank, memory.data(), memory.size()) == 0,
                 "acp_add_send_pattern");
        }
    }
    const acp_plan_t plan = acp_compile_pattern(pattern, nullptr);
    must(plan != ACP_PLAN_NULL && acp_free_pattern(pattern) == 0, "acp_compile_pattern");
    return plan;
}

class Overlap {
public:
    explicit Overlap(acp_plan_t plan) : plan_(plan) {}

    // Milliseconds on rank 0 of an exchange while rank 0 computes `steps` steps, until all ranks
    // have their messages.
    double exchange_ms(std::uint64_t steps) {
        must(acp_sync() == 0, "acp_sync");
        const std::int64_t began_ns = acp::test::now_ns();
        must(acp_start_plan(plan_) == 0, "acp_start_plan");
        if (acp_rank() == 0) sum_ += compute(steps);
        must(acp_wait_plan(plan_) == 0, "acp_wait_plan");
        must(acp_sync() == 0, "acp_sync");
        return since_ms(began_ns);
    }

    double compute_ms(std::uint64_t steps) {
        const std::int64_t began_ns = acp::test::now_ns();
        sum_ += compute(steps);
        return since_ms(began_ns);
    }

    // The results of all computations, so that the compiler keeps them.
    [[nodiscard]] std::uint64_t sum() const { return sum_; }

private:
    static double since_ms(std::int64_t began_ns) {
        return static_cast<double>(acp::test::now_ns() - began_ns) * 1e-6;
    }

    acp_plan_t plan_;
    std::uint64_t sum_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
    if (acp_init(&count, &arguments) != 0) give_up("acp_init");
    std::vector<char> memory(std::strtoull(arguments[1], nullptr, 10), 'x');
    const int rounds = std::atoi(arguments[2]);
    const acp_plan_t plan = compiled_plan(memory);
    Overlap overlap(plan);
    if (acp_rank() == 0) {
        std::printf("ready\n");
        std::fflush(stdout);
        while (std::getchar() != '\n') {
        }
    }
    // The plan learns the rates of the rails.
    (void)overlap.exchange_ms(0);
    double steps = acp_rank() == 0 ? steps_first : 0;
    for (int round = 0; round < rounds; ++round) {
        const double alone_ms = overlap.exchange_ms(0);
        steps *= alone_ms / overlap.compute_ms(static_cast<std::uint64_t>(steps));
        const double compute_ms = overlap.compute_ms(static_cast<std::uint64_t>(steps));
        const double both_ms = overlap.exchange_ms(static_cast<std::uint64_t>(steps));
        if (acp_rank() == 0)
            std::printf("%d %.3f %.3f %.3f\n", round, alone_ms, compute_ms, both_ms);
    }
    if (acp_rank() == 0) must(overlap.sum() != 0, "the computation computes nothing");
    must(acp_free_plan(plan) == 0, "acp_free_plan");
    return acp_finalize();
}
