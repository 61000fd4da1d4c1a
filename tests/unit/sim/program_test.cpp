// SPDX-License-Identifier: BSD-3-Clause
// Programs are made from the plan alone, and no two commands of a program race. Main thread only.
#include "sim/program.hpp"

#include <gtest/gtest.h>

namespace acp::sim {
namespace {

bool is_write_of_source(const ProgramStep& step) {
    return step.kind == StepKind::atomic;
}

// Whether two commands of one process would race if both were in progress.
bool would_race(const ProgramStep& a, const ProgramStep& b) {
    if (a.kind == StepKind::invoke || b.kind == StepKind::invoke) return false;
    if (a.target.meets(b.target)) return true;
    if (a.kind != StepKind::count && a.source.meets(b.target)) return true;
    if (b.kind != StepKind::count && b.source.meets(a.target)) return true;
    return (is_write_of_source(a) || is_write_of_source(b)) && a.source.meets(b.source);
}

TEST(Program, orders_whatever_would_race_and_shares_no_byte_with_another_process) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Plan plan = make_plan(seed, seed % 4 == 0 ? Scale::full : Scale::small);
        const Workplan work = make_workplan(plan);
        std::vector<std::vector<std::uint32_t>> owners(plan.procs());
        for (std::uint32_t process = 0; process < plan.procs(); ++process) {
            owners[process].assign(work.memory_bytes[process], ~0U);
        }
        for (std::uint32_t process = 0; process < plan.procs(); ++process) {
            const std::vector<ProgramStep>& steps = work.programs[process];
            ASSERT_EQ(steps.size(), plan.steps);
            for (std::uint32_t later = 0; later < steps.size(); ++later) {
                ASSERT_TRUE(steps[later].after == no_step || steps[later].after < later);
                for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
                    const bool is_ordered =
                        steps[later].after != no_step && steps[later].after >= earlier;
                    ASSERT_TRUE(is_ordered || !would_race(steps[earlier], steps[later]))
                        << "seed " << seed;
                }
                if (steps[later].kind == StepKind::invoke) continue;
                const Range& target = steps[later].target;
                for (std::uint64_t at = target.offset; at < target.offset + target.bytes; ++at) {
                    std::uint32_t& owner = owners[target.process][at];
                    ASSERT_TRUE(owner == ~0U || owner == process) << "seed " << seed;
                    owner = process;
                }
            }
        }
        for (const SharedWord& word : work.words) {
            for (std::uint64_t at = word.range.offset; at < word.range.offset + 8; ++at) {
                ASSERT_EQ(owners[word.range.process][at], ~0U);
            }
        }
    }
}

TEST(Program, gives_every_command_an_end_on_another_node) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Plan plan = make_plan(seed, Scale::small);
        const Workplan work = make_workplan(plan);
        for (std::uint32_t process = 0; process < plan.procs(); ++process) {
            const NodeId self = plan.node_of(process);
            for (const ProgramStep& step : work.programs[process]) {
                const bool is_invoke = step.kind == StepKind::invoke;
                const bool is_far = is_invoke ? plan.node_of(step.process) != self
                                              : plan.node_of(step.source.process) != self ||
                                                    plan.node_of(step.target.process) != self;
                ASSERT_TRUE(is_far) << "seed " << seed;
            }
        }
    }
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
