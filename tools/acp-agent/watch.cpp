// SPDX-License-Identifier: BSD-3-Clause
// Handles the ends of processes: of ranks, whose deaths are published before they are reaped, and
// of strangers, which are orphans among the ranks' descendants.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "base/words.hpp"
#include "node/death.hpp"
#include "os/process.hpp"

#include "agent.hpp"
#include "launch/exit_codes.hpp"
#include "verdict.hpp"

namespace acp::agent {

namespace {

constexpr std::uint32_t reports_max = 16;  // further failures are only counted

}  // namespace

void Agent::on_rank_ended(std::uint32_t slot_index) {
    Rank& ended = ranks_[slot_index];
    const auto found = os::ended_child(ended.pid);
    if (!ended.is_running || !found) return;
    take_start_errors();
    const node::SlotState state = last_state_of(slot_index);
    const Verdict verdict = judge({found->status, state, have_others_joined(slot_index)});
    // Reported first, before the death is published: a rank of another node that fails because of
    // this one must not be reported earlier.
    const bool is_asked_for = !has_ended_by_itself(ended, found->status);
    const bool is_news = verdict.is_failure && !is_asked_for && !ended.is_judged;
    if (is_news && ++failed_ <= reports_max) report(slot_index, found->status, state);
    const bool was_counted = phase_ == Phase::ending && !ended.was_ending && ended_by_us_ > 0;
    if (is_news && was_counted) --ended_by_us_;
    ended.has_ended_unjoined =
        !is_asked_for && !verdict.is_failure && state == node::SlotState::empty;
    if (ended.has_ended_unjoined) {
        channel_.send("unjoined " + std::to_string(plan_.first() + slot_index) + " " +
                      std::to_string(ended.pid));
    }
    // Marks it dead even after an end in order: a rank that waits for it would wait in vain, if
    // only in a later acp_init.
    node::mark_dead(segment_, slot_index, found->status.raw());
    if (network_ != nullptr) network_->on_local_death(slot_index, found->status.raw());
    if (ended.process.is_open()) poll_->remove(ended.process.get());
    ended.process.close();
    ended.is_running = false;
    --running_;
    os::reap(ended.pid);
    if (!verdict.is_failure || ended.is_judged) return;
    const bool is_first_news = is_news && failed_ == 1;
    if (failure_code_ == 0 || is_first_news) failure_code_ = verdict.code;
    if (is_asked_for) return;
    if (ended.start_error != 0) {
        fixed_code_ =
            ended.start_error == ENOENT ? launch::exit_not_found : launch::exit_not_runnable;
        kill_now();
    } else if (verdict.ends_others && !plan_.is_continue_on_failure) {
        constexpr std::uint64_t grace_ns = 200'000'000;
        end_soon(grace_ns);
    }
}

// Whether this end is reported as a failure of its own. Another node's rank may have failed because
// of this end, and its agent may have reported that first: then acprun's request to end this node
// arrives before this agent sees the end. While the ranks have time to end, this agent sends no
// SIGKILL, so a SIGKILL came from elsewhere.
bool Agent::has_ended_by_itself(const Rank& ended, os::WaitStatus status) const noexcept {
    if (asked_signal_ != 0) return false;
    if (phase_ == Phase::running) return true;
    if (fixed_code_ != 0) return false;  // the job was to end for another reason
    const bool is_killed = !status.is_exit() && status.signal() == SIGKILL;
    return ended.was_ending || (phase_ == Phase::ending && is_killed);
}

// The last state of a slot's process. If the process was found dead before its watcher could see
// how it ended, that is the state noted at its death.
node::SlotState Agent::last_state_of(std::uint32_t slot_index) const noexcept {
    const node::Slot& slot = segment_.slot(slot_index);
    // acquire: pairs with the rank's store when it joins or leaves, or with mark_dead, and makes
    // the stores before it visible
    const auto state = static_cast<node::SlotState>(slot.state.load(std::memory_order_acquire));
    if (state != node::SlotState::dead) return state;
    switch (slot.wait_status.load(std::memory_order_relaxed)) {
        case node::departed_status:
            // the rank has set this status itself: it left a job in which no barrier could complete
            return node::SlotState::left;
        case node::gave_up_status:
            return state;
        default:
            return static_cast<node::SlotState>(
                slot.state_at_death.load(std::memory_order_relaxed));
    }
}

// A wrapper that is the agent's own child may run while the rank that it started is stopped.
void Agent::look_for_stops(std::uint64_t now_ns) {
    const std::vector<std::uint32_t> running = running_ranks();
    const bool are_stopped =
        std::all_of(running.begin(), running.end(), [this](std::uint32_t rank) {
            const std::uint32_t slot = rank - plan_.first();
            // relaxed: published with `joined`
            const std::uint32_t joined = segment_.slot(slot).pid.load(std::memory_order_relaxed);
            return os::is_stopped(ranks_[slot].pid) ||
                   (joined != 0 && os::is_stopped(static_cast<int>(joined)));
        });
    auto news = stops_.note(
        running.empty() || !are_stopped ? StopWatch::none : base::rank_ranges(running), now_ns);
    if (news) channel_.send("stopped " + *news);
}

void Agent::on_lives_lost(std::uint64_t now_ns) {
    for (const std::uint32_t slot : lives_.take_lost(now_ns)) on_life_lost(slot, now_ns);
}

// The process that joined is gone. If our own child is about to end, the agent waits for its
// status, which says more than the lost lock. If the process was our child, it has run another
// program, and will never do what the other ranks expect of it. Else our child is a wrapper, which
// knows how the process ended and mostly ends likewise: its status is waited for, but only briefly,
// because other ranks wait too.
void Agent::on_life_lost(std::uint32_t slot_index, std::uint64_t now_ns) {
    constexpr std::uint64_t wrapper_grace_ns = 100'000'000;
    Rank& lost = ranks_[slot_index];
    // relaxed: published with `joined`
    const auto pid =
        static_cast<int>(segment_.slot(slot_index).pid.load(std::memory_order_relaxed));
    const bool is_child = pid == lost.pid;
    if (os::is_ending(lost.pid).value_or(is_child)) return;
    if (!is_child) {
        if (lost.gone_ns == 0) lost.gone_ns = now_ns;
        if (now_ns < lost.gone_ns + wrapper_grace_ns) {
            return lives_.look_again(lost.gone_ns + wrapper_grace_ns);
        }
    }
    const std::uint32_t status = is_child ? node::replaced_status : node::unknown_status;
    const bool is_asked_for = phase_ != Phase::running || asked_signal_ != 0;
    if (is_child) {
        lost.is_judged = true;
        if (!is_asked_for && ++failed_ <= reports_max) {
            report(slot_index, os::WaitStatus(status), node::SlotState::joined);
        }
    }
    node::mark_dead(segment_, slot_index, status);
    if (network_ != nullptr) network_->on_local_death(slot_index, status);
    if (!is_child) return;
    if (failure_code_ == 0) failure_code_ = launch::exit_unfinished;
    if (is_asked_for || plan_.is_continue_on_failure) return;
    constexpr std::uint64_t grace_ns = 200'000'000;
    end_soon(grace_ns);
}

void Agent::report(std::uint32_t slot, os::WaitStatus status, node::SlotState state) {
    const Rank& ended = ranks_[slot];
    if (ended.start_error != 0) {
        channel_.send("unstarted " + std::to_string(plan_.first() + slot) + " " +
                      std::to_string(ended.start_error) + " " +
                      std::generic_category().message(ended.start_error));
        return;
    }
    std::vector<std::uint32_t> unjoined;
    for (std::uint32_t other = 0; other < plan_.local_procs(); ++other) {
        if (ranks_[other].has_ended_unjoined) unjoined.push_back(plan_.first() + other);
    }
    // The rank after any acp_reset.
    const std::uint32_t present_rank = segment_.rank_of(plan_.first() + slot);
    channel_.send("failed " + std::to_string(present_rank) + " " + std::to_string(ended.pid) + " " +
                  std::to_string(status.raw()) + " " +
                  std::to_string(static_cast<std::uint32_t>(state)) + " " +
                  base::rank_ranges(unjoined) + " " + own_account_of(slot) + " " +
                  std::to_string(plan_.first() + slot));
    carry_output_of(plan_.first() + slot);
}

// What the process left in its slot about its end: OwnEnd, the rank + 1 for whose memory
// acp_query_address returned no pointer, and whether it ran a fiber.
std::string Agent::own_account_of(std::uint32_t slot_index) const {
    const node::Slot& slot = segment_.slot(slot_index);
    // relaxed: the process has ended
    return std::to_string(slot.own_end.load(std::memory_order_relaxed)) + " " +
           std::to_string(slot.unmapped_rank_plus_1.load(std::memory_order_relaxed)) + " " +
           std::to_string(slot.runs_on_fiber.load(std::memory_order_relaxed));
}

void Agent::reap_strangers() {
    while (const auto ended = os::ended_child()) {
        const auto rank = std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& candidate) {
            return candidate.is_running && candidate.pid == ended->pid;
        });
        if (rank == ranks_.end()) {
            os::reap(ended->pid);
        } else if (rank->process.is_open()) {
            // its own event shows in which order ranks ended; this function is called again after
            // it
            return;
        } else {
            // its end has no event of its own
            on_rank_ended(static_cast<std::uint32_t>(rank - ranks_.begin()));
        }
    }
}

void Agent::take_start_errors() {
    std::array<os::ExecFailure, 64> failures{};
    for (;;) {
        const std::span<char> room(reinterpret_cast<char*>(failures.data()), sizeof failures);
        const os::ReadResult result = os::read_some(start_errors_->reading.get(), room);
        if (result.outcome != os::ReadOutcome::some) return;
        for (std::size_t i = 0; i < result.bytes / sizeof(os::ExecFailure); ++i) {
            ranks_[failures[i].number].start_error = failures[i].error;
        }
    }
}

bool Agent::have_others_joined(std::uint32_t slot) const noexcept {
    for (std::uint32_t other = 0; other < plan_.local_procs(); ++other) {
        // relaxed: no other data of the rank is read
        const auto state = segment_.slot(other).state.load(std::memory_order_relaxed);
        const bool has_joined = static_cast<node::SlotState>(state) == node::SlotState::joined ||
                                static_cast<node::SlotState>(state) == node::SlotState::left;
        if (other != slot && has_joined) return true;
    }
    return false;
}

}  // namespace acp::agent
