// SPDX-License-Identifier: BSD-3-Clause
// The ranks of jobs under fault: each adds to the words of all ranks, in batches, and checks after
// each completion that the result fits its code. After the strike the survivors continue for some
// rounds.
#include <array>
#include <cstdio>
#include <sched.h>
#include <string_view>
#include <unistd.h>

#include <acp.h>

#include "invoke/caller.hpp"
#include "invoke/fault_board.hpp"
#include "support/board.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::invoke_test {
namespace {

constexpr std::uint64_t untouched = 0x7777'7777'7777'7777;
constexpr std::uint64_t rounds_after = 50;

class Victim {
public:
    explicit Victim(FaultBoard& board) : board_(board) {}

    int run() {
        if (acp_init(nullptr, nullptr) != 0 || acp_sync() != 0) {
            std::fprintf(stderr, "%s\n", acp_error_message());
            return 2;
        }
        rank_ = acp_rank();
        procs_ = acp_procs();
        note().process.store(getpid(), std::memory_order_relaxed);
        note().parent.store(getppid(), std::memory_order_relaxed);
        note().phase.store(Phase::working, std::memory_order_release);
        std::uint64_t after = 0;
        while (after < rounds_after) {
            after += board_.is_struck.load(std::memory_order_acquire) != 0 ? 1U : 0U;
            work();
            note().rounds.fetch_add(1, std::memory_order_relaxed);
        }
        note().phase.store(Phase::finished, std::memory_order_release);
        await_the_others();
        note().word.store(
            *static_cast<const std::uint64_t*>(acp_query_address(acp_query_starter_ga(rank_))),
            std::memory_order_relaxed);
        acp_finalize();
        return 0;
    }

private:
    struct Call {
        int to = 0;
        gma::Handle handle = 0;
        test::AddedBelow result{untouched, untouched};
    };

    Note& note() { return board_.ranks[rank_]; }

    void work() {
        std::array<Call, batch> calls;
        for (Call& call : calls) {
            call.to = static_cast<int>(random_.below(static_cast<std::uint64_t>(procs_)));
            const test::AddBelow asked{acp_query_starter_ga(call.to), 1, ~0ULL >> 1U};
            call.handle = test::invoke(call.to, test::add_below_number, asked, call.result);
        }
        for (Call& call : calls) judge(call, test::wait_for(call.handle));
        // No result may arrive after the completion.
        std::array<Call, batch> before = calls;
        (void)global().is_complete(gma::handle_all);
        for (std::size_t i = 0; i < batch; ++i) {
            if (calls[i].result.old != before[i].result.old) {
                complain("a result came after the end");
            }
        }
    }

    void judge(const Call& call, const base::Status& status) {
        switch (status.code()) {
            case base::Code::ok:
                note().went_well[call.to].fetch_add(1, std::memory_order_relaxed);
                if (call.result.is_added != 1) complain("it went well without a result");
                break;
            case base::Code::peer:
                note().failed.fetch_add(1, std::memory_order_relaxed);
                if (call.result.old != untouched) complain("a failure brought a result");
                if (call.to != board_.victim) complain(status.message());
                if (board_.is_struck.load(std::memory_order_acquire) == 0) complain("too early");
                break;
            default:
                complain(status.message());
        }
    }

    void complain(std::string_view what) {
        note().wrong.fetch_add(1, std::memory_order_relaxed);
        std::fprintf(stderr, "rank %d: %.*s\n", rank_, static_cast<int>(what.size()), what.data());
    }

    static gma::Gma& global() { return test::global_memory(); }

    void await_the_others() {
        for (int rank = 0; rank < procs_; ++rank) {
            while (rank != board_.victim &&
                   board_.ranks[rank].phase.load(std::memory_order_acquire) != Phase::finished) {
                (void)global().is_complete(gma::handle_all);
                sched_yield();
            }
        }
    }

    FaultBoard& board_;
    int rank_ = 0;
    int procs_ = 0;
    test::Random random_{test::fresh_seed()};
};

}  // namespace
}  // namespace acp::invoke_test

int main() {
    acp::test::arm_watchdog(120, "a rank under fault");
    const auto board = acp::test::Board<acp::invoke_test::FaultBoard>::open();
    return acp::invoke_test::Victim(*board).run();
}
