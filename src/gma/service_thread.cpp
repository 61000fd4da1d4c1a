// SPDX-License-Identifier: BSD-3-Clause
// Making, running and ending the service thread.
#include "gma/service_thread.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/process.hpp"
#include "os/robust_word.hpp"

namespace acp::gma {

ServiceThread::ServiceThread(Progress& progress,
                             ServiceSleep& sleep,
                             local::Hazards& hazards,
                             const Marks& marks,
                             node::Slot& slot) noexcept
    : progress_(progress), sleep_(sleep), hazards_(hazards), marks_(marks), slot_(slot) {
    auto told = os::ThreadExit::create(at_exit_of_opener);
    if (told.is_ok()) {
        opener_exit_ = std::move(told).value();
        (void)opener_exit_.set(this);
    }
}

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

void ServiceThread::ensure_or_say(std::uint32_t rank) {
    static std::atomic_flag is_said;
    const base::Status status = ensure();
    if (status.is_ok() || is_said.test_and_set()) return;
    std::fprintf(stderr,
                 "acp: rank %u has no service thread (%.*s): commands progress only in ACP calls\n",
                 rank, static_cast<int>(status.message().size()), status.message().data());
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

// How long a sleep of this depth may last.
std::int64_t ServiceThread::bounded(std::int64_t timeout_ns, ServiceSleep::Depth depth) noexcept {
    if (depth == ServiceSleep::Depth::deep) return timeout_ns;
    const std::int64_t most_ns = depth == ServiceSleep::Depth::nap ? nap_ns : patience_ns;
    return timeout_ns < 0 ? most_ns : std::min(most_ns, timeout_ns);
}

// Runs in the thread that called acp_init, or in a forked child in the copy of it.
void ServiceThread::at_exit_of_opener(void* service) noexcept {
    auto& self = *static_cast<ServiceThread*>(service);
    // relaxed: this process stored it
    const auto pid = static_cast<int>(self.slot_.pid.load(std::memory_order_relaxed));
    if (pid != os::own_pid()) return;
    // seq_cst; partner: pause(), which looks after the sleep was announced
    self.has_opener_ended_.store(true, std::memory_order_seq_cst);
    if (self.is_there()) self.sleep_.wake();
}

//   is_watch  threads that sleep attend: it does not end because one of them wants to be watched
bool ServiceThread::pause(std::int64_t timeout_ns, bool is_watch) {
    const std::uint64_t issued = marks_.inline_handle.load(std::memory_order_relaxed);
    short_sleeps_ = issued != issued_before_ ? 0 : std::min(short_sleeps_ + 1, short_sleeps_max);
    issued_before_ = issued;
    using Depth = ServiceSleep::Depth;
    const Depth depth = short_sleeps_ == short_sleeps_max ? Depth::deep
                        : short_sleeps_ < naps_max && progress_.manner().may_program_run
                            ? Depth::nap
                            : Depth::watchful;
    timeout_ns = bounded(timeout_ns, depth);
    // The end of a thread that made no call is not signalled: from the opener's end on this thread
    // polls for it.
    const bool may_be_alone = has_opener_ended_.load(std::memory_order_relaxed);
    if (may_be_alone) {
        timeout_ns = timeout_ns < 0 ? look_ns_ : std::min(look_ns_, timeout_ns);
        look_ns_ = std::min(2 * look_ns_, node::liveness_check_ns);
    }
    const auto is_idle = [this, is_watch, may_be_alone] {
        return !is_stopping_.load(std::memory_order_seq_cst) &&
               (is_watch || !is_watching_.load(std::memory_order_seq_cst)) &&
               may_be_alone == has_opener_ended_.load(std::memory_order_seq_cst) &&
               progress_.may_service_sleep();
    };
    const bool is_needed = sleep_.wait(is_idle, timeout_ns, depth, progress_.is_polling());
    is_alone_ = may_be_alone && os::is_last_thread();
    return is_needed;
}

// Whether threads that wait do the work at present.
bool ServiceThread::is_attended() const noexcept {
    const Progress::Manner& manner = progress_.manner();
    return manner.is_link_polled_here
               ? sleep_.is_stood_in_for(progress_.is_polling())
               : manner.may_program_poll && progress_.attendance().is_attended();
}

// Looks once at everything. True when something was done.
bool ServiceThread::work() {
    const bool has_done = progress_.work(Caller::service);
    if (has_done) sleep_.note_work();
    return has_done;
}

void ServiceThread::serve() {
    const os::RobustHold hold(slot_.service_hold);
    is_holding_.store(1, std::memory_order_release);  // partner: ensure()
    os::futex_wake(is_holding_, os::everybody);
    (void)hazards_.own_line();  // claimed now: a poll takes no memory for it later
    const auto ready = [this] {
        return is_alone_ || is_stopping_.load(std::memory_order_relaxed) ||
               is_watching_.load(std::memory_order_relaxed) || work();
    };
    const auto sleep_once = [this](std::int64_t timeout_ns) {
        (void)pause(timeout_ns);
        return os::Wake::woken;
    };
    while (!is_alone_ && !is_stopping_.load(std::memory_order_relaxed)) {
        // seq_cst: store, then load; partner: a thread that attends, and then calls watch()
        is_watching_.store(false, std::memory_order_seq_cst);
        if (is_attended()) {
            leave_work_to_others();
        } else if (sleep_.presence().is_program_next()) {
            if (!work()) (void)pause(node::for_ever);
        } else {
            progress_.service_waiter().wait(ready, sleep_once, node::for_ever);
        }
    }
    if (is_alone_) {
        // This thread now runs the exit handlers: if they need another service thread they make
        // one.
        is_alone_ = false;
        is_holding_.store(0, std::memory_order_relaxed);
        exists_.store(false, std::memory_order_relaxed);
    }
}

// Leaves the work to other threads for a while, without competing for the core.
void ServiceThread::leave_work_to_others() {
    if (progress_.manner().is_link_polled_here) {
        // A thread that polled the gateway may have returned to the program since, and runs no jobs
        // in a barrier.
        if (pause(node::liveness_check_ns)) {
            (void)progress_.work(Caller::service);
        } else if (progress_.run_jobs(Caller::service)) {
            progress_.tell_waiters(Caller::service);
        }
        return;
    }
    is_watching_.store(true, std::memory_order_relaxed);
    const std::uint64_t begin_ns = os::now_ns();
    (void)pause(patience_ns, true);
    const bool is_over = os::now_ns() - begin_ns >= std::uint64_t{patience_ns};
    if (is_over && progress_.attendance().doubt_idle(progress_.is_work_left())) {
        (void)progress_.work(Caller::service);
    }
}

}  // namespace acp::gma
