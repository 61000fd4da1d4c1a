// SPDX-License-Identifier: BSD-3-Clause
// Polls, naps, sleeps.
#include "offload/call_thread.hpp"

#include <algorithm>
#include <utility>

#include "base/fence.hpp"
#include "os/futex.hpp"

namespace acp::offload {

base::Status CallThread::start() {
    auto started = os::Thread::start("acp-calls", [this] { run(); });
    if (!started.is_ok()) return std::move(started).failure();
    thread_ = std::move(started).value();
    return {};
}

void CallThread::stop() noexcept {
    if (!thread_.is_joinable()) return;
    // seq_cst; partner: sleep_until_rung(), which looks after it has announced itself
    stopping_.store(1, std::memory_order_seq_cst);
    (void)os::futex_wake(stopping_, os::everybody);
    wake();
    thread_.join();
}

void CallThread::wake() noexcept {
    // seq_cst: comes after what the caller has stored; partner: sleep_until_rung()
    base::fence(std::memory_order_seq_cst);
    if (bell_.ring()) (void)os::futex_wake(bell_.word(), os::everybody);
}

void CallThread::run() {
    while (!is_stopping()) {
        const std::uint64_t visits = visits_of_others();
        sleep_until_rung();
        (void)poll();
        if (visits != visits_of_others()) nap();
    }
}

bool CallThread::poll() {
    ++own_visits_;
    return steps_.poll();
}

void CallThread::sleep_until_rung() {
    const std::uint32_t value = bell_.announce();
    steps_.announce();
    // seq_cst: the poll comes after the announcements; partners: wake(), and the process of a device,
    // which stores an answer and then looks whether a thread sleeps
    base::fence(std::memory_order_seq_cst);
    if (!poll() && !is_stopping()) (void)os::futex_wait(bell_.word(), value, -1);
}

// Leaves the work to threads of the program for as long as they poll.
void CallThread::nap() {
    for (std::int64_t nap_ns = nap_first_ns; !is_stopping();
         nap_ns = std::min(2 * nap_ns, nap_last_ns)) {
        const std::uint64_t visits = visits_of_others();
        (void)os::futex_wait(stopping_, 0, nap_ns);
        if (visits == visits_of_others()) return;
    }
}

}  // namespace acp::offload
