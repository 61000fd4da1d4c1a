// SPDX-License-Identifier: BSD-3-Clause
// Where this process carries its commands to other nodes itself: the short way of a copy, and who listens when. Whoever
// waits turns the link; meanwhile the service thread naps without an ear on the sockets, for each datagram would wake
// it to find the work done. It listens again when nobody has turned the link for a nap, or who did goes to sleep.
#include <utility>

#include "gma/gma.hpp"
#include "os/clock.hpp"
#include "os/poll_set.hpp"

namespace acp::gma {

// issue() for a copy whose order is satisfied. handle_null: the long way must be taken, and nothing was done.
// What is first under way leaves at once. More is collected: it leaves with the next turn of anybody, and somebody
// turns when an answer comes, at the latest after the nap of the service thread. An end that is bad is found out
// where it is used.
Handle Gma::issue_remote(const Command& command, Handle order) {
    // acquire: a command ordered after another sees what that one wrote
    if (!command.is_copy() || order > fast_.marks.order_floor.load(std::memory_order_acquire) ||
        !is_far(command) || has_link_work_.load(std::memory_order_relaxed) ||
        deaths_seen_.load(std::memory_order_relaxed) != 0 || !take_driver()) {
        return handle_null;
    }
    std::uint64_t number = 0;
    bool is_first = false;
    {
        const std::scoped_lock lock(mutex_);
        if (to_remote_.empty() && queue_.outstanding() < commands_outstanding_max) [[likely]] {
            is_first = queue_.outstanding() == 0;
            number = queue_.admit_ready(command);
            if (link_->submit(number, command)) [[likely]] {
                count_remote(1, command.bytes);
            } else {
                to_remote_.push_back({number, &queue_.command(number), Route::remote});
                has_link_work_.store(true, std::memory_order_seq_cst);  // partner: is_idle()
            }
        }
    }
    std::uint32_t done = 0;
    if (number != 0 && is_first) {
        link_->flush();
        uncollected_ = 0;
    } else if (++uncollected_ >= collected_max) {
        done = turn_link();
        uncollected_ = 0;
    }
    if (give_driver() || done != 0) {
        tell_waiters(Driver::passer_by);
    }
    return number;
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
    // seq_cst: after the last turn; partner: sleep_service
    if (is_gateway_here_ && is_service_deaf_.load(std::memory_order_seq_cst)) {
        wake_service();
    }
}

// Whether another thread has turned the link since this was asked last: what comes it hears as well as the service
// thread would, and sooner. Asked by the service thread.
bool Gma::is_link_attended() {
    const std::uint32_t turns = link_turns_.load(std::memory_order_relaxed);
    return std::exchange(link_turns_seen_, turns) != turns;
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
    const bool is_deaf = is_link_attended();
    if (is_deaf) {
        timeout_ns = timeout_ns < 0 ? deaf_nap_ns : std::min(timeout_ns, deaf_nap_ns);
    }
    is_service_deaf_.store(is_deaf, std::memory_order_seq_cst);  // partner: rest()
    is_service_asleep_.store(true, std::memory_order_seq_cst);   // partner: wake_service
    // Before the link is asked: who makes it due earlier meanwhile sees this and wakes us. seq_cst: as above
    service_until_ns_.exchange(~0ULL, std::memory_order_seq_cst);
    const std::int64_t due_ns = link_->timeout_ns();
    if (due_ns >= 0) {
        service_until_ns_.store(os::now_ns() + static_cast<std::uint64_t>(due_ns),
                                std::memory_order_seq_cst);
    }
    if (is_idle()) {
        const bool is_due_first = due_ns >= 0 && (timeout_ns < 0 || due_ns < timeout_ns);
        (void)os::wait_readable(service_event_->fd(), is_deaf ? -1 : link_->wait_fd(),
                                is_due_first ? due_ns : timeout_ns);
    }
    is_service_deaf_.store(false, std::memory_order_relaxed);
    is_service_asleep_.store(false, std::memory_order_relaxed);
    (void)service_event_->drain();
}

// After a turn by another thread: wakes the service thread when the link must be turned before that would do so.
void Gma::note_link_turn() {
    if (!is_gateway_here_) {
        return;
    }
    link_turns_.store(link_turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // A read-modify-write that changes nothing: what the turn stored comes before the look. Partner: sleep_service
    const std::uint64_t until_ns = service_until_ns_.fetch_add(0, std::memory_order_seq_cst);
    const std::int64_t due_ns = link_->timeout_ns();
    if (due_ns >= 0 && os::now_ns() + static_cast<std::uint64_t>(due_ns) < until_ns) {
        wake_service();
    }
}

}  // namespace acp::gma
