// SPDX-License-Identifier: BSD-3-Clause
// Memory that calls with bad arguments must not change: starter and registered memory of every
// rank, filled with a pattern before and compared after. Collective to make and to check; main
// thread.
#pragma once

#include <string>
#include <vector>

#include "support/arena.hpp"
#include "support/ranked.hpp"

namespace acp::test {

class Canary {
public:
    static constexpr std::size_t bytes = 4096;

    Canary() : starter(Kind::starter, bytes), registered(Kind::registered, bytes) {
        fill_pattern(starter.local(), 1, acp_rank());
        fill_pattern(registered.local(), 2, acp_rank());
        sync_ranks();
    }

    // Collective.
    void expect_untouched() const {
        sync_ranks();
        for (std::size_t offset = 0; offset < bytes; ++offset) {
            ASSERT_EQ(starter.local()[offset], pattern(1, acp_rank(), offset)) << offset;
            ASSERT_EQ(registered.local()[offset], pattern(2, acp_rank(), offset)) << offset;
        }
        sync_ranks();
    }

    const Arena starter;
    const Arena registered;
};

// One of the atomics with harmless operands.
struct NamedAtomic {
    const char* name;
    std::size_t width;
    acp_handle_t (*issue)(acp_ga_t target, acp_ga_t source, acp_handle_t order);
};

[[nodiscard]] const std::vector<NamedAtomic>& named_atomics();

}  // namespace acp::test
