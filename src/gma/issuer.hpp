// SPDX-License-Identifier: BSD-3-Clause
// Issuing what the inline path (gma/inline_access.hpp) could not do. Each command gets a handle, by
// the first of these ways that takes it; a way that does not leaves no trace:
//   issue_attach()                   a copy to or from private memory of another process, order
//                                    satisfied: run now, or a job
//   issue_remote(), issue_to_link()  an address on another node, order satisfied, gateway in this
//                                    process: sent with others
//   issue_long()                     everything: finds both ends and describes errors, runs the
//                                    command at once if it may, else gives it a number and its
//                                    carrier
// Any thread outside of signal handlers. issue(), issue_copy(), issue_long(), issue_invoke(),
// queue() and fail() wait while there is no room for a command, and run and send other commands
// while they wait: the caller has neither the lock of Commands, nor the driver's role, nor a hazard
// line that names something.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/config.hpp"
#include "base/status.hpp"
#include "gma/commands.hpp"
#include "gma/completion.hpp"
#include "gma/inline_access.hpp"
#include "gma/invokes.hpp"
#include "gma/mover.hpp"
#include "gma/progress.hpp"
#include "gma/routes.hpp"
#include "gma/service_thread.hpp"
#include "local/attach.hpp"
#include "local/hazards.hpp"

namespace acp::gma {

// When commands leave for another node: now, or together with those that are issued next, at the latest with
// Progress::send_rest() or the next poll.
enum class Departure : std::uint8_t { now, together };

class Issuer {
public:
    // The parts of global memory access that an issuer works with. All must outlive it.
    struct Parts {
        Commands& commands;
        Routes& routes;
        Mover& mover;
        JobRunner& jobs;
        MailboxCarrier& mailbox;
        RemoteCarrier& remote;
        Invokes& invokes;
        Progress& progress;
        ServiceSleep& service_sleep;
        ServiceThread& service;
        Completion& completion;
    };

    //   hazards, attach, marks  must outlive this
    //   rank                    of this process, for messages
    Issuer(const Parts& parts,
           local::Hazards& hazards,
           local::Attach& attach,
           const Marks& marks,
           const base::Config& config,
           std::uint32_t rank) noexcept;

    // Issues a command. A bad command gives a failed handle. If the link is polled here the rank is
    // alone on its node: there is no other process to attach to.
    [[gnu::always_inline]] Handle issue(const Command& command, Handle order) {
        if (is_link_polled_here_ && command.is_copy()) {
            return issue_copy(command.target, command.source, command.bytes, order);
        }
        const Handle handle = is_link_polled_here_ ? handle_null : issue_attach(command, order);
        return handle != handle_null ? handle : issue_long(command, order);
    }

    // issue() of a copy.
    [[gnu::always_inline]] Handle issue_copy(GlobalAddress target,
                                             GlobalAddress source,
                                             std::uint64_t bytes,
                                             Handle order) {
        if (is_link_polled_here_) {
            const Handle handle = issue_remote(target, source, bytes, order);
            if (handle != handle_null) [[likely]] {
                return handle;
            }
        }
        const Command command{memory::Operation::copy, 0, target, source, bytes, 0, 0};
        const Handle handle = is_link_polled_here_ ? handle_null : issue_attach(command, order);
        return handle != handle_null ? handle : issue_long(command, order);
    }

    // issue() by the long way alone.
    Handle issue_long(const Command& command, Handle order);

    // Issues a numbered operation; it has run when this returns where the memory is on this node
    // and the order is satisfied. One that cannot run gives a failed handle. Invocation says how
    // long its arguments and the room for its result must last.
    Handle issue_invoke(const Invocation& call, Handle order);

    // Issues a copy, and a numbered operation that runs when the copy has ended well, under one handle;
    // a failure of either is the handle's. Where the link keeps their order, both leave in one flight.
    //   call  as for issue_invoke()
    Handle issue_followed(const Command& copy, const Invocation& call, Departure departure);

    // issue_followed() of a copy whose addresses were checked, with an order. Takes over its loan as
    // queue() does.
    //   route  of the copy
    Handle queue_followed(const Command& copy,
                          const Invocation& call,
                          Handle order,
                          Route route,
                          Departure departure);

    // Takes the memory that issue_invoke() on another node needs besides the command's record,
    // once. False: there is none.
    [[nodiscard]] bool prepare_invokes() noexcept {
        const std::scoped_lock lock(parts_.commands.mutex);
        return parts_.invokes.prepare();
    }

    // Checks the addresses of commands before they are queued. Errors: those of Routes::check;
    // memory.
    //   second  runs after the first one; nullptr: there is none
    //   route   of the first one, if its addresses are good
    [[nodiscard]] base::Status check(const Command& first, const Command* second, Route& route);

    // prepare_invokes() for issue_followed(). False: there is none, or the link keeps no order, so that
    // the operation leaves a round trip behind its copy.
    [[nodiscard]] bool prepare_followed() noexcept {
        const std::scoped_lock lock(parts_.commands.mutex);
        return parts_.remote.has_ahead() && parts_.invokes.prepare() &&
               parts_.commands.queue.keep_room_for_two();
    }

    // Whether the order is satisfied, so that a command may run at once.
    [[nodiscard]] bool is_satisfied(Handle order);

    // A failed handle.
    Handle fail(base::Status failure);

    // The commands of one call: one, or two of which the second runs after the first.
    struct Queued {
        Command command;
        Handle order = handle_null;
        const Invocation* call =
            nullptr;                // for which the last one stands; nullptr: it is no invoke
        Command* second = nullptr;  // nullptr: there is none (CommandQueue::admit_pair)
    };

    // Queues commands that were checked and cannot run at once; the handle of two is the second's.
    // Takes over the command's loan (gma/local_ends.hpp), also where the handle is a failed one.
    //   route  of the first command, if it is ready now. One that waits for its order gets its
    //          route when it becomes ready (Progress).
    Handle queue(Queued queued, Route route);

    // Gives a command with an address on another node a number, and hands it to the link with what
    // else was collected. Only where the link is polled here. handle_null: it must be queued, and
    // nothing was done.
    //   command  its order is satisfied, by Marks::order_floor loaded with acquire; this is not
    //            checked here
    //   call     for which the command stands; nullptr: it is no invoke
    Handle issue_to_link(Command command, const Invocation* call);

private:
    // handle_null: another way must be taken, and nothing was done. Both test whether the order is
    // satisfied.
    Handle issue_attach(const Command& command, Handle order);
    Handle issue_remote(GlobalAddress target,
                        GlobalAddress source,
                        std::uint64_t bytes,
                        Handle order);

    Handle issue_followed_to_link(const Command& copy, const Invocation& call, Departure departure);
    Handle end_invoke(const Invocation& call, base::Code code);
    Handle issue_invoke_long(const local::NumberedOperation& operation,
                             const Invocation& call,
                             Handle order);
    CommandQueue::Admission admit(std::unique_lock<std::mutex>& lock, Queued& queued);
    void make_room(std::unique_lock<std::mutex>& lock);
    bool make_room_for_two(std::unique_lock<std::mutex>& lock);

    Parts parts_;
    local::Hazards& hazards_;
    local::Attach& attach_;
    const Marks& marks_;
    std::uint64_t at_once_bytes_max_;
    std::uint32_t rank_;
    bool may_attach_;
    bool may_program_run_;  // threads other than the service thread run commands
    bool is_link_polled_here_;
};

}  // namespace acp::gma
