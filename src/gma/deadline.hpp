// SPDX-License-Identifier: BSD-3-Clause
// The moment a wait ends at the latest, or none. Reads the clock only where there is one. Any
// thread.
#pragma once

#include <cstdint>

#include "node/wait.hpp"
#include "os/clock.hpp"

namespace acp::gma {

class Deadline {
public:
    Deadline() noexcept = default;  // none

    //   timeout_ns  from now; < 0: none
    explicit Deadline(std::int64_t timeout_ns) noexcept
        : at_ns_(timeout_ns < 0 ? none : os::now_ns() + static_cast<std::uint64_t>(timeout_ns)) {}

    [[nodiscard]] bool is_past() const noexcept { return at_ns_ != none && os::now_ns() >= at_ns_; }

    // The remaining time, in the form that node::Waiter takes.
    [[nodiscard]] std::int64_t left_ns() const noexcept {
        if (at_ns_ == none) return node::for_ever;
        const std::uint64_t now = os::now_ns();
        return at_ns_ > now ? static_cast<std::int64_t>(at_ns_ - now) : 0;
    }

private:
    static constexpr std::uint64_t none = ~0ULL;

    std::uint64_t at_ns_ = none;
};

}  // namespace acp::gma
