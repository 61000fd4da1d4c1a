// SPDX-License-Identifier: BSD-3-Clause
// Decides which thread of a process works on its commands, and which sleeping thread is woken when
// there is work. A thread that waits, one that issues a command, and the service thread do the same
// work as far as Manner allows: they note deaths, run jobs (commands that this process runs
// itself), and poll the mailbox and the link. To poll one is to call its poll(), which sends and
// receives once. Only one thread at a time may do that, the driver (gma/driver_role.hpp); a thread
// that finds the role taken continues without it. A thread that has done something wakes the
// threads that wait. This class calls JobRunner, MailboxCarrier, RemoteCarrier and LayerCarrier;
// none of them calls it. Any thread.
// Lock order: the driver's role first, then the mutex of Commands; no thread asks for the role
// while it holds the mutex. Functions marked "with the lock" are called with the mutex held, all
// others without it. Only the constructor throws: the other functions allocate no memory
// (docs/architecture.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "gma/attendance.hpp"
#include "gma/driver_role.hpp"
#include "gma/job_runner.hpp"
#include "gma/layer_carrier.hpp"
#include "gma/mailbox_carrier.hpp"
#include "gma/remote_carrier.hpp"
#include "gma/service_sleep.hpp"
#include "node/member.hpp"
#include "node/wait.hpp"

namespace acp::gma {

// The role in which a thread calls. waiter: it waits, and is counted in the door for that time
// where Manner says so. passer_by: it issues a command or polls once, and then returns to the
// program. service: the service thread. Each of them may become the driver.
enum class Caller { waiter, passer_by, service };

class Progress {
public:
    // The work that threads of the program may do themselves; the service thread may do everything.
    // may_program_poll implies may_program_run.
    struct Manner {
        // They run jobs (ACP_BYPASS=on).
        bool may_program_run = true;
        // They poll the mailbox and the link, and are counted in the door while they wait
        // (ACP_BYPASS=on, ACP_INTRANODE is not udp, and ACP_MAILBOX is mpsc). False: they poll only
        // in send_collected() and help(), and are not counted.
        bool may_program_poll = true;

        // Copied from the link's LinkTraits.
        bool is_link_polled_here = false;
        node::LookCost look_cost = node::LookCost::cheap;
    };

    //   all  must outlive this.   Throws std::bad_alloc.
    Progress(node::Member& member,
             Commands& commands,
             Routes& routes,
             JobRunner& jobs,
             MailboxCarrier& mailbox,
             RemoteCarrier& remote,
             LayerCarrier& layers,
             ServiceSleep& service_sleep,
             Manner manner);

    [[nodiscard]] const Manner& manner() const noexcept { return manner_; }

    // Whether jobs wait to be run. With the lock.
    [[nodiscard]] bool has_jobs() const noexcept { return !jobs_.is_empty(); }

    // Does once whatever can be done now: notes deaths, runs jobs, polls. A passer-by runs no long
    // job, and wakes another thread for work that it leaves undone. True when something was done,
    // or when another thread asked for the driver's role during the call: then this call has woken
    // the threads that wait, and a caller that waits must call again before it sleeps.
    bool work(Caller caller);

    // Runs the oldest jobs that can share a system call, or a piece of a long one. has_jobs() must
    // be true. With the lock, which is released while they run. True when commands became ready, or
    // were passed on to another carrier: no thread was woken for them, so a caller that does not
    // call work() next must call wake_worker(), without the lock. The threads that wait were not
    // woken either: the caller calls tell_waiters().
    bool run_some(std::unique_lock<std::mutex>& lock, Caller caller) {
        jobs_.note_runner(caller == Caller::service);
        jobs_.run_some(lock);
        return give_out_ready();
    }

    // The result of a poll.
    enum class Polled : std::uint8_t {
        nothing,
        moved,  // bytes were sent or placed; no command has ended
        // a command has ended, the mailbox has moved, or another thread asked for the role: the
        // caller calls tell_waiters()
        told,
    };

    // Takes the driver's role, and polls the mailbox and the link once. Does nothing if there is
    // nothing to do, or if another thread has the role. The answers of a waiter's poll to other
    // nodes may wait for the poll after it, or for send_answers().
    Polled poll(Caller caller);

    // A thread that has waited is about to return to the program: sends the answers that its last
    // poll left unsent, unless the program is expected back at once, whose next commands then travel
    // with them. If it does not come back the service thread sends them after its nap.
    void send_answers() {
        const bool is_needed = remote_.is_due() && service_sleep_.presence().is_service_needed();
        if (is_needed && poll(Caller::passer_by) != Polled::nothing)
            tell_waiters(Caller::passer_by);
    }

    // Calls run_some() if there are jobs; for a passer-by only if the next one is short. True when
    // some were run: the caller then calls tell_waiters().
    bool run_jobs(Caller caller);

    // Called after RemoteCarrier::collect(): hands the collected commands to the link, and takes in
    // the ends of others. If another thread is the driver the next poll does both, and this call
    // wakes a thread for it.
    //   is_ahead  no ends are taken in, for few commands wait
    void send_collected(bool is_ahead = false);

    // Hands commands that were collected and wait for more to the link, if there are any.
    void send_rest() {
        if (remote_.has_collected()) send_collected(true);
    }

    // Gives a ready command to the carrier of its route, which is not Route::none. With the lock;
    // then the caller polls, or wakes a thread that does (wake_worker(), leave_rest()).
    void give(std::uint64_t number, Route route);

    // Sets in the link whether the gateway must ring the service thread when a command ends. With
    // the lock, after commands were queued, handed to the link, or ended by it. Not needed after
    // run_some() or poll_mailbox(): a command that these make ready for the link was waiting for
    // its order before, and while any command waits the link is set to ring.
    void update_service_wish();

    // Wakes a thread for work that was stored before this call: the threads that wait, if any are
    // counted in the door; else the service thread, unless it naps and the program is expected to
    // be back and do the work before the nap ends. With the lock or without.
    void wake_worker();

    // Wakes the threads that wait, so that each tests whether its command has ended. Called after
    // the end was stored.
    void tell_waiters(Caller caller);

    // Ends commands that layers carry out, and wakes the threads that wait for them or work on what
    // becomes ready.   ends  the statuses are moved from
    void end_of_layer(std::span<LayerEnd> ends) noexcept;

    // Polls once on behalf of a thread that waits in a barrier, and wakes the threads that wait.
    // True when something was done.
    bool help();

    // Three functions ask whether work is left; they differ in what counts. A process that sends
    // mail (a message to this process), or the gateway when it ends a far command, rings a bell, so
    // only a thread that may have been rung for it must poll for it. For messages that wait in the
    // forwarder for room at another process, that process rings when it makes room
    // (mailbox/port.hpp).
    //
    //   asked by                               jobs, commands    mail, ends of  what waits in
    //                                          not handed over   far commands   the forwarder
    //   leave_rest         an uncounted waiter  yes               no             no
    //   is_work_left       a counted waiter     yes               yes            yes
    //   may_service_sleep  the service thread   yes               yes            if it has room

    // A thread returns to the program and was not counted in the door: calls wake_worker() if it
    // leaves work undone.
    void leave_rest();

    // Whether a thread that is no longer counted in the door, and was perhaps rung before, leaves
    // work that the service thread must do. The service thread asks the same, before it doubts the
    // counted threads (Attendance::doubt_idle).
    [[nodiscard]] bool is_work_left() const;

    // Whether the service thread may sleep: nothing is left, or threads that are counted do it.
    // Called by it after it announced its sleep; may take the driver's role for a moment.
    [[nodiscard]] bool may_service_sleep();

    // True until this process has noted a death on its node, or a loss on another one.
    [[nodiscard]] bool is_job_whole() const noexcept {
        return deaths_seen_.load(std::memory_order_relaxed) == 0;
    }

    // A thread that polls once more and then sleeps on the waiter bell: layers ring it too.
    void announce_sleep() noexcept { layers_.announce_sleep(); }

    // Whether a thread is the driver; the answer may be out of date at once.
    [[nodiscard]] bool is_polling() const noexcept { return driver_.is_held(); }

    // Counts the threads of this process that wait.
    [[nodiscard]] Attendance& attendance() noexcept { return attendance_; }

    [[nodiscard]] node::Waiter& service_waiter() noexcept { return service_waiter_; }

private:
    bool note_deaths();
    bool give_out_ready();
    Polled poll_mailbox();              // driver_ held
    Polled poll_remote(Caller caller);  // driver_ held
    std::uint32_t hand_to_remote();     // driver_ held
    [[nodiscard]] bool can_mailbox_go_on();

    node::Member& member_;
    Commands& commands_;
    Routes& routes_;
    JobRunner& jobs_;
    MailboxCarrier& mailbox_;
    RemoteCarrier& remote_;
    LayerCarrier& layers_;
    ServiceSleep& service_sleep_;
    Manner manner_;
    Attendance attendance_;
    // Its holder polls the mailbox and the link, and must not be cancelled (pthread_cancel) while
    // it does. Most calls of the API hold cancellation off as a whole (api/boundary.hpp); poll()
    // and send_collected() do so for the calls that do not.
    DriverRole<> driver_;
    // The value of ControlBlock::deaths up to which this process has acted. Writer: the driver.
    std::atomic<std::uint32_t> deaths_seen_{0};
    std::vector<bool> is_death_noted_;  // indexed by slot, also the gateway's; guarded by driver_
    node::Waiter service_waiter_;
};

}  // namespace acp::gma
