// SPDX-License-Identifier: BSD-3-Clause
// Joining, re-ranking, leaving.
#include "node/member.hpp"

#include <utility>

#include "node/conclusion.hpp"
#include "node/ranks.hpp"
#include "os/process.hpp"

namespace acp::node {

Member::Member(Segment segment, std::uint32_t slot)
    : segment_(std::move(segment)),
      slot_(slot),
      waiter_(segment_),
      barrier_(segment_, slot, waiter_) {}

base::Status Member::take_slot() {
    Slot& own = slot();
    const auto state = static_cast<SlotState>(own.state.load(std::memory_order_acquire));
    if (auto status = take_life(state); !status.is_ok()) {
        return status;
    }
    own.pid.store(static_cast<std::uint32_t>(os::own_pid()), std::memory_order_relaxed);
    own.has_life_lock.store(life_.is_held() ? 1 : 0, std::memory_order_relaxed);
    std::uint32_t seen = static_cast<std::uint32_t>(state);
    if (state == SlotState::dead ||
        !own.state.compare_exchange_strong(seen, static_cast<std::uint32_t>(SlotState::joined),
                                           std::memory_order_acq_rel)) {
        return {base::Code::peer, fate(segment_, slot_) + ": this rank was given up"};
    }
    return {};
}

// The lock decides which process owns the slot. If the kernel gives none the process number
// decides, which is right within one pid namespace.
//   state  of the slot, as this process found it
base::Status Member::take_life(SlotState state) {
    const Slot& own = slot();
    const std::uint32_t pid = own.pid.load(std::memory_order_relaxed);
    const bool is_joined = state == SlotState::joined;
    bool is_anothers = is_joined && pid != static_cast<std::uint32_t>(os::own_pid());
    bool is_left_behind = false;
    if (!life_.is_held()) {
        auto taken = os::LifeLock::take(segment_.file(), slot_);
        if (taken.is_ok()) {
            life_ = std::move(taken).value();
            is_left_behind = is_joined && own.has_life_lock.load(std::memory_order_relaxed) != 0;
        } else {
            is_anothers = is_anothers || taken.failure().code() == base::Code::state;
        }
    }
    if (is_left_behind) {
        mark_dead(segment_, slot_, is_anothers ? unknown_status : replaced_status);
        return {base::Code::peer, fate(segment_, slot_) + ": this rank was given up"};
    }
    if (is_anothers) {
        return {base::Code::state,
                "another process (" + std::to_string(pid) + ") is rank " + std::to_string(rank()) +
                    " of this job already: start one program per rank, not a script that starts "
                    "several; a program that a rank starts and that uses ACP by itself needs "
                    "ACP_SINGLETON=1, or ACP_NODE_FD and ACP_NODE_SOCKET unset"};
    }
    return {};
}

base::Status Member::synchronize() {
    return barrier_.wait();
}

base::Status Member::end_own_meetings() {
    if (!barrier_.has_own_meetings()) return {};
    auto status = barrier_.wait();
    if (status.is_ok()) barrier_.set_own_meetings(nullptr);
    return status;
}

base::Status Member::gather(std::uint32_t number) {
    slot().wanted_rank.store(number, std::memory_order_relaxed);
    return barrier_.wait(Gathers::numbers);
}

std::uint32_t Member::gathered(std::uint32_t process) const noexcept {
    return segment_.wanted_table()[process].load(std::memory_order_relaxed);
}

base::Status Member::agree_on_rank(std::uint32_t rank) {
    if (auto status = gather(rank); !status.is_ok()) {  // the requests of all processes are visible
        return status;
    }
    Ranks ranks(segment_);
    if (slot_ == 0) {
        if (!segment_.has_gateway()) {  // otherwise the gateway wrote what all nodes gathered
            ranks.collect();
        }
        ranks.judge();
    }
    // No process may make another request, or change its rank, before all have read the verdict.
    if (auto status = synchronize(); !status.is_ok()) {
        return status;
    }
    return ranks.verdict();
}

void Member::take_rank(std::uint32_t rank) {
    slot().rank.store(rank, std::memory_order_relaxed);  // published by the next meeting
    if (slot_ == 0) {
        Ranks(segment_).apply();
    }
}

void Member::confirm_epoch() noexcept {
    if (slot_ == 0) {
        segment_.control().job_epoch.store(epoch_, std::memory_order_release);
    }
}

// Over several nodes the gateway reads the parts of its node before it releases any process, and
// its result stays until all have arrived at the next meeting.
base::Status Member::conclude(base::Status own) {
    const bool is_over_nodes = segment_.has_gateway();
    const std::uint32_t meeting = barrier_.next_number();
    bring_part(segment_, slot_, meeting, own.code(), epoch_);
    auto met = barrier_.wait(is_over_nodes ? Gathers::conclusion : Gathers::nothing);
    if (!own.is_ok()) return own;
    if (!met.is_ok()) return met;
    const Conclusion all =
        is_over_nodes ? read_conclusion(segment_) : conclusion_of_node(segment_, meeting);
    if (const auto failed = all.failure()) {
        return {failed->code, "rank " + std::to_string(segment_.rank_of(failed->process)) +
                                  " failed (" + base::phrase(failed->code) +
                                  "; its own message says more), so no rank goes on"};
    }
    if (all.has_other_call()) {
        return {base::Code::state,
                "some ranks have come to another call, acp_sync for example: they have not made "
                "the same collective calls"};
    }
    if (all.least_epoch() != all.greatest_epoch()) {
        return {base::Code::state,
                "some ranks are in epoch " + std::to_string(all.least_epoch()) +
                    " of the job and some in epoch " + std::to_string(all.greatest_epoch()) +
                    ", rank " + std::to_string(rank()) + " in epoch " + std::to_string(epoch_) +
                    ": they have not made the same collective calls"};
    }
    return {};
}

bool Member::can_meet() const noexcept {
    return segment_.control().deaths.load(std::memory_order_acquire) == 0;
}

void Member::withdraw() const noexcept {
    auto joined = static_cast<std::uint32_t>(SlotState::joined);
    // fails if the watcher has marked the slot dead
    slot().state.compare_exchange_strong(joined, static_cast<std::uint32_t>(SlotState::empty),
                                         std::memory_order_acq_rel, std::memory_order_relaxed);
}

void Member::depart() const noexcept {
    leave();
    mark_dead(segment_, slot_, departed_status);
}

void Member::begin_to_depart() const noexcept {
    // relaxed: the store that ends a registration is a release; partner: has_left()
    slot().is_departing.store(1, std::memory_order_relaxed);
}

void Member::give_up() noexcept {
    mark_dead(segment_, slot_, gave_up_status);
}

void Member::leave() const noexcept {
    slot().state.store(static_cast<std::uint32_t>(SlotState::left), std::memory_order_release);
}

}  // namespace acp::node
