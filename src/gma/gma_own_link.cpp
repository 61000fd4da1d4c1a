// SPDX-License-Identifier: BSD-3-Clause
// Where this process carries its commands to other nodes itself: the short way of a copy, and who listens when. Whoever
// waits turns the link; meanwhile the service thread naps without an ear on the sockets, for each datagram would wake
// it to find the work done. It listens again when nobody has turned the link for a nap, or who did goes to sleep.
#include <algorithm>
#include <utility>

#include "gma/gma.hpp"
#include "os/clock.hpp"
#include "os/poll_set.hpp"

namespace acp::gma {

// issue() for a copy whose order is satisfied. handle_null: the long way must be taken, and nothing was done.
// What is alone under way leaves at once. More is collected: it leaves with the next turn of anybody, and somebody
// turns when an answer comes, at the latest after a nap of the service thread. An end that is bad is found out
// where it is used.
Handle Gma::issue_remote(GlobalAddress target,
                         GlobalAddress source,
                         std::uint64_t bytes,
                         Handle order) {
    // acquire: a command ordered after another sees what that one wrote
    if (order > fast_.marks.order_floor.load(std::memory_order_acquire) ||
        !(is_far(target, bytes) || is_far(source, bytes)) ||
        deaths_seen_.load(std::memory_order_relaxed) != 0) {
        return handle_null;
    }
    std::uint64_t number = 0;
    bool is_due = false;
    {
        const std::scoped_lock lock(mutex_);
        if (!queue_.has_room()) [[unlikely]] {
            return handle_null;
        }
        number = queue_.admit_ready_copy(target, source, bytes);
        queue_.append(to_remote_, number);
        is_due = under_way_ == 0 || to_remote_.count >= collected_max;
        is_link_fed_.store(true, std::memory_order_relaxed);
    }
    if (is_due) {
        send_collected();
    }
    return number;
}

void Gma::send_collected() {
    DriverRole<>::Hold hold(driver_);
    if (!hold) {  // another thread turns the link, and may have looked already
        has_link_work_.store(true, std::memory_order_seq_cst);  // partner: is_idle()
        notify();
        return;
    }
    // One answer is not worth a look for it: it has hardly left.
    const std::uint32_t done = under_way_ == 0 ? hand_to_link() : turn_link();
    note_link_turn(true);
    if (hold.give() || done != 0) {
        tell_waiters(Driver::passer_by);
    }
}

// One writer at a time: who holds the lock.
void Gma::count_remote(std::uint64_t commands, std::uint64_t bytes) {
    node::Slot& slot = member_.slot();
    slot.remote_commands.store(slot.remote_commands.load(std::memory_order_relaxed) + commands,
                               std::memory_order_relaxed);
    slot.remote_bytes.store(slot.remote_bytes.load(std::memory_order_relaxed) + bytes,
                            std::memory_order_relaxed);
}

bool Gma::help() {
    const bool has_moved = turn_forwarder(Driver::passer_by);
    if (has_moved) {
        tell_waiters(Driver::passer_by);
    }
    return has_moved;
}

void Gma::rest() {
    if (!is_gateway_here_) {
        return;
    }
    is_link_left_.store(
        true, std::memory_order_seq_cst);  // partner: sleep_service, which sets, then looks
    if (is_service_deaf_.load(std::memory_order_seq_cst)) {
        wake_service();
    }
}

// Whether another thread has turned the link since the service thread asked last whether it is attended, or is at it:
// a turn that sends much is long, and who slept on the sockets meanwhile would be woken by each datagram, again and
// again, and could do nothing. Asked by the service thread.
bool Gma::is_link_turned() const noexcept {
    return link_turns_seen_ != link_turns_.load(std::memory_order_relaxed) || driver_.is_held();
}

// Whether somebody hears what comes as well as the service thread would, and sooner. Asked by it.
bool Gma::is_link_attended() {
    const std::uint32_t turns = link_turns_.load(std::memory_order_relaxed);
    const bool is_turned = is_link_turned();
    link_turns_seen_ = turns;
    return is_turned && !is_link_left_.exchange(false, std::memory_order_seq_cst);
}

void Gma::wake_service() {
    if (!is_gateway_here_) {
        port_->wake_service();
        return;
    }
    // seq_cst: what we wake it for comes before; partner: sleep_service, which sets, then looks
    if (is_service_asleep_.exchange(false, std::memory_order_seq_cst)) {
        service_event_->signal();
    }
}

void Gma::sleep_service(std::int64_t timeout_ns) {
    if (!is_gateway_here_) {
        port_->sleep_service([this] { return is_idle(); }, timeout_ns);
        return;
    }
    bool is_deaf = is_link_attended();
    is_service_deaf_.store(is_deaf, std::memory_order_seq_cst);  // partner: rest()
    if (is_deaf && is_link_left_.load(std::memory_order_seq_cst)) {
        is_deaf = false;
        is_service_deaf_.store(false, std::memory_order_relaxed);
    }
    is_service_asleep_.store(true, std::memory_order_seq_cst);  // partner: wake_service
    // Before the link is asked: who makes it due earlier meanwhile sees this and wakes us. seq_cst: as above
    service_until_ns_.exchange(~0ULL, std::memory_order_seq_cst);
    deaf_nap_ns_ = is_deaf ? std::min(2 * deaf_nap_ns_, deaf_nap_max_ns) : deaf_nap_min_ns / 2;
    const std::int64_t due_ns = is_deaf ? deaf_nap_ns_ : link_->timeout_ns();
    if (due_ns >= 0) {
        service_until_ns_.store(os::now_ns() + static_cast<std::uint64_t>(due_ns),
                                std::memory_order_seq_cst);
    }
    if (is_idle()) {
        const bool is_due_first = due_ns >= 0 && (timeout_ns < 0 || due_ns < timeout_ns);
        const std::span<const int> all(service_fds_);
        (void)os::wait_readable(is_deaf ? all.first(1) : all, is_due_first ? due_ns : timeout_ns);
    }
    is_service_deaf_.store(false, std::memory_order_relaxed);
    is_service_asleep_.store(false, std::memory_order_relaxed);
    (void)service_event_->drain();
}

// After a turn by another thread: wakes the service thread when the link must be turned before that would do so.
//   has_moved  else nothing is due earlier than before
void Gma::note_link_turn(bool has_moved) {
    if (!is_gateway_here_) {
        return;
    }
    link_turns_.store(link_turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!has_moved || is_service_deaf_.load(std::memory_order_relaxed)) {
        return;  // it looks after a nap: what is due earlier is for who turns
    }
    // A read-modify-write that changes nothing: what the turn stored comes before the look. Partner: sleep_service
    const std::uint64_t until_ns = service_until_ns_.fetch_add(0, std::memory_order_seq_cst);
    const std::int64_t due_ns = link_->timeout_ns();
    if (due_ns >= 0 && os::now_ns() + static_cast<std::uint64_t>(due_ns) < until_ns) {
        wake_service();
    }
}

}  // namespace acp::gma
