// SPDX-License-Identifier: BSD-3-Clause
// The waking of threads for work, and what a thread asks before it sleeps.
#include "gma/progress.hpp"

namespace acp::gma {

void Progress::leave_rest() {
    // relaxed: a thread sees its own stores; another thread that stored work asks for itself
    if (jobs_.count(std::memory_order_relaxed) != 0 ||
        mailbox_.count(std::memory_order_relaxed) != 0 || remote_.has_work() ||
        layers_.has_work()) {
        wake_worker();
    }
}

void Progress::wake_worker() {
    node::Door& door = member_.slot().door;
    // Either this thread sees that no waiter is counted, or the leaving waiter sees the stored work in is_work_left().
    if (attendance_.is_attended()) {
        node::ring_bell(door.waiter_bell);
        return;
    }
    // A nap is short enough to wait for, unless there are jobs and the program has shown that it stays away. relaxed: a thread
    // that queued a job sees its own count
    if (jobs_.count(std::memory_order_relaxed) != 0 && jobs_.is_program_away()) {
        service_sleep_.wake();
    } else {
        service_sleep_.wake_unless_back_soon();
    }
}

void Progress::tell_waiters(Caller caller) {
    node::Door& door = member_.slot().door;
    // Uncounted threads (Manner) may sleep too, so the bell is tested. A waiter that worked need not wake itself. fetch_add(0), a
    // read-modify-write like Attendance::enter(): either this thread sees the waiter counted and rings, or the waiter, which
    // polls after it was counted, sees the work done. Unsigned: while the waiters are doubted the number has wrapped and is
    // large, so they are rung.
    const std::uint32_t itself = caller == Caller::waiter ? 1 : 0;
    if (caller == Caller::service || !manner_.may_program_poll ||
        door.attendants.fetch_add(0, std::memory_order_seq_cst) > itself) {
        node::ring_bell(door.waiter_bell);
    }
}

bool Progress::may_service_sleep() {
    const std::uint32_t deaths = member_.segment().control().deaths.load(std::memory_order_seq_cst);
    if (deaths != deaths_seen_.load(std::memory_order_relaxed)) {
        return false;
    }
    const bool is_attended = !manner_.is_link_polled_here && attendance_.is_attended();
    // seq_cst: the sleep was announced before; partner: append() of the carriers, followed by wake_worker()
    return is_attended || (jobs_.count(std::memory_order_seq_cst) == 0 &&
                           mailbox_.count(std::memory_order_seq_cst) == 0 && !mailbox_.has_mail() &&
                           !remote_.has_task() && !layers_.has_work() && !can_mailbox_go_on());
}

bool Progress::is_work_left() const {
    // seq_cst: the waiter was counted out before; partner: wake_worker()
    return jobs_.count(std::memory_order_seq_cst) != 0 ||
           mailbox_.count(std::memory_order_seq_cst) != 0 || mailbox_.has_work() ||
           mailbox_.has_mail() || remote_.has_task() || layers_.has_work();
}

// Whether messages that wait in the forwarder have found room. Another holder of the role is notified by give().
bool Progress::can_mailbox_go_on() {
    if (!mailbox_.has_work()) {
        return false;
    }
    DriverRole<>::Hold hold(driver_);
    if (!hold) return false;
    const bool can = mailbox_.can_go_on();
    return hold.give() || can;
}

}  // namespace acp::gma
