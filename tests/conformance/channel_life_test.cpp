// SPDX-License-Identifier: BSD-3-Clause
// Channels at the edges of their lives: calls that fail in the middle, ends that are still open
// when an epoch ends, a forked child, and a receiver that does something else.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "conformance/channel_life_fixture.hpp"
#include "support/clock.hpp"
#include "support/nodes.hpp"
#include "support/ranked.hpp"
#include "support/refuse_memory.hpp"

namespace acp::test {
namespace {

constexpr auto no_bytes = static_cast<std::size_t>(-1);

// Makes ends while the requests for memory of one rank are refused, one after the other, or all
// from one on, until none is.
int make_with_refusals(int sender, bool is_refused, std::vector<acp_ch_t>& made) {
    const std::uint64_t count = made.size() % 2 == 0 ? 1 : all_from_there;
    for (std::uint64_t first = 1;; ++first) {
        std::uint64_t seen = 0;
        acp_ch_t channel = ACP_CH_NULL;
        {
            const Refusal refusal(is_refused ? first : 0, count);
            channel = acp_create_ch(sender, 1 - sender);
            seen = Refusal::seen();
        }
        if (channel != ACP_CH_NULL) {
            made.push_back(channel);
        } else {
            EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
        }
        if (!is_refused || seen < first) return static_cast<int>(first);
    }
}

TEST_F(ChannelLifeTest, ends_that_could_not_be_made_for_want_of_memory_have_no_number) {
    int refusals = 0;
    for (const int sender : {0, 1}) {
        for (const int refused : {0, 1}) {
            for (const bool is_first : {false, true}) {
                std::vector<acp_ch_t> channels;
                if (is_of_two() && rank_ == refused && is_first) {
                    refusals += make_with_refusals(sender, true, channels) - 1;
                }
                const std::uint64_t count =
                    exchange(channels.size())[static_cast<std::size_t>(procs_ > 1 ? refused : 0)];
                if (is_of_two() && rank_ != refused) {
                    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(count, 30); ++i)
                        channels.push_back(make(sender));
                }
                sync_ranks();
                if (is_of_two() && rank_ == refused && !is_first) {
                    while (channels.size() < 30)
                        refusals += make_with_refusals(sender, true, channels) - 1;
                }
                const auto counts = exchange(channels.size());
                if (!is_of_two()) continue;
                while (channels.size() < std::max(counts[0], counts[1]))
                    channels.push_back(make(sender));
                for (std::size_t i = 0; i < channels.size(); ++i) pass(channels[i], i, sender);
                for (const acp_ch_t channel : channels)
                    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
            }
        }
    }
    EXPECT_TRUE(!is_of_two() || refusals > 4) << refusals;
}

TEST_F(ChannelLifeTest, a_request_with_no_memory_is_refused_and_the_next_one_succeeds) {
    if (!is_of_two()) return;
    const acp_ch_t channel = make();
    const std::vector<char> message(100'000, 'm');
    std::uint64_t seen = 1;
    for (std::uint64_t first = 1; seen >= first && first < 1'000; ++first) {
        std::vector<char> room(message.size());
        const auto begin = [&] {
            return rank_ == 0 ? acp_nbsend_ch(channel, message.data(), message.size())
                              : acp_nbrecv_ch(channel, room.data(), room.size());
        };
        acp_request_t request = ACP_REQUEST_NULL;
        {
            const Refusal refusal(first);
            request = begin();
            seen = Refusal::seen();
        }
        // A request that fails, at its issue or later, has sent or received nothing.
        std::size_t bytes = request != ACP_REQUEST_NULL ? acp_wait_ch(request) : no_bytes;
        if (bytes == no_bytes) {
            EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
            bytes = acp_wait_ch(begin());
        }
        ASSERT_EQ(bytes, rank_ == 0 ? 0U : message.size()) << acp_error_message();
        ASSERT_TRUE(rank_ == 0 || room == message);
        // Both ranks stop after the same round.
        std::uint64_t own = seen >= first ? 1 : 0;
        std::uint64_t other = 0;
        const acp_ch_t there = make();
        const acp_ch_t back = make(1);
        ASSERT_EQ(acp_send_ch(rank_ == 0 ? there : back, &own, sizeof own), 0);
        ASSERT_EQ(acp_recv_ch(rank_ == 0 ? back : there, &other, sizeof other), sizeof other);
        acp_request_t frees[2] = {acp_nbfree_ch(there), acp_nbfree_ch(back)};
        ASSERT_EQ(acp_waitall_ch(frees, 2, nullptr), 0) << acp_error_message();
        if (other != 0) seen = std::max(seen, first + 1);
    }
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

// Ends that leave_open() leaves in every state, with their requests.
struct OpenEnds {
    std::vector<acp_ch_t> channels;
    std::vector<acp_request_t> requests;
};

class OpenEndsTest : public ChannelLifeTest {
protected:
    OpenEnds leave_open() {
        OpenEnds open;
        if (!is_of_two()) return open;
        const acp_ch_t used = make();
        pass(used, 7);
        open.channels = {used, make(), make(), make()};
        // Its partner never makes the other end.
        if (rank_ == 0) open.channels.push_back(make());
        if (rank_ == 0) {
            // In this order: a message longer than the ring, without a receiver; one that is sent
            // and not received; a free; a message to an end without partner. Rank 1 receives what
            // rank 0 never sends.
            open.requests.push_back(
                acp_nbsend_ch(used, long_message_.data(), long_message_.size()));
            EXPECT_NE(acp_nbsend_ch(open.channels[1], "x", 1), ACP_REQUEST_NULL);
            open.requests.push_back(acp_nbfree_ch(open.channels[3]));
            open.requests.push_back(
                acp_nbsend_ch(open.channels[4], long_message_.data(), long_message_.size()));
        } else {
            open.requests.push_back(acp_nbrecv_ch(open.channels[2], room_, sizeof room_));
        }
        for (const acp_request_t request : open.requests) {
            EXPECT_NE(request, ACP_REQUEST_NULL) << acp_error_message();
            EXPECT_EQ(acp_test_ch(request, nullptr), 0);
        }
        return open;
    }

    // Call in the epoch after that of `old`: makes as many ends, and none of them is an old one.
    void expect_nothing_is_left(const OpenEnds& old) {
        if (!is_of_two()) return;
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(acp_rank(), &stat), 0) << acp_error_message();
        EXPECT_LT(stat.allocated, 100'000U);
        std::vector<acp_ch_t> channels;
        while (channels.size() < 6) channels.push_back(make());
        const acp_request_t request =
            rank_ == 0 ? ACP_REQUEST_NULL : acp_nbrecv_ch(channels[5], room_, sizeof room_);
        for (const acp_ch_t channel : old.channels) {
            EXPECT_EQ(acp_nbsend_ch(channel, "x", 1), ACP_REQUEST_NULL);
            EXPECT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
            EXPECT_EQ(acp_free_ch(channel), -1);
        }
        for (const acp_request_t gone : old.requests) {
            EXPECT_EQ(acp_test_ch(gone, nullptr), -1);
            EXPECT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
        }
        for (std::size_t i = 0; i < 5; ++i) pass(channels[i], i);
        if (rank_ == 0) {
            EXPECT_EQ(acp_send_ch(channels[5], "y", 1), 0);
        } else {
            EXPECT_EQ(acp_wait_ch(request), 1U) << acp_error_message();
        }
        for (const acp_ch_t channel : channels) EXPECT_EQ(acp_free_ch(channel), 0);
    }

    const std::vector<char> long_message_ = std::vector<char>(300'000, 'l');
    char room_[16] = {};
};

TEST_F(OpenEndsTest, acp_reset_drops_open_ends_and_their_handles_mean_nothing_afterwards) {
    for (int round = 0; round < 3; ++round) {
        // The epoch starts here, so the open ends are its first: their handles are those that the
        // first ends of the next epoch would get.
        ASSERT_EQ(acp_reset(acp_rank()), 0) << acp_error_message();
        const OpenEnds open = leave_open();
        ASSERT_EQ(acp_reset(acp_rank()), 0) << acp_error_message();
        expect_nothing_is_left(open);
    }
}

TEST_F(OpenEndsTest, a_refused_acp_reset_leaves_open_ends_as_they_are) {
    if (procs_ < 2) return;
    const acp_ch_t channel = is_of_two() ? make() : ACP_CH_NULL;
    std::vector<char> room(long_message_.size());
    acp_request_t request = ACP_REQUEST_NULL;
    if (rank_ == 0) request = acp_nbsend_ch(channel, long_message_.data(), long_message_.size());
    if (rank_ == 1) request = acp_nbrecv_ch(channel, room.data(), room.size());
    EXPECT_EQ(acp_reset(0), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
    if (!is_of_two()) return;
    EXPECT_EQ(acp_wait_ch(request), rank_ == 0 ? 0U : room.size()) << acp_error_message();
    EXPECT_TRUE(rank_ == 0 || room == long_message_);
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

TEST_F(OpenEndsTest, acp_finalize_drops_open_ends_and_their_handles_mean_nothing_afterwards) {
    const OpenEnds open = leave_open();
    ASSERT_EQ(acp_finalize(), 0) << acp_error_message();
    for (const acp_ch_t channel : open.channels) {
        EXPECT_EQ(acp_send_ch(channel, "x", 1), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_STATE) << acp_error_message();
    }
    for (const acp_request_t request : open.requests) EXPECT_EQ(acp_wait_ch(request), no_bytes);
    ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
    expect_nothing_is_left(open);
}

TEST_F(ChannelLifeTest, a_forked_child_is_refused_and_the_parent_continues) {
    if (!is_of_two()) return;
    const acp_ch_t channel = make();
    pass(channel, 1);
    char byte = 0;
    const acp_request_t request = rank_ == 1 ? acp_nbrecv_ch(channel, &byte, 1) : ACP_REQUEST_NULL;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const bool is_refused =
            acp_send_ch(channel, "c", 1) == -1 && acp_errno() == ACP_ERR_FORKED &&
            acp_recv_ch(channel, &byte, 1) == no_bytes && acp_errno() == ACP_ERR_FORKED &&
            acp_nbfree_ch(channel) == ACP_REQUEST_NULL && acp_create_ch(0, 1) == ACP_CH_NULL &&
            acp_wait_ch(request) == no_bytes && acp_errno() == ACP_ERR_FORKED;
        _exit(is_refused ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "a call of the child was not refused with ACP_ERR_FORKED";
    if (rank_ == 0) {
        EXPECT_EQ(acp_send_ch(channel, "p", 1), 0) << acp_error_message();
    } else {
        EXPECT_EQ(acp_wait_ch(request), 1U) << acp_error_message();
        EXPECT_EQ(byte, 'p');
    }
    pass(channel, 2);
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

// A rank that recovers a ring wakes its partner, which then recovers too: the wakeups must not form
// a loop.
TEST_F(ChannelLifeTest, two_ranks_that_wait_for_each_other_let_each_other_sleep) {
    acp_ch_t there = ACP_CH_NULL;
    acp_ch_t back = ACP_CH_NULL;
    acp_request_t request = ACP_REQUEST_NULL;
    char byte = 0;
    if (is_of_two()) {
        there = make();
        back = make(1);
        pass(there, 1);
        pass(back, 2, 1);
        request = acp_nbrecv_ch(rank_ == 0 ? back : there, &byte, 1);
        rusage before{};
        rusage after{};
        constexpr std::int64_t wait_ns = 1'000'000'000;
        getrusage(RUSAGE_THREAD, &before);
        EXPECT_EQ(acp_wait_ch_timeout(request, nullptr, wait_ns), ACP_ERR_TIMEOUT);
        getrusage(RUSAGE_THREAD, &after);
        // Some sleeps for each recovery, 5 a second, and for liveness polls.
        EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 300)
            << "sleeps of a thread that waited a second";
    }
    sync_ranks();
    if (!is_of_two()) return;
    EXPECT_EQ(acp_send_ch(rank_ == 0 ? there : back, "z", 1), 0);
    EXPECT_EQ(acp_wait_ch(request), 1U) << acp_error_message();
    acp_request_t frees[2] = {acp_nbfree_ch(there), acp_nbfree_ch(back)};
    EXPECT_EQ(acp_waitall_ch(frees, 2, nullptr), 0) << acp_error_message();
}

// A receiver that makes no call on channels any longer has returned the sender's credits, all but
// less than a quarter of the ring.
TEST_F(ChannelLifeTest, a_ring_that_was_emptied_has_room_while_the_receiver_does_something_else) {
    constexpr std::int64_t full_ns = 200'000'000;
    constexpr std::int64_t limit_ns = 10'000'000'000;
    constexpr std::uint64_t words_max = 20'000;
    const acp_ch_t channel = is_of_two() ? make() : ACP_CH_NULL;
    for (int round = 0; round < 3; ++round) {
        std::uint64_t count = 0;
        acp_request_t last = ACP_REQUEST_NULL;
        if (rank_ == 0 && is_of_two()) {
            while (last == ACP_REQUEST_NULL && count < words_max) {
                const acp_request_t one = acp_nbsend_ch(channel, &words_max, sizeof words_max);
                ++count;
                if (acp_wait_ch_timeout(one, nullptr, full_ns) != ACP_OK) last = one;
            }
        }
        count = exchange(count)[0];
        const std::uint64_t more = round == 0 ? 0 : count * 3 / 4 - 2;
        if (rank_ == 0 && last != ACP_REQUEST_NULL) {
            ASSERT_EQ(acp_wait_ch(last), 0U) << acp_error_message();
            for (std::uint64_t i = 0; i < more; ++i) {
                const acp_request_t one = acp_nbsend_ch(channel, &i, sizeof i);
                ASSERT_EQ(acp_wait_ch_timeout(one, nullptr, limit_ns), ACP_OK)
                    << i << " of " << more;
            }
        }
        const auto receive = [&](std::uint64_t messages) {
            std::uint64_t word = 0;
            for (std::uint64_t i = 0; i < messages; ++i)
                ASSERT_EQ(acp_recv_ch(channel, &word, sizeof word), sizeof word);
        };
        if (rank_ == 1) receive(count);
        sync_ranks();
        if (rank_ == 1) receive(more);
        sync_ranks();
    }
    if (channel != ACP_CH_NULL) {
        EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
    }
}

TEST_F(ChannelLifeTest, a_wait_for_several_continues_without_memory_for_a_message) {
    if (!is_of_two()) return;
    const acp_ch_t channel = make();
    if (rank_ == 0) {
        const std::uint64_t word = 7;
        EXPECT_EQ(acp_send_ch(channel, &word, sizeof word), 0) << acp_error_message();
    } else {
        std::uint64_t word = 0;
        acp_request_t requests[2] = {// no channel has such a request
                                     reinterpret_cast<acp_request_t>(std::uintptr_t{0x7'0000'0005}),
                                     acp_nbrecv_ch(channel, &word, sizeof word)};
        std::size_t sizes[2] = {};
        int outcome = 0;
        {
            const Refusal refusal(1);
            outcome = acp_waitall_ch(requests, 2, sizes);
        }
        EXPECT_EQ(outcome, -1);
        EXPECT_EQ(sizes[0], no_bytes);
        EXPECT_EQ(sizes[1], sizeof word);
    }
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
