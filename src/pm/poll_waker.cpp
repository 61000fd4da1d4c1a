// SPDX-License-Identifier: BSD-3-Clause
// The thread that sleeps on a bell while the program sleeps in poll(2).
#include "pm/poll_waker.hpp"

#include <algorithm>
#include <utility>

#include "node/death.hpp"
#include "node/wait.hpp"
#include "os/futex.hpp"
#include "os/process.hpp"

namespace acp::pm {

using base::Result;

Result<std::unique_ptr<PollWaker>> PollWaker::create(const node::Segment& segment,
                                                     sync::Bell<>& bell,
                                                     std::int64_t patience_ns) {
    auto event = os::Event::create();
    if (!event.is_ok()) return std::move(event).failure();
    std::unique_ptr<PollWaker> waker(
        new PollWaker(segment, bell, patience_ns, std::move(event).value()));
    auto thread = os::Thread::start("acp-poll", [self = waker.get()] { self->run(); });
    if (!thread.is_ok()) return std::move(thread).failure();
    waker->thread_ = std::move(thread).value();
    return waker;
}

PollWaker::PollWaker(const node::Segment& segment,
                     sync::Bell<>& bell,
                     std::int64_t patience_ns,
                     os::Event event) noexcept
    : segment_(segment),
      bell_(bell),
      patience_ns_(patience_ns),
      event_(std::move(event)),
      pid_(os::own_pid()) {
    auto told = os::ThreadExit::create(at_exit_of_maker);
    if (told.is_ok()) {
        maker_exit_ = std::move(told).value();
        (void)maker_exit_.set(this);
    }
}

PollWaker::~PollWaker() {
    if (!has_descriptor()) event_.abandon();
    if (!thread_.is_joinable()) return;
    // release: visible to run() with the change of task_, or of the bell
    is_ending_.store(true, std::memory_order_release);
    rouse();
    thread_.join();
}

// Runs in the thread that made the waker; or, after a fork, in the child's copy of that thread.
void PollWaker::at_exit_of_maker(void* waker) noexcept {
    auto& self = *static_cast<PollWaker*>(waker);
    if (self.pid_ != os::own_pid()) return;
    // release: as for is_ending_
    self.has_maker_ended_.store(true, std::memory_order_release);
    self.rouse();
}

// Wakes the thread on either of the words on which it may sleep.
void PollWaker::rouse() noexcept {
    task_.fetch_add(2, std::memory_order_seq_cst);
    os::futex_wake(task_, 1);
    // It may sleep on the bell: a ring changes the bell's word. If no sleeper is announced, the
    // word has changed since the announcement.
    (void)bell_.ring();
    os::futex_wake(bell_.word(), os::everybody);
}

void PollWaker::arm(std::uint32_t value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    // release: publishes value_; partner: run()
    task_.store((task_.load(std::memory_order_relaxed) + 2) | armed_bit, std::memory_order_release);
    os::futex_wake(task_, 1);
}

void PollWaker::disarm() noexcept {
    // relaxed: run() only compares the word
    task_.store((task_.load(std::memory_order_relaxed) + 2) & ~armed_bit,
                std::memory_order_relaxed);
    if (has_descriptor()) (void)event_.drain();
}

std::int64_t PollWaker::patience_ns() const noexcept {
    if (patience_ns_ != as_sleepers) return patience_ns_;
    // relaxed: the next iteration notices a watcher that comes or goes
    const bool is_watched = segment_.control().watcher_pid.load(std::memory_order_relaxed) != 0;
    return is_watched ? node::liveness_check_watched_ns : node::liveness_check_ns;
}

// A thread that makes no library call ends without a notification: after the maker's end this
// thread polls for that.
std::int64_t PollWaker::bounded(std::int64_t timeout_ns) noexcept {
    // acquire: partner: at_exit_of_maker()
    if (!has_maker_ended_.load(std::memory_order_acquire)) return timeout_ns;
    const std::int64_t most_ns = look_ns_;
    look_ns_ = std::min(2 * look_ns_, node::liveness_check_ns);
    return timeout_ns < 0 ? most_ns : std::min(most_ns, timeout_ns);
}

void PollWaker::run() noexcept {
    for (;;) {
        // acquire: makes value_ visible; partners: arm(), and rouse(), which changes the word last
        std::uint32_t task = task_.load(std::memory_order_acquire);
        if (is_ending_.load(std::memory_order_relaxed)) return;
        if (has_maker_ended_.load(std::memory_order_relaxed) && os::is_last_thread()) return;
        if ((task & armed_bit) == 0) {
            (void)os::futex_wait(task_, task, bounded(-1));
            continue;
        }
        const std::uint32_t value = value_.load(std::memory_order_relaxed);
        const os::Wake wake = os::futex_wait(bell_.word(), value, bounded(patience_ns()));
        if (wake == os::Wake::interrupted) continue;
        if (wake == os::Wake::timeout) node::find_the_dead(segment_);
        // Only if no arm() or disarm() came after the one that this thread slept for.
        if (task_.compare_exchange_strong(task, task & ~armed_bit, std::memory_order_acq_rel,
                                          std::memory_order_relaxed))
            signal();
    }
}

}  // namespace acp::pm
