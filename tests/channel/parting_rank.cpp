// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 begins to free its end of a channel to rank 2, and makes no call until rank 2 has freed
// the other end and was killed. Then it polls for a message of rank 1, which sends none, until the
// library has polled every channel: rank 0's free must have succeeded.
#include <csignal>
#include <sched.h>
#include <unistd.h>

#include <acp.h>

#include "channel/parting_board.hpp"
#include "support/victim_rank.hpp"

namespace acp::test {
namespace {

class Parting : VictimRank<PartingNote> {
public:
    explicit Parting(PartingBoard& board) : VictimRank(board.ranks[acp_rank()]), board_(board) {}

    int run() {
        note_.process.store(getpid(), std::memory_order_relaxed);
        switch (acp_rank()) {
            case 0:
                free_end_to_the_dead();
                break;
            case 1:
                stay();
                break;
            default:
                free_end_and_die();
        }
        acp_finalize();
        return exit_status();
    }

private:
    // More polls than AllUnderWay::look_in_vain() makes before it polls all channels.
    static constexpr int looks = 32;

    void free_end_to_the_dead() {
        const acp_ch_t out = acp_create_ch(0, 2);
        const acp_ch_t beside = acp_create_ch(1, 0);
        must(out != ACP_CH_NULL && beside != ACP_CH_NULL && acp_sync() == 0, "acp_create_ch");
        std::uint64_t got = 0;
        const acp_request_t never = acp_nbrecv_ch(beside, &got, sizeof got);
        acp_request_t freed = acp_nbfree_ch(out);
        // The agent publishes the death before it reaps the process.
        const PartingNote& other = board_.ranks[2];
        while (other.has_freed.load(std::memory_order_acquire) == 0 ||
               kill(other.process.load(std::memory_order_relaxed), 0) == 0) {
            sched_yield();
        }
        for (int i = 0; i < looks; ++i)
            must(acp_test_ch(never, nullptr) == 0,
                 "a receive whose message no rank sent is not complete");
        must(acp_waitall_ch(&freed, 1, nullptr) == 0,
             "the free of an end whose partner freed its own");
        board_.is_over.store(1, std::memory_order_release);
    }

    void stay() {
        must(acp_create_ch(1, 0) != ACP_CH_NULL && acp_sync() == 0, "acp_create_ch");
        while (board_.is_over.load(std::memory_order_acquire) == 0) sched_yield();
    }

    void free_end_and_die() {
        const acp_ch_t in = acp_create_ch(0, 2);
        must(in != ACP_CH_NULL && acp_sync() == 0, "acp_create_ch");
        must(acp_free_ch(in) == 0, "acp_free_ch");
        note_.has_freed.store(1, std::memory_order_release);
        raise(SIGKILL);
    }

    PartingBoard& board_;
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::PartingBoard, acp::test::Parting>(argc, argv,
                                                                              "parting_rank");
}
