// SPDX-License-Identifier: BSD-3-Clause
// Memory that grows and is aligned.
#include "team/scratch.hpp"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>

namespace acp::team {
namespace {

TEST(Scratch, gives_room_that_is_aligned_and_kept) {
    Scratch scratch;
    (void)scratch.take(0);
    for (const std::uint64_t bytes : {1U, 64U, 65U, 1000U, 100'000U}) {
        char* const room = scratch.take(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room) % 64, 0U);
        std::memset(room, 1, bytes);
        EXPECT_EQ(scratch.take(bytes), room);
        EXPECT_EQ(scratch.take(bytes / 2), room);
    }
}

}  // namespace
}  // namespace acp::team
