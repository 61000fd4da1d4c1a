// SPDX-License-Identifier: BSD-3-Clause
// getrandom until all is filled.
#include "os/random_bytes.hpp"

#include <cerrno>
#include <sys/random.h>

#include "base/assert.hpp"

namespace acp::os {

void fill_random(std::span<std::byte> out) noexcept {
    while (!out.empty()) {
        const ssize_t got = getrandom(out.data(), out.size(), 0);
        // It fails for no reason but a signal in any kernel that can run this library (Linux 3.17).
        ACP_ASSERT(got >= 0 || errno == EINTR);
        if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace acp::os
