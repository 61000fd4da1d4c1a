// SPDX-License-Identifier: BSD-3-Clause
// The part of the inline path that is worth a call: all sizes but 8.
#include "gma/inline_access.hpp"

namespace acp::gma::detail {

Handle move_and_leave(const FastPath& fast,
                      memory::HazardLine& line,
                      char* to,
                      const char* from,
                      std::uint64_t bytes) noexcept {
    local::move_bytes(to, from, bytes);
    return done(fast, line, bytes);
}

}  // namespace acp::gma::detail
