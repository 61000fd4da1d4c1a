// SPDX-License-Identifier: BSD-3-Clause
// The sleep of the service thread.
#include "gma/service_sleep.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"

namespace acp::gma {

namespace {

std::uint64_t after(std::int64_t duration_ns) noexcept {
    return os::now_ns() + static_cast<std::uint64_t>(duration_ns);
}

}  // namespace

ServiceSleep::ServiceSleep(mailbox::Port& port,
                           std::optional<os::ArmedWait> armed,
                           remote::Link* link,
                           std::int64_t nap_max_ns) noexcept
    : port_(port),
      presence_(os::ticks_per_ns()),
      armed_(std::move(armed)),
      link_(link),
      nap_max_ns_(nap_max_ns) {}

void ServiceSleep::wake() {
    if (link_ == nullptr) {
        port_.wake_service();
        return;
    }
    // seq_cst: the caller has stored its work before; partner: sleep_on_link(), which sets
    // is_asleep_ and then looks for work
    if (is_asleep_.exchange(false, std::memory_order_seq_cst)) armed_->signal();
}

bool ServiceSleep::wait(const std::function<bool()>& is_idle,
                        std::int64_t timeout_ns,
                        Depth depth,
                        bool is_polled_now) {
    depth_.store(depth, std::memory_order_seq_cst);
    const std::uint32_t visits = presence_.visits();
    bool is_needed = true;
    if (link_ == nullptr) {
        port_.sleep_service(is_idle, timeout_ns);
    } else {
        is_needed = sleep_on_link(is_idle, timeout_ns, is_polled_now);
    }
    depth_.store(Depth::awake, std::memory_order_relaxed);
    works_ = 0;
    if (visits == presence_.visits()) presence_.expect_nobody();
    return is_needed;
}

// Whether the service thread leaves the gateway to other threads for another nap: it does if they
// have polled the gateway since the last one.
bool ServiceSleep::is_trusted(bool is_polled_now) noexcept {
    const bool is_trusted = is_stood_in_for(is_polled_now);
    polls_seen_ = polls_.load(std::memory_order_relaxed);
    return is_trusted;
}

bool ServiceSleep::sleep_on_link(const std::function<bool()>& is_idle,
                                 std::int64_t timeout_ns,
                                 bool is_polled_now) {
    const bool is_trusting = is_trusted(is_polled_now);
    // Announce a sleep without an end before anything else: a thread that moves the end earlier,
    // since it enters and stands in for this one (enter()) or makes the deadline earlier
    // (wake_in_time()), must not have its end wiped. seq_cst: as below
    until_ns_.exchange(~0ULL, std::memory_order_seq_cst);
    is_trusting_.store(is_trusting, std::memory_order_relaxed);
    // Announce the sleep before the looks: a thread that leaves the library, or stores work for us,
    // then sees it. seq_cst: this store comes before the looks below, also that at the link's
    // deadline; partners: wake(), leave()
    is_asleep_.store(true, std::memory_order_seq_cst);
    nap_ns_ = is_trusting ? std::min(2 * nap_ns_, nap_max_ns_) : nap_min_ns / 2;
    (void)move_end(is_trusting ? after(nap_ns_) : link_->deadline_ns());
    if (timeout_ns >= 0) (void)move_end(after(timeout_ns));
    // Other threads have done the work for more than one nap: the kernel need not note datagrams
    // for this thread.
    settle(is_trusting && nap_ns_ > nap_min_ns);
    const bool has_fired = is_idle() && sleep_to_end() == os::ArmedWait::End::descriptor;
    is_asleep_.store(false, std::memory_order_relaxed);
    if (has_fired) {
        is_armed_.store(false, std::memory_order_relaxed);
    }
    presence_.note_wake(has_fired, os::ticks());
    return has_fired || !is_trusting_.load(std::memory_order_relaxed) ||
           !presence_.is_anybody_there();
}

// Sleeps until until_ns_. The timer may have been set for an earlier sleep, or another thread may
// have moved the end to an earlier time after the timer was set.
os::ArmedWait::End ServiceSleep::sleep_to_end() noexcept {
    while (true) {
        // seq_cst: wait() has noted before that the timer has fired; partner: end_by(), which moves
        // the end, then looks at the timer
        const std::uint64_t until_ns = until_ns_.load(std::memory_order_seq_cst);
        if (os::now_ns() >= until_ns) return os::ArmedWait::End::timer;
        armed_->wake_by(until_ns);
        const os::ArmedWait::End end = armed_->wait();
        if (end != os::ArmedWait::End::timer) return end;
    }
}

// Moves the end of the sleep to an earlier time. False: it is as early.
bool ServiceSleep::move_end(std::uint64_t at_ns) noexcept {
    std::uint64_t until_ns = until_ns_.load(std::memory_order_relaxed);
    while (at_ns < until_ns) {
        if (until_ns_.compare_exchange_weak(until_ns, at_ns, std::memory_order_seq_cst))
            return true;
    }
    return false;
}

// Ends the sleep at this time or earlier, without waking the service thread now.
void ServiceSleep::end_by(std::uint64_t at_ns) noexcept {
    if (move_end(at_ns)) armed_->wake_by(at_ns);
}

// Disarms the sockets if a thread stands in for the service thread, else arms them. Lock: the role
// settling_. is_armed_ is stored before the sockets are armed: they may fire at once, and the
// service thread's store of false must come last.
//   may_forget  the sockets will probably not be armed soon, so the kernel may forget them
void ServiceSleep::settle(bool may_forget) {
    while (true) {
        DriverRole<>::Hold hold(settling_);
        if (!hold) return;  // its holder looks again
        const bool is_wanted =
            !(is_trusting_.load(std::memory_order_seq_cst) && presence_.is_anybody_there());
        if (is_wanted != is_armed_.load(std::memory_order_relaxed)) {
            is_armed_.store(is_wanted, std::memory_order_relaxed);
            is_wanted ? armed_->arm() : armed_->disarm();
        }
        if (may_forget && !is_wanted) armed_->forget();
        if (!hold.give()) return;
    }
}

void ServiceSleep::enter(Stay::Kind kind) {
    if (link_ == nullptr) return;
    presence_.enter();
    if (kind == Stay::Kind::busy) presence_.note_busy();
    if (kind != Stay::Kind::wait || !is_asleep_.load(std::memory_order_relaxed) ||
        !is_armed_.load(std::memory_order_relaxed)) {
        return;
    }
    // This thread polls the gateway from now on. The service thread wakes soon enough to see
    // whether it does.
    is_trusting_.store(true, std::memory_order_seq_cst);
    settle();
    end_by(after(nap_max_ns_));
}

void ServiceSleep::leave(bool is_for_long) {
    if (link_ == nullptr) return;
    const bool is_left = presence_.leave(is_for_long, os::ticks);
    // seq_cst: Presence::leave() has counted the thread out before; partner: sleep_on_link(), which
    // announces the sleep, then asks whether a thread is there
    if (is_left && is_asleep_.load(std::memory_order_seq_cst)) {
        settle();
        wake_in_time();
    }
}

void ServiceSleep::note_work() {
    if (link_ == nullptr) return;
    presence_.note_work(os::ticks());
    if (++works_ == works_to_forget) forget();
}

// The service thread is awake and reads the gateway's sockets itself. It arms them before it
// sleeps.
void ServiceSleep::forget() {
    {
        DriverRole<>::Hold hold(settling_);
        if (!hold) return;
        if (!is_armed_.load(std::memory_order_relaxed)) armed_->forget();
        if (!hold.give()) return;
    }
    settle();  // a thread that found the role taken relies on this
}

void ServiceSleep::note_poll(bool has_moved) {
    if (link_ == nullptr) {
        return;
    }
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // While the sockets are not armed the threads in the library poll at the gateway's deadlines
    // themselves.
    if (has_moved && is_armed_.load(std::memory_order_relaxed)) wake_in_time();
}

// Ends the sleep of the service thread in time for the gateway's next deadline, without waking it
// now.
void ServiceSleep::wake_in_time() {
    // A seq_cst read-modify-write that changes nothing orders what the poll stored before this
    // look. Partner: the exchange in sleep_on_link()
    until_ns_.fetch_add(0, std::memory_order_seq_cst);
    end_by(link_->deadline_ns());
}

}  // namespace acp::gma
