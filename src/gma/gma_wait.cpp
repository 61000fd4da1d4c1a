// SPDX-License-Identifier: BSD-3-Clause
// Completion: waiting for the prefix of a handle, working meanwhile.
#include <algorithm>
#include <cstdio>
#include <string>

#include "gma/gma.hpp"
#include "os/clock.hpp"

namespace acp::gma {

base::Status Gma::wait(Handle handle, std::int64_t timeout_ns, bool is_interruptible) {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = queue_.number_of(handle);
    // Nearly always what is ready is all that is waited for, and then nobody need know that this thread waits:
    // it runs it under the lock it has, and the service thread keeps an ear on the mail.
    bool has_run = false;
    bool has_released = false;
    while (may_waiter_run_ && queue_.done() < number && !jobs_.empty()) {
        has_released = run_some(lock) || has_released;
        has_run = true;
    }
    if (queue_.done() < number) {
        lock.unlock();
        if (has_run) {
            tell_waiters(Driver::passer_by);
        }
        if (auto status = wait_announced(number, timeout_ns, is_interruptible); !status.is_ok()) {
            return status;
        }
        lock.lock();
        return take_failure(number);
    }
    base::Status status = take_failure(number);
    lock.unlock();
    if (has_run) {
        tell_waiters(Driver::passer_by);
    }
    if (has_released) {
        notify();
    }
    return status;
}

base::Status Gma::take_failure(std::uint64_t number) {
    auto failure = queue_.take_failure(number);
    return failure ? std::move(*failure) : base::Status();
}

// Waits as one whom others ring: works on what comes, and sleeps.
base::Status Gma::wait_announced(std::uint64_t number,
                                 std::int64_t timeout_ns,
                                 bool is_interruptible) {
    node::Door& door = member_.slot().door;
    // Where waiting threads turn the forwarder, knockers ring them instead of the service thread.
    const bool is_attending = may_waiter_forward_;
    if (is_attending) {
        door.is_attended.fetch_add(1, std::memory_order_seq_cst);
    }
    const auto ready = [&] { return drive_until(number); };
    std::uint64_t start_ns = 0;
    bool is_said = false;
    node::AwaitedEntry entry(member_.slot());
    const auto sleep = [&](std::int64_t nap_ns_left) {
        start_ns = start_ns != 0 ? start_ns : os::now_ns();
        const std::uint64_t waited_ns = os::now_ns() - start_ns;
        if (!is_said && config_.hang_warning_ns != 0 && waited_ns > config_.hang_warning_ns) {
            is_said = true;
            say_what_is_awaited(number, waited_ns);
        }
        tell_what_is_awaited(
            entry, is_interruptible ? node::AwaitedCall::wait : node::AwaitedCall::complete, number,
            start_ns);
        rest();
        return node::sleep_on_bell(door.waiter_bell, ready, nap_ns_left);
    };
    const node::Outcome outcome = member_.waiter().wait(ready, sleep, timeout_ns, is_interruptible);
    if (is_attending) {
        door.is_attended.fetch_sub(1, std::memory_order_seq_cst);
        hand_over();
    }
    if (outcome == node::Outcome::timeout) {
        return {base::Code::timeout,
                "the commands are not complete after " + std::to_string(timeout_ns) + " ns"};
    }
    if (outcome == node::Outcome::interrupted) {
        return {base::Code::interrupted, "a signal handler ran while waiting"};
    }
    return {};
}

void Gma::drop_failures(Handle handle) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t number = queue_.number_of(handle);
    while (queue_.take_failure(std::min(number, queue_.done()))) {
    }
}

void Gma::finish_all() {
    while (!wait(handle_all, node::for_ever, false).is_ok()) {
        drop_failures(handle_all);
    }
}

// Works until the prefix has ended or nothing is left to do: who is told "not ready" may sleep, and must leave
// no work behind that nobody would be woken for.
bool Gma::drive_until(std::uint64_t number) {
    while (queue_.done() < number) {
        if (!drive(Driver::waiter)) {
            return queue_.done() >= number;
        }
    }
    return true;
}

bool Gma::is_complete(Handle handle) {
    std::uint64_t number = 0;
    {
        const std::scoped_lock lock(mutex_);
        number = queue_.number_of(handle);
    }
    if (queue_.done() >= number) {
        return true;
    }
    drive(Driver::passer_by);
    return queue_.done() >= number;
}

// For the agent and acpstat, before each sleep: by then what was awaited first may have ended.
void Gma::tell_what_is_awaited(node::AwaitedEntry& entry,
                               node::AwaitedCall call,
                               std::uint64_t number,
                               std::uint64_t since_ns) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t oldest = queue_.oldest_outstanding();
    if (oldest == 0 || oldest > number) return;
    entry.tell(call, since_ns, &queue_.command(oldest));
}

void Gma::say_what_is_awaited(std::uint64_t number, std::uint64_t waited_ns) {
    std::string text;
    const auto rank_at = [&](GlobalAddress address) {
        return space_.segment().rank_of(
            static_cast<std::uint32_t>(space_.layout().process(address)));
    };
    {
        const std::scoped_lock lock(mutex_);
        const std::uint64_t oldest = queue_.oldest_outstanding();
        if (oldest == 0 || oldest > number) {
            return;
        }
        const Command& command = queue_.command(oldest);
        text = "from rank " + std::to_string(rank_at(command.source)) + " to rank " +
               std::to_string(rank_at(command.target));
    }
    std::fprintf(
        stderr, "acp: rank %u has waited %llu s for a command %s; is that process stopped?\n",
        space_.rank(), static_cast<unsigned long long>(waited_ns / 1'000'000'000), text.c_str());
}

}  // namespace acp::gma
