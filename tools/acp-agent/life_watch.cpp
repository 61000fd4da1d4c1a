// SPDX-License-Identifier: BSD-3-Clause
// Checks all life locks when one may have come free.
#include "life_watch.hpp"

#include "node/death.hpp"

namespace acp::agent {

namespace {

// Whether another process found the slot's process gone and marked it dead before this agent did.
// Then this agent must still find out how it ended: it may have run another program, so that no end
// of a child shows it.
bool is_end_untold(const node::Segment& segment, std::uint32_t slot) noexcept {
    if (!node::is_dead(segment, slot)) return false;
    const node::Slot& dead = segment.slot(slot);
    // relaxed, both: stored before state became dead
    const std::uint32_t told = dead.wait_status.load(std::memory_order_relaxed);
    const std::uint32_t state_before = dead.state_at_death.load(std::memory_order_relaxed);
    return (told == node::unseen_status || told == node::untold_status) &&
           state_before == static_cast<std::uint32_t>(node::SlotState::joined);
}

}  // namespace

void LifeWatch::start(const node::Segment& segment, os::PollSet& poll, std::uint64_t token) {
    segment_ = &segment;
    poll_ = &poll;
    token_ = token;
    const std::uint64_t now_ns = os::now_ns();
    watch_at_ns_ = now_ns + young_ns;
    deadline_ns_ = now_ns + young_look_every_ns;
}

// Opens the watch of the segment's file once `young_ns` have passed. The watch misses closes that
// happened before; take_lost() finds these, since it checks each slot after this call.
void LifeWatch::watch(std::uint64_t now_ns) {
    if (now_ns < watch_at_ns_) return;
    watch_at_ns_ = os::poll_forever;
    auto watch = os::CloseWatch::create(segment_->file());
    if (watch.is_ok() && poll_->add(watch.value().fd(), token_).is_ok()) {
        watch_.emplace(std::move(watch).value());
    }
}

std::vector<std::uint32_t> LifeWatch::take_lost(std::uint64_t now_ns) {
    watch(now_ns);
    if (!watch_) {
        const bool is_young = watch_at_ns_ != os::poll_forever;
        deadline_ns_ = now_ns + (is_young ? young_look_every_ns : look_every_ns);
    } else {
        if (watch_->take()) pause_ns_ = look_again_first_ns;
        const bool is_over = pause_ns_ > look_again_last_ns;
        deadline_ns_ = is_over ? os::poll_forever : now_ns + pause_ns_;
        if (!is_over) pause_ns_ *= 4;
    }
    std::vector<std::uint32_t> lost;
    for (std::uint32_t slot = 0; slot < segment_->shape().local_procs; ++slot) {
        if (node::has_lost_life(*segment_, slot) || is_end_untold(*segment_, slot)) {
            lost.push_back(slot);
        }
    }
    return lost;
}

}  // namespace acp::agent
