// SPDX-License-Identifier: BSD-3-Clause
// The part of the inline path that is worth a jump: all sizes but 8.
#include "gma/inline_access.hpp"

#include "node/wait.hpp"

namespace acp::gma::detail {

namespace {

// Apart from the short moves, which call nothing and so save no registers.
[[gnu::noinline]] Handle move_many_and_leave(const FastPath& fast,
                                             memory::HazardLine& line,
                                             char* to,
                                             const char* from,
                                             std::uint64_t bytes) noexcept {
    local::move_many(to, from, bytes);
    return done(fast, line, bytes);
}

}  // namespace

void ring_owner(const FastPath& fast, GlobalAddress word) noexcept {
    node::ring_bell_after_rmw(fast.slots[fast.view.slot_of(word)].door.waiter_bell);
}

Handle move_and_leave(const FastPath& fast,
                      memory::HazardLine& line,
                      char* to,
                      const char* from,
                      std::uint64_t bytes) noexcept {
    if (bytes > local::few_bytes_max) [[unlikely]] {
        return move_many_and_leave(fast, line, to, from, bytes);
    }
    local::move_few(to, from, bytes);
    return done(fast, line, bytes);
}

}  // namespace acp::gma::detail
