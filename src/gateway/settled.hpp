// SPDX-License-Identifier: BSD-3-Clause
// What the pieces of the local placement have in common: the end of something that was taken, kept until the
// router may be told, and hazard lines named while an access lasts. One thread: the gateway's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "local/hazards.hpp"
#include "local/space.hpp"
#include "router/placement.hpp"

namespace acp::gateway {

using router::GlobalAddress;
using router::Ticket;

// The end of what a placement took.
struct Settled {
    Ticket ticket = 0;
    base::Code code = base::Code::ok;
    std::uint64_t value = 0;  // the old one of an atomic
};

using SettledList = std::vector<Settled>;

// Names the addresses of an access in the calling thread's hazard line while it lives.
class Inside {
public:
    Inside(local::Hazards& hazards, GlobalAddress target, GlobalAddress source)
        : own_(hazards.own_line()) {
        if (own_ == nullptr) [[unlikely]] {
            lease_.emplace_back(hazards);
            own_ = &lease_.back().line();
        }
        hazards.enter(*own_, target, source);
    }

    ~Inside() { memory::leave(*own_); }

    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

private:
    memory::HazardLine* own_;
    std::vector<local::Hazards::Lease> lease_;  // at most one: every line is somebody's
};

}  // namespace acp::gateway
