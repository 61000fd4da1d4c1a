// SPDX-License-Identifier: BSD-3-Clause
// Looking at all life locks when one may have come free.
#include "life_watch.hpp"

#include "node/death.hpp"

namespace acp::agent {

void LifeWatch::start(const node::Segment& segment, os::PollSet& poll, std::uint64_t token) {
    segment_ = &segment;
    auto watch = os::CloseWatch::create(segment.file());
    if (watch.is_ok() && poll.add(watch.value().fd(), token).is_ok()) {
        watch_.emplace(std::move(watch).value());
    } else {
        deadline_ns_ = os::now_ns() + look_every_ns;
    }
}

std::vector<std::uint32_t> LifeWatch::take_lost(std::uint64_t now_ns) {
    if (watch_) {
        watch_->take();
    } else {
        deadline_ns_ = now_ns + look_every_ns;
    }
    std::vector<std::uint32_t> lost;
    for (std::uint32_t slot = 0; slot < segment_->shape().local_procs; ++slot) {
        if (node::has_lost_life(*segment_, slot)) lost.push_back(slot);
    }
    return lost;
}

}  // namespace acp::agent
