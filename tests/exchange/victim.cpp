// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks exchange with their neighbours in a ring without end, until one of them
// is killed. Each other one, neighbour or not, then finds its calls refused, frees the plan and
// another one that it has started and never waited for, and leaves.
#include <vector>

#include <acp.h>

#include "support/member_victim.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

class Worker : MemberVictim {
public:
    explicit Worker(MemberBoard& board) : MemberVictim(board) {}

    int run() {
        begin();
        const acp_ga_t heap = acp_malloc(memory_bytes, acp_rank());
        must(heap != ACP_GA_NULL, "acp_malloc");
        shared_ = static_cast<char*>(acp_query_address(heap));
        const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
        add_all(pattern);
        const acp_plan_t plan = acp_compile_pattern(pattern, nullptr);
        must(plan != ACP_PLAN_NULL, "acp_compile_pattern");
        const acp_plan_t begun = acp_compile_pattern(pattern, nullptr);
        must(acp_start_plan(begun) == 0, "acp_start_plan");
        Random random(1);
        repeat_until_refused([&] { return exchange(random, plan); });
        must(acp_start_plan(plan) != 0, "a later call goes well");
        must_be_refused();
        must(acp_test_plan(plan) == -1, "a later look goes well");
        must(acp_explain_plan(plan, nullptr, 0) > 0, "acp_explain_plan of a broken plan");
        free_broken(plan);
        free_broken(begun);
        must(acp_compile_pattern(pattern, nullptr) == ACP_PLAN_NULL, "another plan is made");
        must_be_refused();
        must(acp_free_pattern(pattern) == 0, "acp_free_pattern");
        acp_finalize();
        return exit_status();
    }

private:
    static constexpr std::size_t memory_bytes = 400'000;

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

    void free_broken(acp_plan_t plan) {
        must(acp_free_plan(plan) != 0, "acp_free_plan meets a dead member");
        must_be_refused();
        must(acp_start_plan(plan) != 0 && acp_errno() == ACP_ERR_STALE, "a call on a freed plan");
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

    std::vector<char> own_ = std::vector<char>(memory_bytes);
    char* shared_ = nullptr;
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::MemberBoard, acp::test::Worker>(argc, argv,
                                                                            "exchange_victim");
}
