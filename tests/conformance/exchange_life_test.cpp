// SPDX-License-Identifier: BSD-3-Clause
// Plans in forked children, with refused allocations, and under concurrent frees.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "conformance/exchange_fixture.hpp"
#include "support/nodes.hpp"
#include "support/refuse_memory.hpp"

namespace acp::test {
namespace {

bool is_forked(bool has_failed) {
    return has_failed && acp_errno() == ACP_ERR_FORKED;
}

// Whether each call is refused in a forked child, which may not use the library.
bool are_all_refused(acp_team_t team, acp_pattern_t pattern, acp_plan_t plan) {
    char byte = 0;
    const int one = 1;
    const std::size_t points = 1;
    const std::size_t halo = 0;
    const acp_grid_t grid{1, &one, nullptr, &points, &halo, 1, 1};
    return is_forked(acp_create_pattern(team) == ACP_PATTERN_NULL) &&
           is_forked(acp_add_send_pattern(pattern, 0, &byte, 1) == -1) &&
           is_forked(acp_add_recv_pattern(pattern, 0, &byte, 1) == -1) &&
           is_forked(acp_add_copy_pattern(pattern, 0, &byte, 1) == -1) &&
           is_forked(acp_add_halo_pattern(pattern, &byte, &grid) == -1) &&
           is_forked(acp_compile_pattern(pattern, nullptr) == ACP_PLAN_NULL) &&
           is_forked(acp_load_plan(pattern, "/dev/null") == ACP_PLAN_NULL) &&
           is_forked(acp_save_plan(plan, "/dev/null") == -1) &&
           is_forked(acp_explain_plan(plan, nullptr, 0) == -1) &&
           is_forked(acp_start_plan(plan) == -1) && is_forked(acp_test_plan(plan) == -1) &&
           is_forked(acp_wait_plan(plan) == -1) && is_forked(acp_free_plan(plan) == -1) &&
           is_forked(acp_free_pattern(pattern) == -1);
}

class ExchangeLifeTest : public ExchangeTest {
protected:
    // Adds messages to the next rank: short and long ones, in private and in shared memory.
    void add_ring() {
        int number = 0;
        for (const Buffer::Kind kind : {Buffer::Kind::own, Buffer::Kind::heap}) {
            for (const std::size_t bytes : {60U, 3000U, 40'000U}) {
                add_send(next(), number, kind, bytes);
                add_receive(before(), number, kind, bytes);
                ++number;
            }
        }
    }

    // Makes a plan and starts it some times while allocations are refused. Returns whether all
    // calls succeeded.
    bool use_with_refusals(const char* network, std::uint64_t first, std::uint64_t count) {
        const Refusal refusal(first, count);
        const acp_plan_t plan = acp_compile_pattern(pattern_, network);
        bool is_well = plan != ACP_PLAN_NULL;
        for (int round = 0; round < 4 && is_well; ++round)
            is_well = acp_start_plan(plan) == 0 && acp_wait_plan(plan) == 0;
        EXPECT_TRUE(is_well || acp_errno() == ACP_ERR_MEMORY)
            << acp_errno() << ": " << acp_error_message();
        if (plan == ACP_PLAN_NULL) return false;
        return acp_free_plan(plan) == 0 && is_well;
    }

    // Repeats until a trial makes fewer allocations than `first`: that one succeeds.
    //   count  how many allocations of the last rank are refused, from number `first` on
    void refuse_one_after_the_other(const char* network, std::uint64_t count) {
        const auto poor = static_cast<std::size_t>(procs_ - 1);
        const bool is_poor = rank_ == procs_ - 1;
        const bool is_every = std::getenv("TEST_EVERY_MOMENT") != nullptr;
        bool is_over = false;
        for (std::uint64_t first = 1; !is_over; first += is_every ? 1 : 1 + first / 8) {
            SCOPED_TRACE("refused from request " + std::to_string(first));
            begin_anew();
            if (HasFatalFailure()) return;
            const bool is_well = use_with_refusals(network, is_poor ? first : 0, count);
            const bool is_seen = !is_poor || Refusal::seen() >= first;
            sync_ranks();
            const auto told = exchange(is_well ? 0 : 1);
            is_over = exchange(is_seen ? 1 : 0)[poor] == 0;
            if (!is_over) continue;
            EXPECT_EQ(std::accumulate(told.begin(), told.end(), std::uint64_t{0}), 0U);
        }
    }

    // Begins an epoch, so that no pattern, plan or memory of the trial before is left.
    void begin_anew() {
        sent_.clear();
        received_.clear();
        ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
        world_ = acp_world_team();
        pattern_ = acp_create_pattern(world_);
        ASSERT_NE(pattern_, ACP_PATTERN_NULL) << acp_error_message();
        add_ring();
        sync_ranks();
    }
};

// The time between lookup and use of a plan is short, so the test makes many plans.
TEST_F(ExchangeLifeTest, a_plan_or_pattern_that_is_freed_while_another_thread_asks_for_it_is_gone) {
    constexpr int plans = 300;
    std::atomic<acp_plan_t> plan{ACP_PLAN_NULL};
    std::atomic<acp_pattern_t> pattern{ACP_PATTERN_NULL};
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over.load()) {
            for (const int result : {acp_test_plan(plan.load()),
                                     acp_add_send_pattern(pattern.load(), 0, nullptr, 0)}) {
                // A plan that was not started cannot be tested; adding a message to a pattern
                // succeeds.
                const int code = acp_errno();
                if (result == -1) {
                    EXPECT_TRUE(code == ACP_ERR_STATE || code == ACP_ERR_STALE) << code;
                }
            }
        }
    });
    const auto expect_busy = [] { EXPECT_EQ(acp_errno(), ACP_ERR_STATE) << acp_error_message(); };
    for (int i = 0; i < plans && !HasFailure(); ++i) {
        pattern.store(acp_create_pattern(world_));
        while (acp_free_pattern(pattern.load()) != 0) expect_busy();
        plan.store(compile());
        while (acp_free_plan(plan.load()) != 0 && !HasFailure()) expect_busy();
    }
    is_over.store(true);
    other.join();
}

TEST_F(ExchangeLifeTest, a_forked_child_is_refused_and_the_parent_continues) {
    add_ring();
    const acp_plan_t plan = compile();
    fill(0);
    ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(are_all_refused(world_, pattern_, plan) ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "a call of the child was not refused with ACP_ERR_FORKED";
    end(plan, false);
    check(0);
    run_rounds(plan, 3);
    free_plan(plan);
}

// Whichever allocation is refused, in whichever call, all members fail, no wait lasts, and the next
// epoch can make plans again. With TEST_EVERY_MOMENT each allocation is refused once.
TEST_F(ExchangeLifeTest, all_members_fail_when_one_has_no_memory_left) {
    std::vector<std::uint64_t> counts{1};
    // A node that lacks the memory to answer on a rail without previous traffic is severed, and the
    // job ends.
    if (rails_of_job() == 1) counts.push_back(all_from_there);
    const std::string network = "torus 5000 " + std::to_string(procs_) + "\nengines 4\n";
    for (const char* const given : {static_cast<const char*>(nullptr), network.c_str()}) {
        for (const std::uint64_t count : counts) refuse_one_after_the_other(given, count);
    }
    begin_anew();
    const acp_plan_t plan = compile();
    run_rounds(plan, 3);
    free_plan(plan);
}

}  // namespace
}  // namespace acp::test
