// SPDX-License-Identifier: BSD-3-Clause
// Completion: waiting for the prefix of a handle, working meanwhile.
#include <algorithm>
#include <cstdio>
#include <string>

#include "gma/gma.hpp"
#include "os/clock.hpp"

namespace acp::gma {

base::Status Gma::wait(Handle handle, std::int64_t timeout_ns, bool is_interruptible) {
    std::uint64_t number = 0;
    {
        const std::scoped_lock lock(mutex_);
        number = queue_.number_of(handle);
    }
    if (number > queue_.done()) {
        node::Door& door = member_.slot().door;
        // Where waiting threads turn the forwarder, knockers ring them instead of the service thread.
        const bool is_attending = may_waiter_forward_;
        if (is_attending) {
            door.is_attended.fetch_add(1, std::memory_order_seq_cst);
        }
        const auto ready = [&] {
            return queue_.done() >= number || (drive(Driver::waiter) && queue_.done() >= number);
        };
        // Asked when a sleep was announced: one turn runs a batch, and what is left of the queue is no reason
        // to sleep, for the service thread leaves it to those who wait.
        const auto has_stirred = [&] { return queue_.done() >= number || drive(Driver::waiter); };
        std::uint64_t start_ns = 0;
        bool is_said = false;
        const auto sleep = [&](std::int64_t nap_ns_left) {
            start_ns = start_ns != 0 ? start_ns : os::now_ns();
            const std::uint64_t waited_ns = os::now_ns() - start_ns;
            if (!is_said && config_.hang_warning_ns != 0 && waited_ns > config_.hang_warning_ns) {
                is_said = true;
                say_what_is_awaited(number, waited_ns);
            }
            return node::sleep_on_bell(door.waiter_bell, has_stirred, nap_ns_left);
        };
        const node::Outcome outcome =
            member_.waiter().wait(ready, sleep, timeout_ns, is_interruptible);
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
    }
    const std::scoped_lock lock(mutex_);
    auto failure = queue_.take_failure(number);
    return failure ? std::move(*failure) : base::Status();
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

bool Gma::is_complete(Handle handle) {
    std::uint64_t number = 0;
    {
        const std::scoped_lock lock(mutex_);
        number = queue_.number_of(handle);
    }
    if (queue_.done() >= number) {
        return true;
    }
    drive(Driver::waiter);
    return queue_.done() >= number;
}

void Gma::say_what_is_awaited(std::uint64_t number, std::uint64_t waited_ns) {
    std::string text;
    {
        const std::scoped_lock lock(mutex_);
        const std::uint64_t oldest = queue_.oldest_outstanding();
        if (oldest == 0 || oldest > number) {
            return;
        }
        const Command& command = queue_.command(oldest);
        text = "from rank " + std::to_string(space_.layout().rank(command.source)) + " to rank " +
               std::to_string(space_.layout().rank(command.target));
    }
    std::fprintf(
        stderr, "acp: rank %u has waited %llu s for a command %s; is that process stopped?\n",
        space_.rank(), static_cast<unsigned long long>(waited_ns / 1'000'000'000), text.c_str());
}

}  // namespace acp::gma
