// SPDX-License-Identifier: BSD-3-Clause
// More threads of a rank use one list than a heap has thread caches; and elements are moved between
// the lists of two ranks while other ranks take them.
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

class ListThreadsTest : public RankedTest {};

// To report that there is no room, a thread reads the heap's state, for which it takes one of the
// heap's thread caches. It has released the cache of its call before, since otherwise each of many
// threads could hold one cache and wait for a second.
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

// Exactly one rank gets an element that several take or move at once; a move by copying would give
// it to two.
TEST_F(ListThreadsTest, an_element_that_goes_between_lists_of_two_ranks_is_taken_once) {
    if (procs_ < 2) return;
    allow_seconds(120);
    constexpr std::uint64_t elements = 60;
    constexpr int rounds = 20;
    std::vector<acp_list_t> lists(static_cast<std::size_t>(procs_));
    const acp_list_t own = acp_create_list(rank_);
    const auto all = exchange(own.ga);
    for (std::size_t i = 0; i < lists.size(); ++i) lists[i].ga = all[i];
    const acp_list_t from = lists.front();
    const acp_list_t to = lists.back();
    for (int round = 0; round < rounds; ++round) {
        if (rank_ == 0) {
            for (std::uint64_t i = 0; i < elements; ++i)
                EXPECT_EQ(acp_push_back_list(from, &i, sizeof i, 0), 0) << acp_error_message();
        }
        sync_ranks();
        std::vector<std::uint64_t> taken(elements);
        const auto take_all = [&](acp_list_t list, std::uint64_t most) {
            std::uint64_t number = 0;
            for (std::uint64_t i = 0; i < most; ++i) {
                if (acp_take_front_list(list, &number, sizeof number) != sizeof number) return;
                if (number < elements) ++taken[number];
            }
        };
        if (rank_ % 2 == 0) {
            acp_list_it_t it = acp_begin_list(from);
            while (acp_splice_list(acp_end_list(to), it) == 0) it = acp_begin_list(from);
        } else {
            take_all(from, elements / 4);
            take_all(to, elements / 4);
        }
        sync_ranks();
        if (rank_ == 0) {
            take_all(from, 2 * elements);
            take_all(to, 2 * elements);
        }
        for (std::uint64_t i = 0; i < elements; ++i) {
            const auto counts = exchange(taken[i]);
            EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 1U)
                << "element " << i << " in round " << round;
        }
    }
    EXPECT_EQ(acp_destroy_list(own), 0) << acp_error_message();
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
