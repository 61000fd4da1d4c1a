// SPDX-License-Identifier: BSD-3-Clause
// Issuing: checking both ends, choosing the path, running at once what may, queueing the rest.
#include <cstdio>
#include <string>
#include <utility>

#include "gma/gma.hpp"
#include "os/process.hpp"

namespace acp::gma {

bool Gma::can_attach(const local::Place& place) noexcept {
    const base::IntraNode mode = config_.intranode;
    return (mode == base::IntraNode::automatic || mode == base::IntraNode::attach) &&
           !place.is_hidden && attach_->can_reach(place.slot);
}

Route Gma::choose(const Command& command, const local::Place& target, const local::Place& source) {
    const bool is_target_here = is_here(target);
    const bool is_source_here = is_here(source);
    if (is_target_here && is_source_here) {
        return Route::direct;
    }
    if (config_.intranode == base::IntraNode::direct) {
        return Route::none;
    }
    if (command.is_copy()) {
        const bool is_attachable =
            (is_target_here || can_attach(target)) && (is_source_here || can_attach(source));
        return is_attachable ? Route::attach : Route::forward;
    }
    // An atomic's word must be mapped here or be run by its owner. The attach mode has shared words mapped.
    const bool is_word_here = is_source_here || (config_.intranode == base::IntraNode::attach &&
                                                 source.direct != nullptr);
    if (is_word_here && (is_target_here || can_attach(target))) {
        return is_target_here ? Route::direct : Route::attach;
    }
    return Route::forward;
}

base::Status Gma::bad_address(const Command& command, bool is_target, base::Code code) const {
    const GlobalAddress address = is_target ? command.target : command.source;
    return base::Status::worded(code, [&] {
        return std::string(name_of(command)) + " by rank " + std::to_string(space_.rank()) +
               " on " + os::host_name() + ": the " + (is_target ? "target" : "source") + " is " +
               space_.explain(address, command.bytes);
    });
}

base::Status Gma::check(const Command& command, memory::HazardLine& line, Route& route) {
    hazards_.enter(line, command.target, command.source);
    local::Place target;
    local::Place source;
    const base::Code target_code = space_.find(command.target, command.bytes, target);
    const base::Code source_code = space_.find(command.source, command.bytes, source);
    memory::leave(line);
    const bool is_target_far =
        target_code != base::Code::ok && is_far(command.target, command.bytes);
    const bool is_source_far =
        source_code != base::Code::ok && is_far(command.source, command.bytes);
    if (target_code != base::Code::ok && !is_target_far) {
        return bad_address(command, true, target_code);
    }
    if (source_code != base::Code::ok && !is_source_far) {
        return bad_address(command, false, source_code);
    }
    if (!command.is_copy()) {  // what is far counts as aligned here, and is looked at there
        const std::uint64_t places = target.owner_address | source.owner_address;
        if (places % command.width != 0) {
            return base::Status::worded(base::Code::alignment, [&] {
                return std::string(name_of(command)) + " by rank " + std::to_string(space_.rank()) +
                       ": target and source must be multiples of " + std::to_string(command.width) +
                       "; " +
                       space_.explain(target.owner_address % command.width != 0 ? command.target
                                                                                : command.source,
                                      command.bytes);
            });
        }
    }
    if (is_target_far || is_source_far) {
        route = Route::remote;
        return is_gateway_dead() ? no_gateway(command) : base::Status();
    }
    route = choose(command, target, source);
    if (route == Route::none) {
        return base::Status::worded(base::Code::unsupported, [&] {
            return std::string(name_of(command)) +
                   ": ACP_INTRANODE=direct reaches shared memory only, and " +
                   space_.explain(is_here(target) ? command.source : command.target,
                                  command.bytes) +
                   " is private memory; use ACP_INTRANODE=auto";
        });
    }
    return {};
}

Handle Gma::fail(base::Status failure) {
    std::unique_lock lock(mutex_);
    make_room(lock);
    return queue_.admit_failed(std::move(failure));
}

Handle Gma::issue_other(const Command& command, Handle order) {
    Route route = Route::none;
    base::Status failure;
    {
        // Not held over queue() and fail(): they run work of their own, which names addresses of its own.
        local::Hazards::Lease lease(hazards_);
        failure = check(command, lease.line(), route);
        const bool is_short = command.bytes <= config_.inline_bytes_max;
        if (failure.is_ok() && route == Route::direct && is_short && may_waiter_run_ &&
            is_satisfied(order)) {
            failure = run_direct(command, lease.line());
            if (failure.is_ok()) {
                return fast_.marks.inline_handle.load(std::memory_order_relaxed);
            }
        }
    }
    return failure.is_ok() ? queue(command, route, order) : fail(std::move(failure));
}

bool Gma::is_satisfied(Handle order) {
    const std::scoped_lock lock(mutex_);
    return queue_.is_satisfied(order);
}

// Where there is no room, or no memory for more, the queue is as long as it can be: who issues waits for its end to
// come off. Something is outstanding then. The lock is held before and after, not meanwhile.
void Gma::make_room(std::unique_lock<std::mutex>& lock) {
    while (!queue_.has_room()) {
        wait_for_oldest(lock);
    }
}

// Waits for an end only: a failure stays to be reported to whoever waits for it.
void Gma::wait_for_oldest(std::unique_lock<std::mutex>& lock) {
    const std::uint64_t oldest = queue_.oldest_outstanding();
    lock.unlock();
    {
        // As in wait_announced(): who does not take mail must not be taken for one who does.
        std::optional<Attendance> attendance;
        if (may_waiter_forward_) {
            attendance.emplace(*this);
        }
        node::Door& door = member_.slot().door;
        const auto ready = [&] { return drive_until(oldest); };
        const auto sleep = [&](std::int64_t timeout_ns) {
            return node::sleep_on_bell(door.waiter_bell, ready, timeout_ns);
        };
        member_.waiter().wait(ready, sleep, node::for_ever);
    }
    lock.lock();
}

//   route  by which it runs if it may run at once; another is chosen when it may later
Handle Gma::queue(const Command& command, Route route, Handle order) {
    if (auto status = ensure_service(); !status.is_ok()) {
        static std::atomic_flag is_said;
        if (!is_said.test_and_set()) {
            std::fprintf(
                stderr,
                "acp: rank %u has no service thread (%.*s): commands progress only in ACP calls\n",
                space_.rank(), static_cast<int>(status.message().size()), status.message().data());
        }
    }
    CommandQueue::Admission admission;
    std::unique_lock lock(mutex_);
    make_room(lock);
    for (admission = queue_.admit(command, order); admission.number == 0;
         admission = queue_.admit(command, order)) {
        wait_for_oldest(lock);
        make_room(lock);
    }
    if (admission.is_ready) {
        dispatch(admission.number, route);
    }
    want_service();
    lock.unlock();
    if (admission.is_ready) {
        const bool has_message = has_forward_work_.load(std::memory_order_relaxed) ||
                                 has_link_work_.load(std::memory_order_relaxed);
        if (has_message && may_waiter_forward_) {
            if (turn_forwarder(Driver::passer_by)) {  // the message leaves now, whoever waits later
                tell_waiters(Driver::passer_by);
            }
        }
        // What the gateway has taken needs nobody here.
        if (route != Route::remote || has_link_work_.load(std::memory_order_relaxed)) {
            notify();
        }
    }
    return admission.number;
}

// What runs the command looks at its addresses again, under a hazard line.
Route Gma::route_of(const Command& command) {
    if (is_far(command)) {
        return Route::remote;
    }
    local::Place target;
    local::Place source;
    const bool is_known = space_.find(command.target, command.bytes, target) == base::Code::ok &&
                          space_.find(command.source, command.bytes, source) == base::Code::ok;
    return is_known ? choose(command, target, source) : Route::direct;
}

void Gma::dispatch(std::uint64_t number, Route route) {
    if (route == Route::remote) {
        queue_.append(to_remote_, number);
        has_link_work_.store(true, std::memory_order_seq_cst);  // partner: is_idle(), as below
        return;
    }
    if (route == Route::forward) {
        queue_.append(to_forward_, number);
        has_forward_work_.store(true, std::memory_order_relaxed);
    } else {
        queue_.append(jobs_, number, static_cast<std::uint8_t>(route));
    }
    pending_.fetch_add(
        1, std::memory_order_seq_cst);  // partner: is_idle() after the sleep was announced
}

void Gma::notify() {
    node::Door& door = member_.slot().door;
    // seq_cst: what there is to do was stored before; partner: the waiter that lowers is_attended, then looks for it
    // in hand_over()
    if (may_waiter_run_ && door.is_attended.load(std::memory_order_seq_cst) != 0) {
        node::ring_bell(door.waiter_bell);
        return;
    }
    if (!is_napping_.load(std::memory_order_seq_cst)) {
        wake_service();
    }
}

}  // namespace acp::gma
