// SPDX-License-Identifier: BSD-3-Clause
// The short ways and the long one.
#include "gma/issuer.hpp"

#include <atomic>
#include <cstdio>
#include <utility>

#include "os/cancellation.hpp"

namespace acp::gma {

Issuer::Issuer(const Parts& parts,
               local::Hazards& hazards,
               local::Attach& attach,
               const Marks& marks,
               const base::Config& config,
               std::uint32_t rank) noexcept
    : parts_(parts),
      hazards_(hazards),
      attach_(attach),
      marks_(marks),
      at_once_bytes_max_(config.inline_bytes_max),
      rank_(rank),
      may_attach_(parts.routes.may_attach()),
      is_link_turned_here_(parts.progress.manner().is_link_turned_here) {}

// A copy that is sure to be run by attach and whose order is satisfied.
Handle Issuer::issue_attach(const Command& command, Handle order) {
    // acquire: a command ordered after another sees what that one wrote
    if (!command.is_copy() || order > marks_.order_floor.load(std::memory_order_acquire) ||
        !may_attach_ || !parts_.service.is_there() || parts_.mailbox.has_work()) {
        return handle_null;
    }
    memory::HazardLine* line = hazards_.own_line();
    if (line == nullptr) [[unlikely]] {
        return handle_null;
    }
    local::AttachCopy copy;
    hazards_.enter(*line, command.target, command.source);
    const bool is_found = parts_.routes.find_attach(command, copy);
    const bool is_run = is_found && parts_.jobs.try_at_once(command, copy, attach_, *line);
    memory::leave(*line);
    if (is_run) [[likely]] {
        JobRunner::count_at_once(*line, command.bytes);
        return marks_.inline_handle.load(std::memory_order_relaxed);
    }
    if (!is_found) {
        return handle_null;
    }
    std::unique_lock lock(
        parts_.commands.mutex);  // what failed just now fails again, and is explained
    if (!parts_.commands.queue.has_room()) [[unlikely]] {
        return handle_null;
    }
    const std::uint64_t number = parts_.commands.queue.admit_ready(command);
    parts_.jobs.append(number, Route::attach);
    lock.unlock();
    parts_.progress.notify();
    return number;
}

// A copy with an end on another node, whose order is satisfied, where the gateway is in this process. What is alone under
// way leaves at once. More is collected: it leaves with the next turn of anybody, and somebody turns when an answer
// comes, at the latest after a nap of the service thread. An end that is bad is found out where it is used.
Handle Issuer::issue_remote(GlobalAddress target,
                            GlobalAddress source,
                            std::uint64_t bytes,
                            Handle order) {
    // acquire: a command ordered after another sees what that one wrote
    if (order > marks_.order_floor.load(std::memory_order_acquire) ||
        !(parts_.routes.is_far(target, bytes) || parts_.routes.is_far(source, bytes)) ||
        !parts_.progress.is_job_whole()) {
        return handle_null;
    }
    std::uint64_t number = 0;
    bool is_due = false;
    {
        const std::scoped_lock lock(parts_.commands.mutex);
        if (!parts_.commands.queue.has_room()) [[unlikely]] {
            return handle_null;
        }
        number = parts_.commands.queue.admit_ready_copy(target, source, bytes);
        is_due = parts_.remote.collect(number);
    }
    if (is_due) {
        parts_.progress.send_collected();
    }
    return number;
}

Handle Issuer::issue_long(const Command& command, Handle order) {
    const os::CancellationHold cancellation;  // it may wait for room
    Route route = Route::none;
    base::Status failure;
    {
        // Not held over queue() and fail(): they run work of their own, which names addresses of its own.
        local::Hazards::Lease lease(hazards_);
        failure = parts_.routes.check(command, lease.line(), route);
        const bool is_short = command.bytes <= at_once_bytes_max_;
        if (failure.is_ok() && route == Route::direct && is_short &&
            parts_.progress.manner().may_waiter_run && is_satisfied(order)) {
            failure = parts_.mover.move_direct(command, lease.line());
            if (failure.is_ok()) {
                return marks_.inline_handle.load(std::memory_order_relaxed);
            }
        }
    }
    return failure.is_ok() ? queue(command, route, order) : fail(std::move(failure));
}

bool Issuer::is_satisfied(Handle order) {
    const std::scoped_lock lock(parts_.commands.mutex);
    return parts_.commands.queue.is_satisfied(order);
}

Handle Issuer::fail(base::Status failure) {
    std::unique_lock lock(parts_.commands.mutex);
    make_room(lock);
    return parts_.commands.queue.admit_failed(std::move(failure));
}

// Where there is no room, or no memory for more, the queue is as long as it can be: who issues waits for its end to
// come off. Something is outstanding then. The lock is held before and after, not meanwhile.
void Issuer::make_room(std::unique_lock<std::mutex>& lock) {
    while (!parts_.commands.queue.has_room()) {
        parts_.completion.wait_for_oldest(lock);
    }
}

void Issuer::say_once_that_there_is_no_thread(const base::Status& why) const {
    static std::atomic_flag is_said;
    if (!is_said.test_and_set()) {
        std::fprintf(
            stderr,
            "acp: rank %u has no service thread (%.*s): commands progress only in ACP calls\n",
            rank_, static_cast<int>(why.message().size()), why.message().data());
    }
}

//   route  by which it runs if it may run at once; another is chosen when it may later
Handle Issuer::queue(const Command& command, Route route, Handle order) {
    if (auto status = parts_.service.ensure(); !status.is_ok()) {
        say_once_that_there_is_no_thread(status);
    }
    CommandQueue::Admission admission;
    std::unique_lock lock(parts_.commands.mutex);
    make_room(lock);
    for (admission = parts_.commands.queue.admit(command, order); admission.number == 0;
         admission = parts_.commands.queue.admit(command, order)) {
        parts_.completion.wait_for_oldest(lock);
        make_room(lock);
    }
    if (admission.is_ready) {
        parts_.progress.give(admission.number, route);
    }
    parts_.progress.want_service();
    lock.unlock();
    if (!admission.is_ready) {
        return admission.number;
    }
    Progress& progress = parts_.progress;
    const bool has_message = parts_.mailbox.has_work() || parts_.remote.has_work();
    if (has_message && progress.manner().may_waiter_turn) {
        if (progress.turn(Driver::passer_by)) {  // the message leaves now, whoever waits later
            progress.tell_waiters(Driver::passer_by);
        }
    }
    if (route == Route::remote) {
        progress.leave_rest();  // what the gateway has taken needs nobody here
    } else {
        progress.notify();
    }
    return admission.number;
}

}  // namespace acp::gma
