// SPDX-License-Identifier: BSD-3-Clause
// One round of work of a thread.
#include "gma/progress.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "node/death.hpp"
#include "os/cancellation.hpp"

namespace acp::gma {

constexpr std::uint32_t threads_per_rank = 2;  // of which the service thread is one

// NOLINTNEXTLINE(readability-function-size): the parts that it moves, each by its name
Progress::Progress(node::Member& member,
                   Commands& commands,
                   Routes& routes,
                   JobRunner& jobs,
                   MailboxCarrier& mailbox,
                   RemoteCarrier& remote,
                   LayerCarrier& layers,
                   ServiceSleep& service_sleep,
                   Manner manner)
    : member_(member),
      commands_(commands),
      routes_(routes),
      jobs_(jobs),
      mailbox_(mailbox),
      remote_(remote),
      layers_(layers),
      service_sleep_(service_sleep),
      manner_(manner),
      attendance_(member.slot().door),
      is_death_noted_(node::slots_of(member.segment().shape())),
      service_waiter_(member.segment(), threads_per_rank, manner.look_cost) {
    ACP_ASSERT(manner.may_program_run || !manner.may_program_poll);
    member.waiter().set_look_cost(manner.look_cost);
}

bool Progress::work(Caller caller) {
    if (caller == Caller::waiter) attendance_.note_look();
    bool is_told = note_deaths();
    if (caller == Caller::service || manner_.may_program_run) {
        is_told = run_jobs(caller) || is_told;
    }
    Polled polled = Polled::nothing;
    if (caller == Caller::service || manner_.may_program_poll) polled = poll(caller);
    is_told = layers_.poll() || is_told;
    if (caller == Caller::passer_by) leave_rest();
    const bool has_done = is_told || polled != Polled::nothing;
    if (has_done) {
        // The service thread polls again. A thread that sleeps for bytes that were placed is rung
        // by the operation that places them, and would be woken here for each part of them.
        const bool is_waited_for = caller != Caller::service || !manner_.is_link_polled_here;
        if (is_told || polled == Polled::told || is_waited_for) tell_waiters(caller);
        if (manner_.is_link_polled_here) {
            // The other side may answer soon: a thread that polls for that polls longer before it sleeps.
            (caller == Caller::service ? service_waiter_ : member_.waiter()).note_progress();
        }
    }
    return has_done;
}

bool Progress::run_jobs(Caller caller) {
    if (jobs_.count(std::memory_order_relaxed) == 0) return false;
    std::unique_lock lock(commands_.mutex);
    if (jobs_.is_empty() || (caller == Caller::passer_by && !jobs_.is_next_short())) {
        return false;
    }
    run_some(lock, caller);
    return true;
}

// Gives what became ready to the carriers, and refused copies to their owners. True when there was any.
bool Progress::give_out_ready() {
    const bool is_any = !commands_.ready.is_empty() || !jobs_.refused().is_empty();
    while (!commands_.ready.is_empty()) {
        const std::uint64_t number = commands_.queue.take_first(commands_.ready);
        give(number, routes_.route_of(commands_.queue.command(number)));
    }
    while (!jobs_.refused().is_empty()) {
        give(commands_.queue.take_first(jobs_.refused()), Route::forward);
    }
    return is_any;
}

void Progress::give(std::uint64_t number, Route route) {
    switch (route) {
        case Route::remote:
            return remote_.append(number);
        case Route::direct:
        case Route::attach:
            return jobs_.append(number, route);
        case Route::forward:
            return mailbox_.append(number);
        case Route::layer:
            return layers_.append(number);
        case Route::none:
            ACP_ASSERT(route != Route::none);  // Routes::check() has refused such a command
    }
}

Progress::Polled Progress::poll(Caller caller) {
    if (!mailbox_.has_work() && !mailbox_.has_mail() && !remote_.has_news()) return Polled::nothing;
    DriverRole<>::Hold hold(driver_);
    if (!hold) return Polled::nothing;
    const os::CancellationHold cancellation;
    Polled polled = poll_mailbox();
    polled = std::max(polled, poll_remote(caller));
    // With the role: it has one writer at a time.
    if (caller != Caller::service) service_sleep_.note_poll(polled != Polled::nothing);
    const bool is_wanted = hold.give();
    if (is_wanted && caller == Caller::passer_by) {
        wake_worker();  // a thread that wanted to poll may be asleep, and this thread will not poll again
    }
    if (!is_wanted) return polled;
    // The service thread polls the link again, as the other thread wanted to.
    const bool is_link_polled = caller == Caller::service && manner_.is_link_polled_here;
    return is_link_polled ? std::max(polled, Polled::moved) : Polled::told;
}

Progress::Polled Progress::poll_mailbox() {
    std::uint32_t done = 0;
    // relaxed: append() sets it under the lock, and its caller then polls or wakes a thread: that poll finds commands missed here
    if (mailbox_.has_work()) {
        const std::scoped_lock lock(commands_.mutex);
        done += mailbox_.hand_over();
        give_out_ready();
    }
    done += mailbox_.poll();
    if (mailbox_.has_ends()) {
        const std::scoped_lock lock(commands_.mutex);
        done += mailbox_.end_commands();
        give_out_ready();
    }
    return done != 0 ? Polled::told : Polled::nothing;
}

Progress::Polled Progress::poll_remote(Caller caller) {
    if (!remote_.has_link()) return Polled::nothing;
    // Commands may end as they are handed over.
    Polled polled =
        remote_.has_collected() && hand_to_remote() != 0 ? Polled::told : Polled::nothing;
    if (!remote_.poll(caller == Caller::waiter)) return polled;
    polled = std::max(polled, Polled::moved);
    if (remote_.has_ends()) {
        const std::scoped_lock lock(commands_.mutex);
        if (remote_.end_commands() != 0) polled = Polled::told;
        give_out_ready();
        update_service_wish();
    }
    return hand_to_remote() != 0 ? Polled::told : polled;  // there may be room now
}

std::uint32_t Progress::hand_to_remote() {
    std::uint64_t handed = 0;
    {
        const std::scoped_lock lock(commands_.mutex);
        handed = remote_.hand_over();
        if (handed == 0) {
            return 0;
        }
        give_out_ready();
        update_service_wish();
    }
    remote_.flush();
    return static_cast<std::uint32_t>(handed);
}

void Progress::send_collected(bool is_ahead) {
    using Kind = ServiceSleep::Stay::Kind;
    // Declared first: the end of each object below may signal the service thread, which is a system call.
    const os::CancellationHold cancellation;
    DriverRole<>::Hold hold(driver_);
    // If commands are in flight, many may have been collected since the last call. Only the holder may ask.
    const bool is_for_all = hold && !is_ahead && !remote_.is_quiet();
    const ServiceSleep::Stay stay(service_sleep_, is_for_all ? Kind::busy : Kind::moment);
    if (!hold) {  // another thread polls the link, and may have looked already
        remote_.leave_to_others();
        wake_worker();
        return;
    }
    // If none was in flight no answer can have arrived: then the sockets need not be read.
    const bool has_done =
        is_for_all ? poll_remote(Caller::passer_by) != Polled::nothing : hand_to_remote() != 0;
    service_sleep_.note_poll(true);  // commands were submitted, so the link may be due earlier
    const bool is_wanted = hold.give();
    if (is_wanted) wake_worker();  // see poll()
    leave_rest();
    if (is_wanted || has_done) tell_waiters(Caller::passer_by);
}

void Progress::end_of_layer(std::span<LayerEnd> ends) noexcept {
    {
        const std::scoped_lock lock(commands_.mutex);
        for (LayerEnd& end : ends) commands_.finish(end.number, std::move(end.status));
        give_out_ready();
        update_service_wish();
    }
    leave_rest();
    tell_waiters(Caller::passer_by);
}

void Progress::update_service_wish() {
    if (remote_.update_service_wish())
        wake_worker();  // completions that arrived before the wish rang no thread
}

bool Progress::help() {
    const bool is_polled = poll(Caller::passer_by) != Polled::nothing;
    const bool has_moved = layers_.poll() || is_polled;
    leave_rest();
    if (has_moved) tell_waiters(Caller::passer_by);
    return has_moved;
}

// Ends what deaths have broken. True when it did: a thread that the watcher rang may have found the role taken since, and sleep
// again. The count is loaded before the slots: a death that comes in between is found at the next call.
bool Progress::note_deaths() {
    const node::Segment& segment = member_.segment();
    const std::uint32_t deaths = segment.control().deaths.load(std::memory_order_acquire);
    // acquire: a thread that finds the deaths noted finds the commands ended; partner: the store below
    if (deaths == deaths_seen_.load(std::memory_order_acquire)) {
        return false;
    }
    DriverRole<>::Hold hold(driver_);
    if (!hold) {
        return false;
    }
    for (std::uint32_t slot = 0; slot < is_death_noted_.size(); ++slot) {
        if (is_death_noted_[slot] || !node::is_dead(segment, slot)) {
            continue;
        }
        is_death_noted_[slot] = true;
        mailbox_.on_death(slot);
        if (remote_.has_link() && slot == segment.gateway_slot()) {
            const std::scoped_lock lock(commands_.mutex);
            remote_.on_gateway_death();
            give_out_ready();
            update_service_wish();
        }
    }
    mailbox_.look_again();
    deaths_seen_.store(deaths, std::memory_order_release);
    return true;
}

}  // namespace acp::gma
