// SPDX-License-Identifier: BSD-3-Clause
// Issuing what the inline path could not do: looks at both ends, runs at once what may run at once, gives the rest a
// number and its carrier. Copies by attach and copies to other nodes whose order is satisfied take short ways; whatever
// is unusual takes the long way, which also says in words what is wrong. Every command gets a handle. Any thread.
#pragma once

#include <cstdint>

#include "base/config.hpp"
#include "base/status.hpp"
#include "gma/completion.hpp"
#include "gma/inline_access.hpp"
#include "gma/progress.hpp"
#include "gma/service_thread.hpp"

namespace acp::gma {

class Issuer {
public:
    // The parts that an issuer hands commands to. All must outlive it.
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

    // Issues a command. A bad command gives a failed handle.
    [[gnu::always_inline]] Handle issue(const Command& command, Handle order) {
        if (is_link_turned_here_ && command.is_copy()) {
            return issue_copy(command.target, command.source, command.bytes, order);
        }
        const Handle handle = is_link_turned_here_ ? handle_null : issue_attach(command, order);
        return handle != handle_null ? handle : issue_long(command, order);
    }

    // issue() of a copy.
    [[gnu::always_inline]] Handle issue_copy(GlobalAddress target,
                                             GlobalAddress source,
                                             std::uint64_t bytes,
                                             Handle order) {
        if (is_link_turned_here_) {
            const Handle handle = issue_remote(target, source, bytes, order);
            if (handle != handle_null) [[likely]] {
                return handle;
            }
        }
        const Command command{memory::Operation::copy, 0, target, source, bytes, 0, 0};
        const Handle handle = is_link_turned_here_ ? handle_null : issue_attach(command, order);
        return handle != handle_null ? handle : issue_long(command, order);
    }

    // issue() without trying the short ways: for what they do not take.
    Handle issue_long(const Command& command, Handle order);

    // Issues a numbered operation. One that cannot run gives a failed handle.
    Handle issue_invoke(const Invocation& call, Handle order);

    // Whether the order is satisfied, so that a command may run at once.
    [[nodiscard]] bool is_satisfied(Handle order);

    // A failed handle.
    Handle fail(base::Status failure);

    // The commands of one call, which are queued together.
    struct Queued {
        Command command;
        Handle order = handle_null;
        const Invocation* call = nullptr;  // of an invoke
        const Command* second =
            nullptr;  // of a call that is two commands: see CommandQueue::admit_pair
    };

    // Queues what was checked and cannot run at once. A loan of the command is given back when the command has ended.
    //   route  by which the first command runs if it may run at once; another is chosen when it may later
    Handle queue(Queued queued, Route route);

    // Hands a command whose order is satisfied, with an end on another node, to the link with what else was collected; only
    // where the link is turned here. handle_null: it must be queued, and nothing was done.
    //   call  of an invoke, else nullptr
    Handle collect(Command command, const Invocation* call);

private:
    // The short ways. handle_null: the long way must be taken, and nothing was done.
    Handle issue_attach(const Command& command, Handle order);
    Handle issue_remote(GlobalAddress target,
                        GlobalAddress source,
                        std::uint64_t bytes,
                        Handle order);

    Handle end_invoke(const Invocation& call, base::Code code);
    Handle issue_invoke_long(const local::NumberedOperation& operation,
                             const Invocation& call,
                             Handle order);
    CommandQueue::Admission admit(std::unique_lock<std::mutex>& lock, Queued& queued);
    void make_room(std::unique_lock<std::mutex>& lock);
    bool make_room_for_two(std::unique_lock<std::mutex>& lock);
    [[gnu::cold]] void say_once_that_there_is_no_thread(const base::Status& why) const;

    Parts parts_;
    local::Hazards& hazards_;
    local::Attach& attach_;
    const Marks& marks_;
    std::uint64_t at_once_bytes_max_;
    std::uint32_t rank_;
    bool may_attach_;
    bool may_program_run_;  // threads other than the service thread run commands
    bool is_link_turned_here_;
};

}  // namespace acp::gma
