// SPDX-License-Identifier: BSD-3-Clause
// Copies with a numbered operation behind them.
#include <atomic>
#include <mutex>
#include <utility>

#include "gma/issuer.hpp"
#include "os/cancellation.hpp"

namespace acp::gma {

Handle Issuer::issue_followed(const Command& copy, const Invocation& call, Departure departure) {
    const os::CancellationHold cancellation;  // it may wait for room
    if (parts_.invokes.find(call) == nullptr) return fail(parts_.invokes.refusal(call));
    Route route = Route::none;
    base::Status failure = check(copy, nullptr, route);
    return failure.is_ok() ? queue_followed(copy, call, handle_null, route, departure)
                           : fail(std::move(failure));
}

Handle Issuer::queue_followed(
    const Command& copy, const Invocation& call, Handle order, Route route, Departure departure) {
    // acquire: a command sees the writes of the commands that it is ordered after
    const bool is_due = order <= marks_.order_floor.load(std::memory_order_acquire);
    if (is_due && route == Route::remote && is_link_polled_here_) {
        const Handle handle = issue_followed_to_link(copy, call, departure);
        if (handle != handle_null) [[likely]] {
            return handle;
        }
    }
    Command second = parts_.invokes.command_of(call);
    return queue({copy, order, &call, &second}, route);
}

// As issue_to_link(). handle_null: it must be queued, and nothing was done.
Handle Issuer::issue_followed_to_link(const Command& copy,
                                      const Invocation& call,
                                      Departure departure) {
    if (!parts_.remote.has_ahead() || !parts_.progress.is_job_whole()) {
        return handle_null;
    }
    Command second = parts_.invokes.command_of(call);
    std::uint64_t number = 0;
    bool is_due = false;
    {
        const std::scoped_lock lock(parts_.commands.mutex);
        CommandQueue& queue = parts_.commands.queue;
        if (!queue.has_room_for_two() || parts_.invokes.keep(call, second) != Invokes::Kept::yes)
            [[unlikely]] {
            return handle_null;
        }
        number = queue.admit_pair(copy, second, handle_null).number;
        parts_.invokes.bind(second, number);
        is_due = parts_.remote.collect(number - 2, false) || departure == Departure::now;
        // Where it is not collected the operation leaves when the copy has ended.
        is_due = !parts_.remote.collect_ahead(number, handle_cont) ||
                 parts_.remote.is_ahead_full() || is_due;
    }
    if (is_due) parts_.progress.send_collected();
    return number;
}

}  // namespace acp::gma
