// SPDX-License-Identifier: BSD-3-Clause
// Ways to be absent, by system calls and plain loads only.
#include "progress/owners.hpp"

#include <atomic>
#include <csignal>
#include <ctime>
#include <unistd.h>

#include "support/job.hpp"

namespace acp::test {
namespace {

std::uint64_t load(std::uint64_t& word) {
    return std::atomic_ref(word).load(std::memory_order_acquire);  // pairs with store
}

void store(std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);  // pairs with load
}

extern "C" void acp_test_wake_up(int) {}

void sleep_until_signalled(std::uint64_t& may_return) {
    struct sigaction action = {};
    action.sa_handler = acp_test_wake_up;
    sigaction(SIGUSR2, &action, nullptr);
    while (load(may_return) == 0) {
        const timespec hour = {3600, 0};
        nanosleep(&hour, nullptr);  // lint: sleep is the subject
    }
}

void compute_until_released(std::uint64_t& may_return) {
    double sum = 0;
    while (load(may_return) == 0) {
        for (int step = 1; step < 1000; ++step) {
            sum += 1.0 / (static_cast<double>(step) + sum);
        }
    }
    EXPECT_GT(sum, 0);
}

}  // namespace

const char* name_of(Absence absence) {
    constexpr const char* names[] = {"sleeping", "stopped", "computing"};
    return names[static_cast<std::size_t>(absence)];
}

void ProgressTest::SetUp() {
    RankedTest::SetUp();
    ASSERT_LE(procs_, ranks_max);
    notices_ = std::make_unique<Commons<Notices>>();
    processes_.clear();
    for (const std::uint64_t process : exchange(static_cast<std::uint64_t>(getpid()))) {
        processes_.push_back(static_cast<pid_t>(process));
    }
}

ProgressTest::Notice& ProgressTest::notice_of(int rank) const {
    return (*notices_)->of[rank];
}

void ProgressTest::prepare() const {
    notice_of(rank_) = {0, 0};
    sync_ranks();
}

void ProgressTest::be_absent(Absence absence) const {
    Notice& notice = notice_of(rank_);
    if (absence == Absence::stopped) {
        store(notice.is_leaving, 1);
        raise(SIGSTOP);
        while (load(notice.may_return) == 0) {  // rank 0 has continued this process
        }
        return;
    }
    store(notice.is_leaving, 1);
    if (absence == Absence::sleeping) {
        sleep_until_signalled(notice.may_return);
    } else {
        compute_until_released(notice.may_return);
    }
    store(notice.is_leaving, 2);
}

void ProgressTest::await_absence(Absence absence) const {
    for (int rank = 1; rank < procs_; ++rank) {
        while (load(notice_of(rank).is_leaving) == 0) {
        }
        if (absence != Absence::computing) {
            await_state(processes_[static_cast<std::size_t>(rank)],
                        absence == Absence::stopped ? "T" : "S");
        }
    }
}

void ProgressTest::release(Absence absence) const {
    for (int rank = 1; rank < procs_; ++rank) {
        const pid_t process = processes_[static_cast<std::size_t>(rank)];
        store(notice_of(rank).may_return, 1);
        if (absence == Absence::stopped) {
            kill(process, SIGCONT);
        }
        while (absence == Absence::sleeping && load(notice_of(rank).is_leaving) != 2) {
            kill(process, SIGUSR2);
            usleep(1000);  // lint: a pause between looks
        }
    }
}

}  // namespace acp::test
