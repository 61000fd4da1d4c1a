// SPDX-License-Identifier: BSD-3-Clause
// The short ways and the long one.
#include "gma/issuer.hpp"

#include <atomic>
#include <cstdio>
#include <new>
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
      may_program_run_(parts.progress.manner().may_program_run),
      is_link_polled_here_(parts.progress.manner().is_link_polled_here) {}

// A copy that is sure to be run by attach and whose order is satisfied.
Handle Issuer::issue_attach(const Command& command, Handle order) {
    // acquire: a command sees the writes of the commands that it is ordered after
    if (!command.is_copy() || order > marks_.order_floor.load(std::memory_order_acquire) ||
        !may_attach_ || !parts_.service.is_there() || parts_.mailbox.has_work()) {
        return handle_null;
    }
    memory::HazardLine* line = hazards_.free_line();
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
    if (!is_found) return handle_null;
    std::unique_lock lock(
        parts_.commands.mutex);  // what failed just now fails again, and is explained
    if (!parts_.commands.queue.has_room()) [[unlikely]] {
        return handle_null;
    }
    const std::uint64_t number = parts_.commands.queue.admit_ready(command);
    parts_.jobs.append(number, Route::attach);
    lock.unlock();
    parts_.progress.wake_worker();
    return number;
}

// A copy with an end on another node, where the gateway is in this process. It leaves at once if no
// other command is in flight, else with the next poll of any thread.
Handle Issuer::issue_remote(GlobalAddress target,
                            GlobalAddress source,
                            std::uint64_t bytes,
                            Handle order) {
    // acquire: a command sees the writes of the commands that it is ordered after
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
        is_due = parts_.remote.collect(number, false);
    }
    if (is_due) parts_.progress.send_collected();
    return number;
}

// The calling thread runs it if its memory is here and its order satisfied; else it is queued.
Handle Issuer::issue_invoke(const Invocation& call, Handle order) {
    const local::NumberedOperation* operation = parts_.invokes.find(call);
    const bool is_here = parts_.invokes.is_here(call);
    if (operation == nullptr || !(is_here || parts_.invokes.has_process(call))) [[unlikely]] {
        return fail(parts_.invokes.refusal(call));
    }
    // acquire: a command sees the writes of the commands that it is ordered after
    const bool is_due = order <= marks_.order_floor.load(std::memory_order_acquire);
    if (is_due && is_here && may_program_run_) [[likely]] {
        if (memory::HazardLine* line = hazards_.free_line(); line != nullptr) [[likely]] {
            const base::Code code = parts_.invokes.run(*operation, call, *line);
            detail::count(*line, call.argument_bytes());
            return end_invoke(call, code);
        }
    }
    if (is_due && is_link_polled_here_ && !is_here) {
        const Handle handle = issue_to_link(parts_.invokes.command_of(call), &call);
        if (handle != handle_null) [[likely]] {
            return handle;
        }
    }
    return issue_invoke_long(*operation, call, order);
}

// Of an invoke that has run here. A failure may wait for its number: no line is leased.
Handle Issuer::end_invoke(const Invocation& call, base::Code code) {
    return code == base::Code::ok ? marks_.inline_handle.load(std::memory_order_relaxed)
                                  : fail(parts_.invokes.failure_of(call, code));
}

// Like issue_remote(): a command leaves at once if no other is in flight, else together with others at the next poll.
Handle Issuer::issue_to_link(Command command, const Invocation* call) {
    if (!parts_.progress.is_job_whole()) {
        return handle_null;
    }
    std::uint64_t number = 0;
    bool is_due = false;
    {
        const std::scoped_lock lock(parts_.commands.mutex);
        if (!parts_.commands.queue.has_room() ||
            (call != nullptr && parts_.invokes.keep(*call, command) != Invokes::Kept::yes))
            [[unlikely]] {
            return handle_null;
        }
        number = parts_.commands.queue.admit_ready(command);
        if (call != nullptr) parts_.invokes.bind(command, number);
        is_due = parts_.remote.collect(number, command.is_invoke());
    }
    if (is_due) parts_.progress.send_collected();
    return number;
}

Handle Issuer::issue_invoke_long(const local::NumberedOperation& operation,
                                 const Invocation& call,
                                 Handle order) {
    const os::CancellationHold cancellation;  // it may wait for room
    const Command command = parts_.invokes.command_of(call);
    if (!parts_.invokes.is_here(call)) {
        return parts_.routes.is_gateway_dead() ? fail(parts_.routes.no_gateway(command))
                                               : queue({command, order, &call}, Route::remote);
    }
    if (may_program_run_ && is_satisfied(order)) {
        base::Code code = base::Code::ok;
        {
            local::Hazards::Lease lease(hazards_);
            code = parts_.invokes.run(operation, call, lease.line());
        }
        return end_invoke(call, code);
    }
    return queue({command, order, &call}, Route::direct);
}

base::Status Issuer::check(const Command& first, const Command* second, Route& route) {
    try {
        local::Hazards::Lease lease(hazards_);
        base::Status failure;
        if (second != nullptr) failure = parts_.routes.check(*second, lease.line(), route);
        return failure.is_ok() ? parts_.routes.check(first, lease.line(), route)
                               : std::move(failure);
    } catch (const std::bad_alloc&) {
        return base::Status::bare(base::Code::memory);
    }
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
            parts_.progress.manner().may_program_run && is_satisfied(order)) {
            failure = parts_.mover.move_direct(command, lease.line());
            if (failure.is_ok()) {
                return marks_.inline_handle.load(std::memory_order_relaxed);
            }
        }
    }
    return failure.is_ok() ? queue({command, order}, route) : fail(std::move(failure));
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

// Without room, or memory for more, the issuing thread waits until the oldest command has ended: at
// least one is outstanding then. The lock is held before and after, and released in between.
void Issuer::make_room(std::unique_lock<std::mutex>& lock) {
    while (!parts_.commands.queue.has_room()) {
        parts_.completion.wait_for_oldest(lock);
    }
}

// Makes room for two commands in a row. False: there is no memory, and no outstanding command whose end would free some.
bool Issuer::make_room_for_two(std::unique_lock<std::mutex>& lock) {
    while (!parts_.commands.queue.has_room_for_two()) {
        if (parts_.commands.queue.outstanding() == 0) return false;
        parts_.completion.wait_for_oldest(lock);
    }
    return true;
}

// Gives the command a number, as soon as there is room for it and an invoke's arguments. number 0:
// there is no memory for these. The lock is held before and after, and released in between.
CommandQueue::Admission Issuer::admit(std::unique_lock<std::mutex>& lock, Queued& queued) {
    CommandQueue& queue = parts_.commands.queue;
    while (true) {
        if (queued.second == nullptr) {
            make_room(lock);
        } else if (!make_room_for_two(lock)) {
            return {};
        }
        Invokes::Kept kept = Invokes::Kept::yes;
        Command& invoke = queued.second == nullptr ? queued.command : *queued.second;
        if (queued.call != nullptr) kept = parts_.invokes.keep(*queued.call, invoke);
        if (kept == Invokes::Kept::no_memory) return {};
        if (kept == Invokes::Kept::yes) {
            const CommandQueue::Admission admission =
                queued.second == nullptr
                    ? queue.admit(queued.command, queued.order)
                    : queue.admit_pair(queued.command, *queued.second, queued.order);
            if (admission.number != 0) {
                if (queued.call != nullptr) parts_.invokes.bind(invoke, admission.number);
                parts_.commands.take_lapsed_loans();
                return admission;
            }
        }
        parts_.completion.wait_for_oldest(lock);
    }
}

Handle Issuer::queue(Queued queued, Route route) {
    parts_.service.ensure_or_say(rank_);
    const ServiceSleep::Stay stay(parts_.service_sleep, ServiceSleep::Stay::Kind::moment);
    std::unique_lock lock(parts_.commands.mutex);
    const CommandQueue::Admission admission = admit(lock, queued);
    if (admission.number == 0) {
        lock.unlock();
        parts_.commands.local_ends.give_back(queued.command.loan());
        return fail(base::Status::bare(base::Code::memory));
    }
    if (admission.is_ready) {
        parts_.progress.give(admission.number - (queued.second != nullptr ? 2 : 0), route);
    }
    // The second of two is handed over together with the first, by the poll below.
    const bool is_pair = queued.second != nullptr;
    const bool is_ahead =
        admission.is_ready == is_pair && route == Route::remote &&
        parts_.commands.queue.is_outstanding(admission.number) &&
        parts_.remote.collect_ahead(admission.number, is_pair ? handle_cont : queued.order);
    parts_.progress.update_service_wish();
    lock.unlock();
    if (is_ahead && !is_pair) parts_.progress.send_collected(true);
    if (!admission.is_ready) return admission.number;
    Progress& progress = parts_.progress;
    const bool has_message = parts_.mailbox.has_work() || parts_.remote.has_work();
    if (has_message && progress.manner().may_program_poll) {
        if (progress.poll(Caller::passer_by) !=
            Progress::Polled::nothing) {  // the message leaves now
            progress.tell_waiters(Caller::passer_by);
        }
    }
    progress
        .leave_rest();  // a command that its owner or the gateway has taken needs no thread here
    return admission.number;
}

}  // namespace acp::gma
