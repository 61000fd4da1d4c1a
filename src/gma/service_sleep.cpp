// SPDX-License-Identifier: BSD-3-Clause
// The sleep of the service thread.
#include "gma/service_sleep.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "os/clock.hpp"
#include "os/poll_set.hpp"

namespace acp::gma {

ServiceSleep::ServiceSleep(local::Port& port, std::optional<os::Event> event, remote::Link* link)
    : port_(port), event_(std::move(event)), link_(link) {
    if (link_ == nullptr) {
        return;
    }
    const std::span<const int> of_link = link_->traits().wait_fds;
    fds_.reserve(1 + of_link.size());
    fds_.push_back(event_->fd());
    fds_.insert(fds_.end(), of_link.begin(), of_link.end());
}

void ServiceSleep::wake() {
    if (link_ == nullptr) {
        port_.wake_service();
        return;
    }
    // seq_cst: what we wake it for comes before; partner: sleep_on_link, which sets, then looks
    if (is_asleep_.exchange(false, std::memory_order_seq_cst)) {
        event_->signal();
    }
}

bool ServiceSleep::wait(const std::function<bool()>& is_idle,
                        std::int64_t timeout_ns,
                        bool is_nap,
                        bool is_turned_now) {
    is_napping_.store(is_nap, std::memory_order_seq_cst);
    bool has_listened = true;
    if (link_ == nullptr) {
        port_.sleep_service(is_idle, timeout_ns);
    } else {
        has_listened = sleep_on_link(is_idle, timeout_ns, is_turned_now);
    }
    is_napping_.store(false, std::memory_order_relaxed);
    return has_listened;
}

// Whether somebody hears what comes as well as the service thread would, and sooner.
bool ServiceSleep::decide_to_be_deaf(bool is_turned_now) {
    const std::uint32_t turns = turns_.load(std::memory_order_relaxed);
    const bool is_turned_by_others = is_turned(is_turned_now);
    turns_seen_ = turns;
    const bool is_left = is_left_.exchange(false, std::memory_order_seq_cst);
    return is_turned_by_others && !is_left;
}

bool ServiceSleep::sleep_on_link(const std::function<bool()>& is_idle,
                                 std::int64_t timeout_ns,
                                 bool is_turned_now) {
    bool is_deaf = decide_to_be_deaf(is_turned_now);
    // First: whoever sees that we are deaf and wakes us must see that we sleep. seq_cst, all; partners: wake(), rest()
    is_asleep_.store(true, std::memory_order_seq_cst);
    is_deaf_.store(is_deaf, std::memory_order_seq_cst);
    if (is_deaf && is_left_.load(std::memory_order_seq_cst)) {
        is_deaf = false;
        is_deaf_.store(false, std::memory_order_relaxed);
    }
    // Before the link is asked: who makes it due earlier meanwhile sees this and wakes us. seq_cst: as above
    until_ns_.exchange(~0ULL, std::memory_order_seq_cst);
    deaf_nap_ns_ = is_deaf ? std::min(2 * deaf_nap_ns_, deaf_nap_max_ns) : deaf_nap_min_ns / 2;
    const std::int64_t due_ns = is_deaf ? deaf_nap_ns_ : link_->timeout_ns();
    if (due_ns >= 0) {
        until_ns_.store(os::now_ns() + static_cast<std::uint64_t>(due_ns),
                        std::memory_order_seq_cst);
    }
    if (is_idle()) {
        const bool is_due_first = due_ns >= 0 && (timeout_ns < 0 || due_ns < timeout_ns);
        const std::span<const int> all(fds_);
        (void)os::wait_readable(is_deaf ? all.first(1) : all, is_due_first ? due_ns : timeout_ns);
    }
    is_deaf_.store(false, std::memory_order_relaxed);
    is_asleep_.store(false, std::memory_order_relaxed);
    (void)event_->drain();
    return !is_deaf;
}

void ServiceSleep::note_turn(bool has_moved) {
    if (link_ == nullptr) {
        return;
    }
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!has_moved || is_deaf_.load(std::memory_order_relaxed)) {
        return;  // it looks after a nap: what is due earlier is for who turns
    }
    // A read-modify-write that changes nothing: what the turn stored comes before the look. Partner: sleep_on_link
    const std::uint64_t until_ns = until_ns_.fetch_add(0, std::memory_order_seq_cst);
    const std::int64_t due_ns = link_->timeout_ns();
    if (due_ns >= 0 && os::now_ns() + static_cast<std::uint64_t>(due_ns) < until_ns) {
        wake();
    }
}

void ServiceSleep::rest() {
    if (link_ == nullptr) {
        return;
    }
    is_left_.store(true,
                   std::memory_order_seq_cst);  // partner: sleep_on_link, which sets, then looks
    if (is_deaf_.load(std::memory_order_seq_cst)) {
        wake();
    }
}

}  // namespace acp::gma
