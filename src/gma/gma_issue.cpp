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
    return {code, std::string(name_of(command)) + " by rank " + std::to_string(space_.rank()) +
                      " on " + os::host_name() + ": the " + (is_target ? "target" : "source") +
                      " is " + space_.explain(address, command.bytes)};
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
            return {base::Code::alignment,
                    std::string(name_of(command)) + " by rank " + std::to_string(space_.rank()) +
                        ": target and source must be multiples of " +
                        std::to_string(command.width) + "; " +
                        space_.explain(target.owner_address % command.width != 0 ? command.target
                                                                                 : command.source,
                                       command.bytes)};
        }
    }
    if (is_target_far || is_source_far) {
        route = Route::remote;
        return is_gateway_dead() ? no_gateway(command) : base::Status();
    }
    route = choose(command, target, source);
    if (route == Route::none) {
        return {
            base::Code::unsupported,
            std::string(name_of(command)) +
                ": ACP_INTRANODE=direct reaches shared memory only, and " +
                space_.explain(is_here(target) ? command.source : command.target, command.bytes) +
                " is private memory; use ACP_INTRANODE=auto"};
    }
    return {};
}

Handle Gma::fail(base::Status failure) {
    const std::scoped_lock lock(mutex_);
    return queue_.admit_failed(std::move(failure));
}

Handle Gma::issue_other(const Command& command, Handle order) {
    Route route = Route::none;
    {
        // Not held over queue(): that runs work of its own, which names addresses of its own.
        local::Hazards::Lease lease(hazards_);
        if (auto status = check(command, lease.line(), route); !status.is_ok()) {
            return fail(std::move(status));
        }
        const bool is_short = command.bytes <= config_.inline_bytes_max;
        if (route == Route::direct && is_short && may_waiter_run_ && is_satisfied(order)) {
            if (auto status = run_direct(command, lease.line()); !status.is_ok()) {
                return fail(std::move(status));
            }
            return fast_.marks.inline_handle.load(std::memory_order_relaxed);
        }
    }
    return queue(command, route, order);
}

bool Gma::is_satisfied(Handle order) {
    const std::scoped_lock lock(mutex_);
    return queue_.is_satisfied(order);
}

// Waits for room only: a failure stays to be reported to whoever waits for it.
void Gma::wait_for_room(std::uint64_t oldest) {
    node::Door& door = member_.slot().door;
    door.is_attended.fetch_add(1, std::memory_order_seq_cst);
    const auto ready = [&] { return drive_until(oldest); };
    const auto sleep = [&](std::int64_t timeout_ns) {
        return node::sleep_on_bell(door.waiter_bell, ready, timeout_ns);
    };
    member_.waiter().wait(ready, sleep, node::for_ever);
    door.is_attended.fetch_sub(1, std::memory_order_seq_cst);
    hand_over();
}

//   route  by which it runs if it may run at once; another is chosen when it may later
Handle Gma::queue(const Command& command, Route route, Handle order) {
    if (auto status = ensure_service(); !status.is_ok()) {
        static std::atomic_flag is_said;
        if (!is_said.test_and_set()) {
            std::fprintf(
                stderr,
                "acp: rank %u has no service thread (%s): commands progress only in ACP calls\n",
                space_.rank(), std::string(status.message()).c_str());
        }
    }
    CommandQueue::Admission admission;
    std::unique_lock lock(mutex_);
    while (queue_.outstanding() >= commands_outstanding_max) {
        const std::uint64_t oldest = queue_.oldest_outstanding();
        lock.unlock();
        wait_for_room(oldest);
        lock.lock();
    }
    admission = queue_.admit(command, order);
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
        to_remote_.push_back() = number;
        has_link_work_.store(true, std::memory_order_seq_cst);  // partner: is_idle(), as below
        return;
    }
    const Command* command = &queue_.command(number);
    if (route == Route::forward) {
        to_forward_.push_back({number, command, route});
        has_forward_work_.store(true, std::memory_order_relaxed);
    } else {
        jobs_.push_back({number, command, route});
    }
    pending_.fetch_add(
        1, std::memory_order_seq_cst);  // partner: is_idle() after the sleep was announced
}

void Gma::notify() {
    node::Door& door = member_.slot().door;
    if (may_waiter_run_ && door.is_attended.load(std::memory_order_relaxed) != 0) {
        node::ring_bell(door.waiter_bell);
        return;
    }
    if (!is_napping_.load(std::memory_order_seq_cst)) {
        wake_service();
    }
}

}  // namespace acp::gma
