// SPDX-License-Identifier: BSD-3-Clause
// Making, running and ending the service thread.
#include "gma/service_thread.hpp"

#include <algorithm>
#include <utility>

#include "os/futex.hpp"
#include "os/robust_word.hpp"

namespace acp::gma {

ServiceThread::ServiceThread(Progress& progress,
                             ServiceSleep& sleep,
                             local::Hazards& hazards,
                             const Marks& marks,
                             node::Slot& slot) noexcept
    : progress_(progress), sleep_(sleep), hazards_(hazards), marks_(marks), slot_(slot) {}

ServiceThread::~ServiceThread() {
    stop();
}

base::Status ServiceThread::ensure() {
    if (is_there()) {
        return {};
    }
    const std::scoped_lock lock(mutex_);
    if (exists_.load(std::memory_order_relaxed)) {
        return {};
    }
    auto thread = os::Thread::start("acp-service", [this] { serve(); });
    if (!thread.is_ok()) {
        return std::move(thread).failure();
    }
    thread_ = std::move(thread).value();
    while (is_holding_.load(std::memory_order_acquire) == 0) {
        (void)os::futex_wait(is_holding_, 0, node::for_ever);
    }
    exists_.store(true, std::memory_order_release);
    return {};
}

void ServiceThread::stop() {
    const std::scoped_lock lock(mutex_);
    if (!exists_.load(std::memory_order_relaxed)) {
        return;
    }
    // seq_cst; partner: pause(), which looks after the sleep was announced
    is_stopping_.store(true, std::memory_order_seq_cst);
    sleep_.wake();
    thread_.join();
    is_holding_.store(0, std::memory_order_relaxed);
    exists_.store(false, std::memory_order_relaxed);
}

void ServiceThread::take_over() noexcept {
    if (progress_.is_work_left() && ensure().is_ok()) {
        sleep_.wake();
    }
}

bool ServiceThread::pause(std::int64_t timeout_ns) {
    const std::uint64_t issued = marks_.inline_handle.load(std::memory_order_relaxed);
    naps_ = issued != issued_before_ ? 0 : naps_ + 1;
    issued_before_ = issued;
    const bool is_nap = naps_ < naps_before_deep_sleep && progress_.manner().may_waiter_run;
    const auto is_idle = [this] {
        return !is_stopping_.load(std::memory_order_seq_cst) && progress_.is_idle();
    };
    return sleep_.wait(is_idle, is_nap ? std::min(nap_ns, timeout_ns) : timeout_ns, is_nap,
                       progress_.is_turning());
}

void ServiceThread::serve() {
    const os::RobustHold hold(slot_.service_hold);
    is_holding_.store(1, std::memory_order_release);  // partner: ensure()
    os::futex_wake(is_holding_, os::everybody);
    (void)hazards_.own_line();  // claimed now: a turn takes no memory for it later
    const auto ready = [this] {
        return is_stopping_.load(std::memory_order_relaxed) || progress_.drive(Driver::service);
    };
    const auto sleep_once = [this](std::int64_t timeout_ns) {
        (void)pause(timeout_ns);
        return os::Wake::woken;
    };
    const Progress::Manner& manner = progress_.manner();
    while (!is_stopping_.load(std::memory_order_relaxed)) {
        const bool is_attended =
            manner.is_link_turned_here
                ? sleep_.is_stood_in_for(progress_.is_turning())
                : manner.may_waiter_turn &&
                      slot_.door.is_attended.load(std::memory_order_relaxed) != 0;
        if (!is_attended) {
            progress_.service_waiter().wait(ready, sleep_once, node::for_ever);
            continue;
        }
        // A waiting thread does the work: do not compete for the core.
        const bool is_needed = pause(node::liveness_check_ns);
        if (!manner.is_link_turned_here) continue;
        // Who turned the gateway may have gone back to the program since, and runs no jobs in a barrier.
        if (is_needed) {
            (void)progress_.drive(Driver::service);
        } else if (progress_.run_jobs(Driver::service)) {
            progress_.tell_waiters(Driver::service);
        }
    }
}

}  // namespace acp::gma
