// SPDX-License-Identifier: BSD-3-Clause
// acp_complete, acp_inquire and acp_wait. To keep a command outstanding, the tests stop the one
// process whose service thread would run it; rank 0 continues it later.
#include <csignal>
#include <ctime>
#include <string>
#include <sys/time.h>
#include <unistd.h>

#include "support/arena.hpp"
#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/mode.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

using CompletionTest = RankedTest;

// Handles that no mode ever issues here.
constexpr acp_handle_t never_issued[] = {0x7fff'ffff'ffff'fff0, 0x1234'5678'9abc'def0, -3, -1000};

TEST_F(CompletionTest, returns_at_once_for_null_and_never_issued_handles) {
    for (const acp_handle_t handle : never_issued) {
        EXPECT_EQ(acp_inquire(handle), 0) << handle;
        EXPECT_EQ(acp_wait(handle, -1), ACP_OK) << handle;
        acp_complete(handle);
    }
    EXPECT_EQ(acp_inquire(ACP_HANDLE_NULL), 0);
    EXPECT_EQ(acp_wait(ACP_HANDLE_NULL, -1), ACP_OK);
    acp_complete(ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
    EXPECT_EQ(acp_inquire(ACP_HANDLE_ALL), 0);
    EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, 0), ACP_OK);
}

TEST_F(CompletionTest, becomes_complete_while_it_is_only_inquired) {
    const Arena words(mode().reaches_private_memory() ? Kind::registered : Kind::starter, 64);
    const Arena own(Kind::starter, 64, 64);
    own.word<std::uint64_t>() = static_cast<std::uint64_t>(rank_) + 5;
    sync_ranks();
    const int next = (rank_ + 1) % procs_;
    const acp_handle_t handle = acp_copy(words.at(next), own.at(rank_), 8, ACP_HANDLE_NULL);
    while (acp_inquire(handle) == 1) {
    }
    EXPECT_EQ(acp_inquire(handle), 0);
    sync_ranks();
    EXPECT_EQ(words.word<std::uint64_t>(),
              static_cast<std::uint64_t>((rank_ + procs_ - 1) % procs_) + 5);
}

// More commands than a waiting thread runs in one pass, and no other thread runs any.
TEST_F(CompletionTest, works_off_a_long_queue_without_a_sleep_in_between) {
    constexpr int commands = 40'000;
    const Arena words(mode().reaches_private_memory() ? Kind::registered : Kind::starter, 64);
    const Arena own(Kind::starter, 64);
    own.word<std::uint64_t>() = static_cast<std::uint64_t>(rank_) + 9;
    sync_ranks();
    if (rank_ == 0) {
        const int next = procs_ > 1 ? 1 : 0;
        acp_handle_t last = ACP_HANDLE_NULL;
        for (int i = 0; i < commands; ++i) {
            last = acp_copy(words.at(next), own.at(0), 8, ACP_HANDLE_NULL);
        }
        EXPECT_EQ(acp_wait(last, -1), ACP_OK);
    }
    sync_ranks();
    if (rank_ == (procs_ > 1 ? 1 : 0)) {
        EXPECT_EQ(words.word<std::uint64_t>(), 9U);
    }
}

TEST_F(CompletionTest, takes_a_handle_twice) {
    const Arena words(Kind::starter, 64);
    const acp_handle_t handle = acp_copy(words.at(rank_), words.at(rank_, 8), 8, ACP_HANDLE_NULL);
    acp_complete(handle);
    acp_complete(handle);
    EXPECT_EQ(acp_wait(handle, 0), ACP_OK);
    EXPECT_EQ(acp_inquire(handle), 0);
}

// Rank 1 is stopped, rank 0 has a command that only rank 1 can run, and the other ranks do nothing.
class StoppedOwnerTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        if (procs_ < 2 || !mode().reaches_private_memory()) {
            GTEST_SKIP() << "needs a second rank that runs commands for the first";
        }
        owner_process_ = static_cast<pid_t>(exchange(static_cast<std::uint64_t>(getpid())).at(1));
    }

    void stop_owner() const {
        ASSERT_EQ(kill(owner_process_, SIGSTOP), 0);
        await_state(owner_process_, "T");
    }

    void continue_owner() const { ASSERT_EQ(kill(owner_process_, SIGCONT), 0); }

    pid_t owner_process_ = -1;
};

TEST_F(StoppedOwnerTest, times_out_and_completes_later) {
    const Arena words(Kind::registered, 64);
    const Arena own(Kind::starter, 64);
    words.word<std::uint64_t>() = 40;
    own.word<std::uint64_t>() = 0;
    sync_ranks();
    if (rank_ == 0) {
        stop_owner();
        const acp_handle_t handle = acp_add8(own.at(0), words.at(1), 2, ACP_HANDLE_NULL);
        EXPECT_EQ(acp_inquire(handle), 1);
        EXPECT_EQ(acp_inquire(ACP_HANDLE_ALL), 1);
        EXPECT_EQ(acp_wait(handle, 0), ACP_ERR_TIMEOUT);
        const std::int64_t start = now_ns();
        EXPECT_EQ(acp_wait(handle, 30 * millisecond_ns), ACP_ERR_TIMEOUT);
        EXPECT_GE(now_ns() - start, 30 * millisecond_ns);
        EXPECT_EQ(acp_errno(), ACP_ERR_TIMEOUT);
        EXPECT_NE(std::string(acp_error_message()), "");
        EXPECT_EQ(own.word<std::uint64_t>(), 0U);
        continue_owner();
        EXPECT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
        EXPECT_EQ(own.word<std::uint64_t>(), 40U);
        EXPECT_EQ(acp_inquire(handle), 0);
    }
    sync_ranks();
    EXPECT_EQ(words.word<std::uint64_t>(), rank_ == 1 ? 42U : 40U);
}

TEST_F(StoppedOwnerTest, does_not_hold_up_an_independent_command) {
    const Arena words(Kind::registered, 64);
    const Arena own(Kind::starter, 64);
    own.word<std::uint64_t>(0) = own.word<std::uint64_t>(8) = own.word<std::uint64_t>(24) = 0;
    own.word<std::uint64_t>(16) = 99;
    words.word<std::uint64_t>() = 1;
    sync_ranks();
    if (rank_ == 0) {
        stop_owner();
        const acp_handle_t stuck = acp_add8(own.at(0), words.at(1), 2, ACP_HANDLE_NULL);
        const acp_handle_t after = acp_copy(own.at(0, 24), own.at(0, 16), 8, stuck);
        acp_copy(own.at(0, 8), own.at(0, 16), 8, ACP_HANDLE_NULL);
        auto& independent = own.word<std::uint64_t>(8);
        while (std::atomic_ref(independent).load(std::memory_order_acquire) != 99) {
        }
        EXPECT_EQ(own.word<std::uint64_t>(24), 0U) << "ran before its predecessor";
        EXPECT_EQ(acp_inquire(after), 1);
        continue_owner();
        expect_done(ACP_HANDLE_ALL);
        EXPECT_EQ(own.word<std::uint64_t>(24), 99U);
    }
    sync_ranks();
}

volatile std::sig_atomic_t interruptions = 0;

extern "C" void acp_test_count_interruption(int) {
    interruptions = interruptions + 1;
}

// While it lives, sends SIGUSR1 to this process every few milliseconds.
class Ringing {
public:
    Ringing() {
        struct sigaction action = {};
        action.sa_handler = acp_test_count_interruption;
        sigaction(SIGUSR1, &action, nullptr);
        sigevent event = {};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGUSR1;
        timer_create(CLOCK_MONOTONIC, &event, &timer_);
        const itimerspec often = {{0, 5 * millisecond_ns}, {0, 5 * millisecond_ns}};
        timer_settime(timer_, 0, &often, nullptr);
    }

    Ringing(const Ringing&) = delete;
    Ringing& operator=(const Ringing&) = delete;

    ~Ringing() { timer_delete(timer_); }

private:
    timer_t timer_ = {};
};

TEST_F(StoppedOwnerTest, reports_an_interruption_from_wait_and_continues_in_complete) {
    const Arena words(Kind::registered, 64);
    const Arena own(Kind::starter, 64);
    words.word<std::uint64_t>() = 7;
    own.word<std::uint64_t>() = 0;
    sync_ranks();
    if (rank_ == 0) {
        stop_owner();
        const acp_handle_t handle = acp_add8(own.at(0), words.at(1), 2, ACP_HANDLE_NULL);
        interruptions = 0;
        const Ringing ringing;
        EXPECT_EQ(acp_wait(handle, -1), ACP_ERR_INTERRUPTED);
        EXPECT_GE(interruptions, 1);
        const pid_t helper = fork();
        if (helper == 0) {  // continues the owner only after several more interruptions
            const timespec later = {0, 60 * millisecond_ns};
            nanosleep(&later, nullptr);  // lint: sleep is the subject
            kill(owner_process_, SIGCONT);
            _exit(0);
        }
        acp_complete(handle);
        EXPECT_EQ(own.word<std::uint64_t>(), 7U) << "acp_complete returned before the command ran";
        await_state(helper, "Z?");
    }
    sync_ranks();
    EXPECT_EQ(words.word<std::uint64_t>(), rank_ == 1 ? 9U : 7U);
}

}  // namespace
}  // namespace acp::test
