// SPDX-License-Identifier: BSD-3-Clause
// More threads of a rank at one list than may use a heap at once.
#include <atomic>
#include <thread>
#include <vector>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

class ListThreadsTest : public RankedTest {};

// To say that there is no room a thread looks at the heap, for which it takes a cache of it; it has given back the one of its call by then, for
// else all might have one and wait for another.
TEST_F(ListThreadsTest, many_are_refused_room_and_none_waits_for_ever) {
    constexpr int threads_count = 50;
    constexpr int pushes = 200;
    allow_seconds(120);
    const acp_list_t list = acp_create_list(rank_);
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < threads_count; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < pushes; ++k) {
                const bool is_refused =
                    acp_push_back_list(list, "", std::size_t{1} << 40U, rank_) != 0 &&
                    acp_errno() == ACP_ERR_MEMORY;
                refused += is_refused ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(refused.load(), threads_count * pushes);
    EXPECT_EQ(acp_destroy_list(list), 0) << acp_error_message();
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
