// SPDX-License-Identifier: BSD-3-Clause
// Looking at how long the ranks have waited.
#include "hang_watch.hpp"

#include <algorithm>

#include "node/awaited.hpp"

namespace acp::agent {

void HangWatch::start(const node::Segment& segment,
                      std::uint64_t allowed_ns,
                      std::uint64_t now_ns) {
    if (allowed_ns == 0) return;
    segment_ = &segment;
    allowed_ns_ = allowed_ns;
    told_since_ns_.assign(segment.shape().local_procs, 0);
    deadline_ns_ = now_ns + allowed_ns;
}

bool HangWatch::look(std::uint64_t now_ns) {
    bool is_news = false;
    deadline_ns_ = now_ns + allowed_ns_;
    for (std::uint32_t slot = 0; slot < told_since_ns_.size(); ++slot) {
        const node::Doing doing = node::look_at(*segment_, slot, now_ns);
        if (doing.what == node::WaitFor::nothing) continue;
        const std::uint64_t since_ns = now_ns - doing.waited_ns;
        if (since_ns == told_since_ns_[slot]) continue;
        if (doing.waited_ns < allowed_ns_) {
            deadline_ns_ = std::min(deadline_ns_, since_ns + allowed_ns_);
            continue;
        }
        told_since_ns_[slot] = since_ns;
        is_news = true;
    }
    return is_news;
}

}  // namespace acp::agent
