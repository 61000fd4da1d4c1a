// SPDX-License-Identifier: BSD-3-Clause
// Running what is ready: direct and attach jobs by this process, the rest through the forwarder.
#include <array>
#include <string>
#include <utility>

#include "gma/gma.hpp"
#include "local/direct.hpp"
#include "node/death.hpp"

namespace acp::gma {

bool Gma::drive(Driver driver) {
    note_deaths();
    bool has_done = false;
    if (driver == Driver::service || may_waiter_run_) {
        has_done = run_jobs();
    }
    if (driver == Driver::service || may_waiter_forward_) {
        has_done = turn_forwarder(driver) || has_done;
    }
    if (has_done) {
        tell_waiters(driver);
        if (is_gateway_here_) {  // whoever it was about may be waiting for us to go on
            (driver == Driver::service ? service_waiter_ : member_.waiter()).note_progress();
        }
    }
    return has_done;
}

// Takes the oldest job, and with an attach job those that share its two segments.
std::uint32_t Gma::take_jobs(std::span<Job> batch) {
    batch[0] = jobs_.front();
    jobs_.pop_front();
    std::uint32_t count = 1;
    const Command& first = *batch[0].command;
    if (batch[0].route == Route::attach && first.is_copy() && first.bytes <= batched_bytes_max) {
        const memory::GaLayout& layout = space_.layout();
        const auto is_alike = [&](const Job& job) {
            return job.route == Route::attach && job.command->is_copy() &&
                   job.command->bytes <= batched_bytes_max &&
                   layout.index(job.command->target) == layout.index(first.target) &&
                   layout.index(job.command->source) == layout.index(first.source);
        };
        while (count < batch.size() && !jobs_.empty() && is_alike(jobs_.front())) {
            batch[count++] = jobs_.front();
            jobs_.pop_front();
        }
    }
    pending_.store(pending_.load(std::memory_order_relaxed) - count, std::memory_order_relaxed);
    return count;
}

bool Gma::run_jobs() {
    if (pending_.load(std::memory_order_relaxed) == 0) {
        return false;
    }
    std::unique_lock lock(mutex_);
    if (jobs_.empty()) {
        return false;
    }
    run_some(lock);
    return true;
}

// Runs the oldest jobs that can share a call; there is one. The lock is held before and after, not while they
// run. True when others became ready by it, for which nobody has been woken.
bool Gma::run_some(std::unique_lock<std::mutex>& lock) {
    return jobs_.size() == 1 ? run_alone(lock) : run_batch(lock);
}

bool Gma::run_batch(std::unique_lock<std::mutex>& lock) {
    std::array<Job, batch_max> batch;
    std::array<base::Status, batch_max> outcomes;
    const std::uint32_t count = take_jobs(batch);
    lock.unlock();
    const std::span<const Job> taken(batch.data(), count);
    const Job& first = batch[0];
    const bool is_attached = first.route == Route::attach && first.command->is_copy();
    {
        local::Hazards::Lease lease(hazards_);
        if (is_attached) {
            run_attach(taken, outcomes, lease.line());
        } else if (first.route == Route::direct) {
            outcomes[0] = run_direct(*first.command, lease.line());
        } else {
            outcomes[0] = run_atomic_remote_result(*first.command, lease.line());
        }
    }
    lock.lock();
    if (is_attached) {
        lone_attaches_.store(0, std::memory_order_relaxed);
        count_attached(taken, outcomes);
    }
    bool is_handed_on = false;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (is_attached) {
            is_handed_on = end_attached(batch[i].number, std::move(outcomes[i])) || is_handed_on;
        } else {
            queue_.finish(batch[i].number, std::move(outcomes[i]), ready_);
        }
    }
    return release() || is_handed_on;
}

// A copy that the kernel refused to make was not begun, or can be made again: the owner makes it, unless the user
// insists. True when it is handed on.
bool Gma::end_attached(std::uint64_t number, base::Status outcome) {
    const bool is_forced = config_.intranode == base::IntraNode::attach ||
                           config_.require.find("attach") != std::string::npos;
    if (outcome.code() != base::Code::unsupported || is_forced) [[likely]] {
        queue_.finish(number, std::move(outcome), ready_);
        return false;
    }
    dispatch(number, Route::forward);
    return true;
}

base::Status Gma::run_direct(const Command& command, memory::HazardLine& line) {
    hazards_.enter(line, command.target, command.source);
    local::Place target;
    local::Place source;
    const base::Code target_code = space_.find(command.target, command.bytes, target);
    const base::Code source_code = space_.find(command.source, command.bytes, source);
    const bool is_found = target_code == base::Code::ok && source_code == base::Code::ok;
    if (is_found && command.is_copy()) {
        local::move_bytes(target.direct, source.direct, command.bytes);
    } else if (is_found) {
        local::store_old(target.direct, local::apply(command, source.direct), command.width);
    }
    memory::leave(line);
    if (!is_found) {
        const bool is_target = target_code != base::Code::ok;
        return bad_address(command, is_target, is_target ? target_code : source_code);
    }
    detail::count(line, command.bytes);
    if (trace_) {
        trace_->record(command, "direct", space_.rank());
    }
    return {};
}

void Gma::run_attach(std::span<const Job> batch,
                     std::span<base::Status> outcomes,
                     memory::HazardLine& line) {
    std::array<local::AttachCopy, batch_max> copies;
    std::array<std::uint32_t, batch_max> which;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::uint32_t count = 0;
    // All of a batch lie in the same two granules' segments: one pair of names covers them.
    hazards_.enter(line, batch[0].command->target, batch[0].command->source);
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
        const Command& command = *batch[i].command;
        local::AttachCopy& copy = copies[count];
        copy.bytes = command.bytes;
        const base::Code target_code = space_.find(command.target, command.bytes, copy.target);
        const base::Code source_code = space_.find(command.source, command.bytes, copy.source);
        if (target_code != base::Code::ok || source_code != base::Code::ok) {
            const bool is_target = target_code != base::Code::ok;
            outcomes[i] = bad_address(command, is_target, is_target ? target_code : source_code);
            continue;
        }
        copy.target.direct = is_here(copy.target) ? copy.target.direct : nullptr;
        copy.source.direct = is_here(copy.source) ? copy.source.direct : nullptr;
        which[count++] = i;
    }
    attach_->run({copies.data(), count});
    memory::leave(line);
    for (std::uint32_t k = 0; k < count; ++k) {
        if (copies[k].code != base::Code::ok) [[unlikely]] {
            outcomes[which[k]] = outcome_of(*batch[which[k]].command, copies[k]);
        } else if (trace_) {
            trace_->record(*batch[which[k]].command, "attach", space_.rank());
        }
    }
}

base::Status Gma::outcome_of(const Command& command, const local::AttachCopy& copy) {
    const bool is_target_far = copy.target.direct == nullptr;
    if (copy.code == base::Code::peer) {
        node::find_the_dead(space_.segment());
        return {base::Code::peer,
                "acp_copy: " + node::fate(space_.segment(),
                                          is_target_far ? copy.target.slot : copy.source.slot)};
    }
    if (copy.code == base::Code::unsupported) {
        const std::uint32_t slot = is_target_far ? copy.target.slot : copy.source.slot;
        return {copy.code, "acp_copy: the kernel no longer lets this process attach to " +
                               node::name_of(space_.segment(), slot) + ", " +
                               attach_->refusal(slot) +
                               ", and ACP_REQUIRE or ACP_INTRANODE forbids another way"};
    }
    return {copy.code,
            "acp_copy: the kernel refused to move " +
                space_.explain(is_target_far ? command.target : command.source, command.bytes) +
                "; is the memory still mapped there?"};
}

// The word is mapped here; its old value goes to private memory of another process.
base::Status Gma::run_atomic_remote_result(const Command& command, memory::HazardLine& line) {
    hazards_.enter(line, command.target, command.source);
    local::AttachCopy copy;
    local::Place word;
    const base::Code target_code = space_.find(command.target, command.bytes, copy.target);
    const base::Code source_code = space_.find(command.source, command.bytes, word);
    if (target_code != base::Code::ok || source_code != base::Code::ok) {
        memory::leave(line);
        const bool is_target = target_code != base::Code::ok;
        return bad_address(command, is_target, is_target ? target_code : source_code);
    }
    std::uint64_t old = local::apply(command, word.direct);
    if (copy.target.direct != nullptr && is_here(copy.target)) {
        local::store_old(copy.target.direct, old, command.width);
    } else {
        copy.target.direct = nullptr;
        copy.source.direct = reinterpret_cast<char*>(&old);
        copy.bytes = command.width;
        attach_->run({&copy, 1});
    }
    memory::leave(line);
    if (copy.code != base::Code::ok) {
        return {copy.code, "an atomic ran, but its result did not reach " +
                               space_.explain(command.target, command.bytes)};
    }
    if (trace_) {
        trace_->record(command, "attach", space_.rank());
    }
    return {};
}

// One writer at a time: who holds the lock.
void Gma::count_attached(std::span<const Job> batch, std::span<const base::Status> outcomes) {
    std::uint64_t commands = 0;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const base::Code code = outcomes[i].code();
        if (code != base::Code::address && code != base::Code::stale &&
            code != base::Code::unsupported) {
            ++commands;
            bytes += batch[i].command->bytes;
        }
    }
    node::Slot& slot = member_.slot();
    slot.attach_commands.store(slot.attach_commands.load(std::memory_order_relaxed) + commands,
                               std::memory_order_relaxed);
    slot.attach_bytes.store(slot.attach_bytes.load(std::memory_order_relaxed) + bytes,
                            std::memory_order_relaxed);
}

// Puts what became ready where it is run. True when there was any.
bool Gma::release() {
    const bool is_any = !ready_.empty();
    for (const std::uint64_t number : ready_) {
        dispatch(number, route_of(queue_.command(number)));
    }
    ready_.clear();
    return is_any;
}

bool Gma::turn_forwarder(Driver driver) {
    if (!has_forward_work_.load(std::memory_order_relaxed) && !port_->has_mail() &&
        !has_link_news()) {
        return false;
    }
    if (!take_driver()) {
        return false;
    }
    const std::uint32_t done = turn_once();
    if (driver != Driver::service) {
        note_link_turn(done != 0);
    }
    return give_driver() || done != 0;
}

// Gives the right back. True when somebody looked meanwhile and may sleep by now, over mail that came after we
// looked: the caller tells all who wait to look again.
bool Gma::give_driver() {
    driver_.clear(std::memory_order_seq_cst);  // partner: take_driver()
    return is_turn_wanted_.load(std::memory_order_seq_cst) &&
           is_turn_wanted_.exchange(false, std::memory_order_seq_cst);
}

// Takes the right to turn the forwarder. When another thread has it, that one learns that it was wanted after
// it gives it back, unless it has done so already: then the second attempt takes it. seq_cst: store then look,
// on both sides.
bool Gma::take_driver() {
    if (!driver_.test_and_set(std::memory_order_seq_cst)) {
        return true;
    }
    is_turn_wanted_.store(true, std::memory_order_seq_cst);
    return !driver_.test_and_set(std::memory_order_seq_cst);
}

std::uint32_t Gma::turn_once() {
    std::uint32_t done = 0;
    // Who queues one sets this under the lock, then turns or wakes somebody: it may be missed here.
    if (has_forward_work_.load(std::memory_order_relaxed)) {
        const std::scoped_lock lock(mutex_);
        for (const Job& job : to_forward_) {
            forwarder_->submit(job.number, *job.command);
            ++done;
        }
        pending_.store(pending_.load(std::memory_order_relaxed) - to_forward_.size(),
                       std::memory_order_relaxed);
        to_forward_.clear();
        has_forward_work_.store(false, std::memory_order_relaxed);
    }
    done += forwarder_->turn();
    forwarder_->take_ended(ended_);
    if (!ended_.empty()) {
        const std::scoped_lock lock(mutex_);
        for (local::Ended& ended : ended_) {
            base::Status status;
            if (ended.code != base::Code::ok) {
                status = {ended.code, std::move(ended.message)};
            }
            queue_.finish(ended.token, std::move(status), ready_);
        }
        release();
        done += static_cast<std::uint32_t>(ended_.size());
        ended_.clear();
    }
    if (forwarder_->has_backlog()) {
        has_forward_work_.store(true, std::memory_order_relaxed);
    }
    return done + turn_link();
}

void Gma::note_deaths() {
    const std::uint32_t deaths = space_.segment().control().deaths.load(std::memory_order_acquire);
    if (deaths == deaths_seen_.load(std::memory_order_relaxed) || !take_driver()) {
        return;
    }
    for (std::uint32_t slot = 0; slot < is_death_noted_.size(); ++slot) {
        if (!is_death_noted_[slot] && node::is_dead(space_.segment(), slot)) {
            is_death_noted_[slot] = true;
            port_->forget(slot);
            forwarder_->on_death(slot);
            if (link_ != nullptr && slot == space_.segment().gateway_slot()) {
                on_gateway_death();
            }
        }
    }
    has_forward_work_.store(true, std::memory_order_relaxed);
    deaths_seen_.store(deaths, std::memory_order_relaxed);
    driver_.clear(std::memory_order_seq_cst);  // partner: take_driver()
}

}  // namespace acp::gma
