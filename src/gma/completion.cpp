// SPDX-License-Identifier: BSD-3-Clause
// Waiting for commands.
#include "gma/completion.hpp"

#include <algorithm>
#include <string>

#include "gma/commands_end.hpp"
#include "gma/condition_of_layer.hpp"
#include "os/signal_gate.hpp"
#include "os/thread.hpp"

namespace acp::gma {

namespace {

// A thread that waits, as long as an object of this class lives.
class Attending {
public:
    //   waiters     how many such threads there are
    //   is_counted  other processes ring it, and not the service thread
    Attending(std::atomic<std::uint32_t>& waiters,
              Attendance& attendance,
              ServiceThread& service,
              bool is_counted) noexcept
        : waiters_(waiters), attendance_(attendance), service_(service), is_counted_(is_counted) {
        waiters_.fetch_add(1, std::memory_order_relaxed);
        if (is_counted_) attendance_.enter();
    }

    // The service thread takes over the work that is left: commands that became ready as the wait
    // ended, and mail that rang this thread's bell.
    ~Attending() {
        if (is_counted_) attendance_.leave();
        service_.take_over();
        waiters_.fetch_sub(1, std::memory_order_relaxed);
    }

    Attending(const Attending&) = delete;
    Attending& operator=(const Attending&) = delete;

    // The thread is about to sleep.
    void rest() noexcept {
        if (is_counted_) service_.watch();
    }

private:
    std::atomic<std::uint32_t>& waiters_;
    Attendance& attendance_;
    ServiceThread& service_;
    bool is_counted_;
};

base::Status timeout_after(std::int64_t timeout_ns) {
    return base::Status::worded(base::Code::timeout, [timeout_ns] {
        return "the commands are not complete after " + std::to_string(timeout_ns) + " ns";
    });
}

}  // namespace

Completion::Completion(node::Member& member,
                       Commands& commands,
                       Progress& progress,
                       ServiceThread& service,
                       ServiceSleep& service_sleep) noexcept
    : member_(member),
      commands_(commands),
      progress_(progress),
      service_(service),
      service_sleep_(service_sleep),
      under_way_(member.slot().door.waiter_bell) {}

base::Status Completion::wait(Handle handle, std::int64_t timeout_ns, bool is_interruptible) {
    if (timeout_ns == 0) return look(handle);
    const Deadline deadline(timeout_ns);
    std::unique_lock lock(commands_.mutex);
    const std::uint64_t number = commands_.queue.number_of(handle);
    const bool is_exact = handle == number;
    // Usually the jobs that are ready are all that this thread waits for. It takes them under the
    // lock that it already holds, and is not counted in the door: mail that arrives in that time
    // still rings the service thread.
    bool has_run = false;
    bool has_released = false;
    while (progress_.manner().may_program_run && commands_.queue.done() < number &&
           progress_.has_jobs() && !deadline.is_past()) {
        has_released = progress_.run_some(lock, Caller::waiter) || has_released;
        has_run = true;
    }
    if (commands_.queue.done() < number) {
        lock.unlock();
        if (has_run) progress_.tell_waiters(Caller::passer_by);
        if (auto status = wait_announced(number, timeout_ns, deadline, is_interruptible);
            !status.is_ok()) {
            return status;
        }
        lock.lock();
        return take_failure(number, is_exact);
    }
    base::Status status = take_failure(number, is_exact);
    lock.unlock();
    if (has_run) progress_.tell_waiters(Caller::passer_by);
    if (has_released) {
        progress_.wake_worker();
    }
    return status;
}

// wait() with a timeout of 0: does once what takes a few microseconds (Progress::work), and does
// not block.
base::Status Completion::look(Handle handle) {
    std::unique_lock lock(commands_.mutex);
    const std::uint64_t number = commands_.queue.number_of(handle);
    lock.unlock();
    if (!look_once(number)) return timeout_after(0);
    lock.lock();
    return take_failure(number, handle == number);
}

// Makes progress once, unless the prefix has ended already. True when it has ended.
bool Completion::look_once(std::uint64_t number) {
    if (commands_.queue.done() >= number) return true;
    const ServiceSleep::Stay stay(service_sleep_, ServiceSleep::Stay::Kind::moment);
    progress_.work(Caller::passer_by);
    return commands_.queue.done() >= number;
}

bool Completion::has_ended(Handle handle, std::int64_t timeout_ns) {
    if (handle % 2 != 0 || commands_.queue.done() >= handle) return true;
    if (timeout_ns != 0) {
        CommandsEnd end(commands_, handle, CommandsEnd::AwaitedPart::alone, node::WaitFor::result);
        return attend(end, Deadline(timeout_ns)) == node::Outcome::ready;
    }
    const std::scoped_lock lock(commands_.mutex);
    return !commands_.queue.is_outstanding(handle);
}

void Completion::wait_for_sources(Handle handle) {
    std::unique_lock lock(commands_.mutex);
    const std::uint64_t last = commands_.queue.number_of(handle);
    for (std::uint64_t number = commands_.next_reader(0, last); number != 0;
         number = commands_.next_reader(number, last)) {
        lock.unlock();
        wait_for_end(number, CommandsEnd::AwaitedPart::alone, node::WaitFor::command);
        lock.lock();
    }
    commands_.end_watch_of_sources(last);
}

base::Status Completion::wait_for_one(Handle handle) {
    std::unique_lock lock(commands_.mutex);
    if (handle % 2 != 0) return {};  // it ran at once
    if (commands_.queue.is_outstanding(handle)) {
        lock.unlock();
        wait_for_end(handle, CommandsEnd::AwaitedPart::alone, node::WaitFor::result);
        lock.lock();
    }
    auto failure = commands_.queue.take_failure_of(handle, os::own_thread());
    return failure ? std::move(*failure) : base::Status();
}

// With the lock.   is_exact  the handle waited for is the number's own: a failure that only another
// thread has taken is reported here too
base::Status Completion::take_failure(std::uint64_t number, bool is_exact) {
    auto failure = commands_.queue.take_failure(number, os::own_thread());
    if (!failure && is_exact) {
        failure = commands_.queue.failures().told_to_others(number, os::own_thread());
    }
    return failure ? std::move(*failure) : base::Status();
}

base::Status Completion::wait_announced(std::uint64_t number,
                                        std::int64_t timeout_ns,
                                        Deadline deadline,
                                        bool is_interruptible) {
    CommandsEnd end(commands_, number, CommandsEnd::AwaitedPart::prefix, node::WaitFor::command);
    const node::Outcome outcome = attend(end, deadline, is_interruptible);
    if (outcome == node::Outcome::timeout) {
        return timeout_after(timeout_ns);
    }
    if (outcome == node::Outcome::interrupted) {
        return base::Status::worded(base::Code::interrupted, [] {
            return std::string("a signal handler ran while waiting");
        });
    }
    return {};
}

void Completion::wait_for_oldest(std::unique_lock<std::mutex>& lock) {
    const std::uint64_t oldest = commands_.queue.oldest_outstanding();
    lock.unlock();
    wait_for_end(oldest, CommandsEnd::AwaitedPart::prefix, node::WaitFor::room);
    lock.lock();
}

node::Outcome Completion::wait_until(Condition& condition,
                                     std::int64_t timeout_ns,
                                     bool is_interruptible,
                                     ShownWait* shown) {
    ConditionOfLayer looked_at(condition, under_way_);
    return attend(looked_at, Deadline(timeout_ns), is_interruptible, shown);
}

void Completion::leave_for_long() noexcept {
    ServiceSleep::Stay stay(service_sleep_, ServiceSleep::Stay::Kind::wait);
    stay.rest();
    service_.take_over();
}

void Completion::wait_for_end(std::uint64_t number,
                              CommandsEnd::AwaitedPart part,
                              node::WaitFor what) {
    CommandsEnd end(commands_, number, part, what);
    attend(end);
}

// Waits until the condition holds: the thread makes progress, and sleeps on its bell when there is
// nothing to do.
//   is_interruptible  signal handlers end the wait
//   shown             of the whole wait, of which this call is a part; nullptr: this call is all
node::Outcome Completion::attend(Condition& condition,
                                 Deadline deadline,
                                 bool is_interruptible,
                                 ShownWait* shown) {
    os::SignalGate gate(&masked_futexes_);
    os::SignalGate* const signals = is_interruptible ? &gate : nullptr;
    node::Door& door = member_.slot().door;
    // Other processes ring a counted thread instead of the service thread. So a thread is counted
    // only where it polls the mailbox itself: else mail for which it was rung would stay unread.
    Attending attending(waiters_, progress_.attendance(), service_,
                        progress_.manner().may_program_poll);
    ServiceSleep::Stay stay(service_sleep_, ServiceSleep::Stay::Kind::wait);
    const auto ready = [&] { return work_until(condition, deadline); };
    ShownWait own(member_.slot());
    const auto sleep = [&](std::int64_t timeout_left_ns) {
        (shown != nullptr ? *shown : own).announce(condition);
        stay.rest();
        attending.rest();
        const std::uint32_t value = door.waiter_bell.announce();  // partner: node::ring_bell
        progress_.announce_sleep();
        if (ready()) return os::Wake::changed;
        return condition.sleep_on(door.waiter_bell.word(), value, timeout_left_ns, signals);
    };
    const node::Outcome outcome = member_.waiter().wait(ready, sleep, deadline.left_ns(), signals);
    progress_.send_answers();
    return outcome;
}

void Completion::drop_failures(Handle handle) {
    const std::scoped_lock lock(commands_.mutex);
    CommandQueue& queue = commands_.queue;
    const std::uint64_t number = std::min(queue.number_of(handle), queue.done());
    while (queue.take_failure(number, os::own_thread())) {
    }
}

node::Unreported Completion::finish_all() {
    std::unique_lock lock(commands_.mutex);
    CommandQueue& queue = commands_.queue;
    while (queue.done() < queue.issued()) {
        const std::uint64_t last = queue.issued();
        lock.unlock();
        wait_for_end(last, CommandsEnd::AwaitedPart::prefix, node::WaitFor::command);
        lock.lock();
    }
    node::Unreported all;
    all.add(queue.failures().untold_count(), queue.failures().first_message());
    while (queue.take_failure(queue.issued(), os::own_thread())) {
    }
    return all;
}

// Works until the condition holds, nothing is left to do, or the deadline has passed. True: the
// condition holds. After false the thread may sleep, so before the deadline false is returned only
// when no work is left that no thread would be woken for. After the deadline the thread does not
// sleep, and work may be left.
bool Completion::work_until(Condition& condition, Deadline deadline) {
    for (;;) {
        const LookResult seen = condition.look();
        if (seen == LookResult::all) return true;
        // Conditions on commands never answer `progress`: work() itself calls note_progress() for
        // them.
        if (seen == LookResult::progress) member_.waiter().note_progress();
        if (deadline.is_past() || !progress_.work(Caller::waiter)) {
            return condition.look() == LookResult::all;
        }
    }
}

bool Completion::is_complete(Handle handle) {
    std::uint64_t number = 0;
    {
        const std::scoped_lock lock(commands_.mutex);
        number = commands_.queue.number_of(handle);
    }
    return look_once(number);
}

}  // namespace acp::gma
