// SPDX-License-Identifier: BSD-3-Clause
// A thread that waits in the library serves other processes, until a signal handler interrupts it:
// then the service thread does, since a thread may leave work to another one only while that one
// works.
#include <atomic>
#include <csignal>
#include <memory>
#include <unistd.h>
#include <vector>

#include "progress/owners.hpp"
#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/mode.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t patience_ns = 5 * second_ns;

struct HandlerNotices {
    std::uint64_t is_inside;
    std::uint64_t may_leave;
};

HandlerNotices* handler_notices = nullptr;

extern "C" void acp_test_stay(int) {
    std::atomic_ref(handler_notices->is_inside).store(1, std::memory_order_release);
    while (std::atomic_ref(handler_notices->may_leave).load(std::memory_order_acquire) == 0) {
    }
}

class HandlerTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        if (!mode().reaches_private_memory()) {
            GTEST_SKIP() << "this mode does not reach another rank's registered memory";
        }
        notices_ = std::make_unique<Commons<HandlerNotices>>();
        handler_notices = &**notices_;
        processes_ = exchange(static_cast<std::uint64_t>(getpid()));
    }

    [[nodiscard]] pid_t process_of(int rank) const {
        return static_cast<pid_t>(processes_[static_cast<std::size_t>(rank)]);
    }

    std::unique_ptr<Commons<HandlerNotices>> notices_;
    std::vector<std::uint64_t> processes_;
};

// Rank 2 is stopped, so that rank 1 waits for it; a signal interrupts that wait.
TEST_F(HandlerTest, memory_of_a_rank_whose_waiting_thread_is_in_a_handler_is_served) {
    const Arena words(Kind::registered, 64);
    words.word<std::uint64_t>() = 100;
    const Arena own(Kind::starter, 64, arenas_begin);
    sync_ranks();
    if (rank_ == 2) {
        raise(SIGSTOP);
    } else if (rank_ == 1) {
        await_state(process_of(2), "T");
        struct sigaction action = {};
        action.sa_handler = acp_test_stay;
        sigaction(SIGUSR2, &action, nullptr);
        std::atomic_ref(handler_notices->is_inside).store(2, std::memory_order_release);
        acp_complete(acp_add8(ACP_GA_NULL, words.at(2), 1, ACP_HANDLE_NULL));
    } else if (rank_ == 0) {
        while (std::atomic_ref(handler_notices->is_inside).load(std::memory_order_acquire) != 2) {
        }
        await_state(process_of(1), "S");
        kill(process_of(1), SIGUSR2);
        while (std::atomic_ref(handler_notices->is_inside).load(std::memory_order_acquire) != 1) {
        }
        for (std::uint64_t step = 0; step < 20; ++step) {
            const std::int64_t begin = now_ns();
            const acp_handle_t added = acp_add8(own.at(0), words.at(1), 1, ACP_HANDLE_NULL);
            EXPECT_EQ(acp_wait(added, patience_ns), ACP_OK) << acp_error_message();
            EXPECT_EQ(own.word<std::uint64_t>(), 100 + step);
            if (step != 0) {  // detected once, not in each step
                EXPECT_LT(now_ns() - begin, second_ns / 2);
            }
        }
        std::atomic_ref(handler_notices->may_leave).store(1, std::memory_order_release);
        kill(process_of(2), SIGCONT);
    }
    sync_ranks();
    EXPECT_EQ(words.word<std::uint64_t>(), rank_ == 1 ? 120U : rank_ == 2 ? 101U : 100U);
}

}  // namespace
}  // namespace acp::test
