// SPDX-License-Identifier: BSD-3-Clause
// Who moves commands on, and who is woken when there is something to do. A thread that waits, a thread that issues and
// the service thread all work: they note deaths, run jobs, and turn the mailbox and the link, which one thread at a
// time does, the driver. Whoever did something tells those who wait. Knows the carriers; no carrier knows it. Any thread.
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
    // What threads other than the service thread may do (ACP_BYPASS, ACP_INTRANODE and ACP_MAILBOX decide).
    struct Manner {
        bool may_program_run = true;   // jobs
        bool may_program_turn = true;  // the mailbox and the link
        // Of the link, as LinkTraits says.
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

    // Whether jobs wait to be run. With the lock of Commands.
    [[nodiscard]] bool has_jobs() const noexcept { return !jobs_.is_empty(); }

    // Looks once at everything and does what can be done; a passer-by runs no long job, and leaves it to the service
    // thread. True when something was done, or another thread wanted to turn meanwhile: threads that wait must look again.
    bool work(Caller caller);

    // Runs jobs that can share a call; there is one. The lock is held before and after, not meanwhile. True when others
    // became ready by it, for which nobody has been woken.
    bool run_some(std::unique_lock<std::mutex>& lock, Caller caller) {
        jobs_.note_runner(caller == Caller::service);
        jobs_.run_some(lock);
        return give_out_ready();
    }

    // Turns the mailbox and the link, if there is anything and nobody else does. True as of work().
    bool turn(Caller caller);

    // Runs jobs that can share a call, or a piece of a long one, if there are any. True when some were run.
    bool run_jobs(Caller caller);

    // After commands were collected for the link: hands them over, or leaves that to the thread that is the driver now.
    void send_collected();

    // Gives a ready command to the carrier of its route. With the lock of Commands.
    void give(std::uint64_t number, Route route);

    // With the lock of Commands, after anything that changes what waits: whether the service thread is needed.
    void update_service_wish();

    // There is something to do: wakes a thread that waits, if those work, else the service thread.
    void wake_worker();

    // Something was done: threads that wait look again.
    void tell_waiters(Caller caller);

    // Turns once on behalf of a thread that waits in a barrier.
    bool help();

    // A thread goes back to the program: wakes another one for the work that is ready and that it leaves undone.
    void leave_rest();

    // Whether the service thread may sleep: nothing is to do, or a thread that waits does it. Asked by it after it
    // announced its sleep.
    [[nodiscard]] bool may_service_sleep();

    // Whether work is left that the service thread must do, once the calling thread no longer attends.
    [[nodiscard]] bool is_work_left() const;

    // True until this process has noted a death on its node, or a loss on another one.
    [[nodiscard]] bool is_job_whole() const noexcept {
        return deaths_seen_.load(std::memory_order_relaxed) == 0;
    }

    // Whether a thread is the driver at this moment: a guess.
    [[nodiscard]] bool is_turning() const noexcept { return driver_.is_held(); }

    // Of the threads of this process that wait.
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
    DriverRole<> driver_;  // its holder turns the mailbox and the link
    std::atomic<std::uint32_t> deaths_seen_{0};
    std::vector<bool> is_death_noted_;  // guarded by driver_
    node::Waiter service_waiter_;
};

}  // namespace acp::gma
