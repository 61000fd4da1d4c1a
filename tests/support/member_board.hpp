// SPDX-License-Identifier: BSD-3-Clause
// The board between the driver of kills and the members of a team or a plan. Valid when zero.
// Writers: each rank its own note; the driver the rest.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int member_ranks = 4;

struct MemberNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> is_at_work;
    std::atomic<std::int64_t> refused_at_ns;  // when a call first failed; of support/clock.hpp
    char message[480];                        // the first failed check
};

inline constexpr std::int32_t nobody_killed = -1;

struct MemberBoard {
    std::atomic<std::int32_t> victim;  // a rank, or nobody_killed; set before the ranks begin
    MemberNote ranks[member_ranks];

    static bool is_at_work(const MemberNote& note) noexcept {
        // acquire: the process of the rank; partner: the store of the rank
        return note.is_at_work.load(std::memory_order_acquire) != 0;
    }
};

}  // namespace acp::test
