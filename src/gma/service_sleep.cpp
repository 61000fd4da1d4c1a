// SPDX-License-Identifier: BSD-3-Clause
// The sleep of the service thread.
#include "gma/service_sleep.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"

namespace acp::gma {

ServiceSleep::ServiceSleep(local::Port& port,
                           std::optional<os::ArmedWait> armed,
                           remote::Link* link) noexcept
    : port_(port), presence_(os::ticks_per_ns()), armed_(std::move(armed)), link_(link) {}

void ServiceSleep::wake() {
    if (link_ == nullptr) {
        port_.wake_service();
        return;
    }
    // seq_cst: what we wake it for comes before; partner: sleep_on_link, which sets, then looks
    if (is_asleep_.exchange(false, std::memory_order_seq_cst)) armed_->signal();
}

bool ServiceSleep::wait(const std::function<bool()>& is_idle,
                        std::int64_t timeout_ns,
                        Depth depth,
                        bool is_turned_now) {
    depth_.store(depth, std::memory_order_seq_cst);
    const std::uint32_t visits = presence_.visits();
    bool is_needed = true;
    if (link_ == nullptr) {
        port_.sleep_service(is_idle, timeout_ns);
    } else {
        is_needed = sleep_on_link(is_idle, timeout_ns, is_turned_now);
    }
    depth_.store(Depth::awake, std::memory_order_relaxed);
    if (visits == presence_.visits()) presence_.expect_nobody();
    return is_needed;
}

// Whether other threads see to the gateway until the next nap is over: they have turned it since the last one.
bool ServiceSleep::is_trusted(bool is_turned_now) noexcept {
    const bool is_trusted = is_stood_in_for(is_turned_now);
    turns_seen_ = turns_.load(std::memory_order_relaxed);
    return is_trusted;
}

bool ServiceSleep::sleep_on_link(const std::function<bool()>& is_idle,
                                 std::int64_t timeout_ns,
                                 bool is_turned_now) {
    const bool is_trusting = is_trusted(is_turned_now);
    is_trusting_.store(is_trusting, std::memory_order_relaxed);
    // First: whoever leaves, or gives us something to do, sees that we sleep. seq_cst; partners: wake(), leave()
    is_asleep_.store(true, std::memory_order_seq_cst);
    // Before the link is asked: who makes it due earlier meanwhile sees this and wakes us. seq_cst: as above
    until_ns_.exchange(~0ULL, std::memory_order_seq_cst);
    nap_ns_ = is_trusting ? std::min(2 * nap_ns_, nap_max_ns) : nap_min_ns / 2;
    const std::int64_t due_ns = is_trusting ? nap_ns_ : link_->timeout_ns();
    const bool is_due_first = due_ns >= 0 && (timeout_ns < 0 || due_ns < timeout_ns);
    const std::int64_t sleep_ns = is_due_first ? due_ns : timeout_ns;
    if (sleep_ns >= 0) {
        until_ns_.store(os::now_ns() + static_cast<std::uint64_t>(sleep_ns),
                        std::memory_order_seq_cst);
    }
    settle();
    const bool has_fired = is_idle() && armed_->wait(sleep_ns);
    is_asleep_.store(false, std::memory_order_relaxed);
    if (has_fired) {
        is_armed_.store(false, std::memory_order_relaxed);
    }
    return has_fired || !is_trusting_.load(std::memory_order_relaxed) ||
           !presence_.is_anybody_there();
}

// Arms the descriptors of a sleeper whom nobody stands in for, and disarms those of one whom somebody does. is_armed_ is
// written before the call: the sleeper, which writes it after it fired, then has the last word.
void ServiceSleep::settle() {
    while (true) {
        DriverRole<>::Hold hold(settling_);
        if (!hold) return;  // its holder looks again
        const bool is_wanted =
            !(is_trusting_.load(std::memory_order_seq_cst) && presence_.is_anybody_there());
        if (is_wanted != is_armed_.load(std::memory_order_relaxed)) {
            is_armed_.store(is_wanted, std::memory_order_relaxed);
            is_wanted ? armed_->arm() : armed_->disarm();
        }
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
    // It looks soon whether we turn the gateway. Else the first datagram shall wake it, so that it does from then on.
    const std::uint64_t until_ns = until_ns_.load(std::memory_order_relaxed);
    if (until_ns < os::now_ns() + near_ns) {
        is_trusting_.store(true, std::memory_order_seq_cst);
        settle();
    }
}

void ServiceSleep::leave(bool is_for_long) {
    if (link_ == nullptr) return;
    const bool is_left = presence_.leave(is_for_long, os::ticks);
    // seq_cst: the thread was counted out before; partner: sleep_on_link, which announces, then asks who is there
    if (is_left && is_asleep_.load(std::memory_order_seq_cst)) {
        settle();
        wake_in_time();
    }
}

void ServiceSleep::note_work() {
    if (link_ != nullptr) presence_.note_work(os::ticks());
}

void ServiceSleep::note_turn(bool has_moved) {
    if (link_ == nullptr) {
        return;
    }
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // Not armed: until it is, what is due earlier than the end of the nap is for whoever is there.
    if (has_moved && is_armed_.load(std::memory_order_relaxed)) wake_in_time();
}

// Wakes the service thread when the gateway must be turned before it would do so.
void ServiceSleep::wake_in_time() {
    // A read-modify-write that changes nothing: what the turn stored comes before the look. Partner: sleep_on_link
    const std::uint64_t until_ns = until_ns_.fetch_add(0, std::memory_order_seq_cst);
    const std::int64_t due_ns = link_->timeout_ns();
    if (due_ns >= 0 && os::now_ns() + static_cast<std::uint64_t>(due_ns) < until_ns) wake();
}

}  // namespace acp::gma
