// SPDX-License-Identifier: BSD-3-Clause
// Who does the work of a process, and who is woken for it. Every thread in the library works: one that waits, one that issues,
// and the service thread note deaths, run jobs, and turn the mailbox and the link. One thread at a time turns them, the
// driver; the others go on without it. Whoever did something tells the threads that wait. Knows the carriers; no carrier
// knows it. Any thread.
// Order: the driver's role, then the lock of Commands; nobody asks for the role with the lock. Functions marked "with the lock"
// are called with that lock, all others without. Only the constructor throws: what the others do takes no memory
// (docs/architecture.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "gma/attendance.hpp"
#include "gma/driver_role.hpp"
#include "gma/job_runner.hpp"
#include "gma/mailbox_carrier.hpp"
#include "gma/remote_carrier.hpp"
#include "gma/service_sleep.hpp"
#include "node/member.hpp"
#include "node/wait.hpp"

namespace acp::gma {

// What a thread calls as: as one that waits (it is counted in the door), as one that only issues or looks and then
// returns to the program, or as the service thread. Any of them may be the driver.
enum class Caller { waiter, passer_by, service };

class Progress {
public:
    // What threads of the program may do; the service thread may do everything. Who may turn may run.
    struct Manner {
        // They run jobs (ACP_BYPASS=on).
        bool may_program_run = true;
        // They turn the mailbox and the link, and are counted in the door while they wait (besides, ACP_INTRANODE is not udp and
        // ACP_MAILBOX is mpsc). False: only send_collected() and help() do so, and nobody is counted.
        bool may_program_turn = true;

        // As the link's LinkTraits say.
        bool is_link_turned_here = false;
        node::LookCost look_cost = node::LookCost::cheap;
    };

    //   all  must outlive this.   Throws std::bad_alloc.
    Progress(node::Member& member,
             Commands& commands,
             Routes& routes,
             JobRunner& jobs,
             MailboxCarrier& mailbox,
             RemoteCarrier& remote,
             ServiceSleep& service_sleep,
             Manner manner);

    [[nodiscard]] const Manner& manner() const noexcept { return manner_; }

    // Whether jobs wait to be run. With the lock.
    [[nodiscard]] bool has_jobs() const noexcept { return !jobs_.is_empty(); }

    // Looks once at everything and does what can be done. A passer-by runs no long job, and wakes another thread for what it
    // leaves. True when something was done, or when another thread wanted the driver's role meanwhile: the threads that wait
    // have been told, and a caller that waits calls again.
    bool work(Caller caller);

    // Runs the oldest jobs that can share a system call, or a piece of a long one. has_jobs() must be true. With the lock, which
    // is released while they run. True when commands became ready, or were passed on to another carrier: nobody was woken
    // for them, so a caller that does not go on to work() calls wake_worker() without the lock. Nor was anybody told.
    bool run_some(std::unique_lock<std::mutex>& lock, Caller caller) {
        jobs_.note_runner(caller == Caller::service);
        jobs_.run_some(lock);
        return give_out_ready();
    }

    // Takes the driver's role, and turns the mailbox and the link once. Does nothing if there is nothing to do, or if another
    // thread has the role. True when something was done, or when another thread wanted the role meanwhile: the caller then
    // calls tell_waiters().
    bool turn(Caller caller);

    // run_some() if there are jobs; of a passer-by, only if they are short. True when some were run: the caller then calls
    // tell_waiters().
    bool run_jobs(Caller caller);

    // After RemoteCarrier::collect(): hands over what was collected, and takes in what has ended. Where another thread is the
    // driver, the next turn does that, for which a thread is woken.
    //   is_ahead  after collect_ahead(): it is one command, and nothing is taken in
    void send_collected(bool is_ahead = false);

    // Gives a ready command to the carrier of its route, which there is. With the lock; then the caller turns, or wakes a
    // thread that does (wake_worker(), leave_rest()).
    void give(std::uint64_t number, Route route);

    // Tells the link whether the end of a command is to ring the service thread. With the lock, after commands were queued, handed
    // to the link, or ended by it. Not needed after run_some() or turn_mailbox(): where these make a command ready for the
    // link, it had waited for its order, so the service thread was wished for already.
    void update_service_wish();

    // There is something to do, which was stored before: wakes the threads that wait, if any are counted, else the service
    // thread, unless it naps and the program is expected back before it wakes. With the lock or without.
    void wake_worker();

    // Something was done, which was stored before: wakes the threads that wait, which look whether their command has ended.
    void tell_waiters(Caller caller);

    // Turns once for a thread that waits in a barrier, and tells the threads that wait. True as of turn().
    bool help();

    // Three questions about work that is left. They differ in what counts. Mail and ends ring by themselves, so only who was
    // perhaps rung for them asks for them. What waits in the forwarder for room is called by whoever makes room (local/port.hpp).
    //
    //   asked by                                        jobs, commands   mail, ends of      what waits in
    //                                                   not handed over  far commands       the forwarder
    //   leave_rest         one that was not counted     yes              no                 no
    //   is_work_left       one that was counted         yes              yes                yes
    //   may_service_sleep  the service thread           yes              yes                if it has room

    // A thread returns to the program and was not counted in the door: calls wake_worker() if it leaves work undone.
    void leave_rest();

    // Whether a thread that is no longer counted in the door, and was perhaps rung meanwhile, leaves work that the service
    // thread must do. The service thread asks likewise, before it doubts those that are counted.
    [[nodiscard]] bool is_work_left() const;

    // Whether the service thread may sleep: nothing is left, or threads that are counted do it. Called by it after it announced
    // its sleep; may take the driver's role for a moment.
    [[nodiscard]] bool may_service_sleep();

    // True until this process has noted a death on its node, or a loss on another one.
    [[nodiscard]] bool is_job_whole() const noexcept {
        return deaths_seen_.load(std::memory_order_relaxed) == 0;
    }

    // Whether a thread is the driver at this moment: a guess.
    [[nodiscard]] bool is_turning() const noexcept { return driver_.is_held(); }

    // Counts the threads of this process that wait.
    [[nodiscard]] Attendance& attendance() noexcept { return attendance_; }

    [[nodiscard]] node::Waiter& service_waiter() noexcept { return service_waiter_; }

private:
    bool note_deaths();
    bool give_out_ready();
    std::uint32_t turn_mailbox();    // driver_ held
    std::uint32_t turn_remote();     // driver_ held
    std::uint32_t hand_to_remote();  // driver_ held
    [[nodiscard]] bool can_mailbox_go_on();

    node::Member& member_;
    Commands& commands_;
    Routes& routes_;
    JobRunner& jobs_;
    MailboxCarrier& mailbox_;
    RemoteCarrier& remote_;
    ServiceSleep& service_sleep_;
    Manner manner_;
    Attendance attendance_;
    // Its holder turns the mailbox and the link. It is not cancelled meanwhile: the API's calls see to that (api/boundary.hpp),
    // and turn() and send_collected() where Issuer's short ways come here.
    DriverRole<> driver_;
    // The value of ControlBlock::deaths up to which this process has acted. Writer: the driver.
    std::atomic<std::uint32_t> deaths_seen_{0};
    std::vector<bool> is_death_noted_;  // of each slot, the gateway's too; guarded by driver_
    node::Waiter service_waiter_;
};

}  // namespace acp::gma
