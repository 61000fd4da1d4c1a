// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks exchange with their neighbours in a ring without end, until one of them is killed. Each other one, neighbour or
// not, then finds its calls refused, frees the plan, and leaves.
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "support/board.hpp"
#include "support/clock.hpp"
#include "support/member_board.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

class Worker {
public:
    explicit Worker(MemberBoard& board)
        : board_(board),
          note_(board.ranks[acp_rank()]),
          victim_(board.victim.load(std::memory_order_relaxed)) {}

    int run() {
        note_.process.store(getpid(), std::memory_order_relaxed);
        const acp_ga_t heap = acp_malloc(memory_bytes, acp_rank());
        must(heap != ACP_GA_NULL, "acp_malloc");
        shared_ = static_cast<char*>(acp_query_address(heap));
        const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
        add_all(pattern);
        const acp_plan_t plan = acp_compile_pattern(pattern, nullptr);
        must(plan != ACP_PLAN_NULL, "acp_compile_pattern");
        Random random(1);
        for (std::uint64_t round = 0; exchange(random, plan); ++round) {
            if (round == 20) note_.is_at_work.store(1, std::memory_order_release);
        }
        note_.refused_at_ns.store(now_ns(), std::memory_order_relaxed);
        must_be_refused();
        await_others();
        must(acp_start_plan(plan) != 0, "a later call goes well");
        must_be_refused();
        must(acp_test_plan(plan) == -1, "a later look goes well");
        must(acp_explain_plan(plan, nullptr, 0) > 0, "acp_explain_plan of a broken plan");
        must(acp_free_plan(plan) != 0, "acp_free_plan meets a dead member");
        must_be_refused();
        must(acp_start_plan(plan) != 0 && acp_errno() == ACP_ERR_STALE, "a call on a freed plan");
        must(acp_compile_pattern(pattern, nullptr) == ACP_PLAN_NULL, "another plan is made");
        must_be_refused();
        must(acp_free_pattern(pattern) == 0, "acp_free_pattern");
        acp_finalize();
        return note_.message[0] == '\0' ? 0 : 5;
    }

private:
    static constexpr std::size_t memory_bytes = 400'000;

    void must(bool is_so, const std::string& what) {
        if (is_so || note_.message[0] != '\0') return;
        std::snprintf(note_.message, sizeof note_.message, "%s: %s", what.c_str(),
                      acp_error_message());
    }

    void must_be_refused() {
        must(acp_errno() == ACP_ERR_PEER, "the code is " + std::to_string(acp_errno()));
        const std::string named = "rank " + std::to_string(victim_);
        must(std::string(acp_error_message()).find(named) != std::string::npos,
             "the message does not say " + named);
    }

    // Who leaves before the others are refused is what some of them are told of, instead of the victim.
    void await_others() const {
        for (int rank = 0; rank < member_ranks; ++rank) {
            const MemberNote& other = board_.ranks[rank];
            while (rank != victim_ && other.refused_at_ns.load(std::memory_order_relaxed) == 0)
                sched_yield();
        }
    }

    // Short and long, private and shared, to the next rank alone.
    void add_all(acp_pattern_t pattern) {
        char* source = own_.data();
        char* target = own_.data() + memory_bytes / 2;
        for (const bool is_shared : {false, true}) {
            if (is_shared) {
                source = shared_;
                target = shared_ + memory_bytes / 2;
            }
            for (const std::size_t bytes :
                 {std::size_t{60}, std::size_t{3000}, std::size_t{100'000}}) {
                must(acp_add_send_pattern(pattern, 1, source, bytes) == 0, "acp_add_send_pattern");
                must(acp_add_recv_pattern(pattern, -1, target, bytes) == 0, "acp_add_recv_pattern");
                source += bytes;
                target += bytes;
            }
        }
    }

    // false: refused.
    static bool exchange(Random& random, acp_plan_t plan) {
        if (acp_start_plan(plan) != 0) return false;
        if (random.chance(50)) return acp_wait_plan(plan) == 0;
        for (;;) {
            const int ended = acp_test_plan(plan);
            if (ended != 0) return ended == 1;
        }
    }

    MemberBoard& board_;
    MemberNote& note_;
    int victim_;
    std::vector<char> own_ = std::vector<char>(memory_bytes);
    char* shared_ = nullptr;
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::arm_watchdog(120, "a rank of exchange_victim");
    const auto board = acp::test::Board<acp::test::MemberBoard>::open();
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 3;
    }
    return acp::test::Worker(*board).run();
}
