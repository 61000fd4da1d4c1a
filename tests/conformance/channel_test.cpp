// SPDX-License-Identifier: BSD-3-Clause
// Channels: every message arrives once, whole and in order, of any size, with any number in flight,
// whether the sender or the receiver calls first; every misuse is refused and changes nothing;
// freed memory is reclaimed.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "conformance/lives.hpp"
#include "support/nodes.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr auto no_bytes = static_cast<std::size_t>(-1);

using Buffer = std::vector<unsigned char>;

// Content from which message and offset can be read.
Buffer content_of(std::uint64_t message, std::size_t bytes) {
    Buffer content(bytes);
    Random random(message * 1'000'003 + bytes);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        if (i % 8 == 0) word = random.next();
        content[i] = static_cast<unsigned char>(word >> (i % 8 * 8));
    }
    return content;
}

// Sizes: short ones, some near the length of a record or a ring, and now and then a long one.
std::size_t size_of(std::uint64_t message) {
    Random random(message + 17);
    switch (random.below(8)) {
        case 0:
            return random.below(70'000);
        case 1:
            return random.below(20'000);
        case 2:
        case 3:
            return random.below(1'100);
        default:
            return random.below(100);
    }
}

class ChannelTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(240);
    }

    [[nodiscard]] int next() const { return (rank_ + 1) % procs_; }

    [[nodiscard]] int previous() const { return (rank_ + procs_ - 1) % procs_; }

    static void expect_refused(int code, const std::string& part) { expect_error(code, {part}); }

    static acp_ch_t make(int sender, int receiver) {
        const acp_ch_t made = acp_create_ch(sender, receiver);
        EXPECT_NE(made, ACP_CH_NULL) << acp_error_message();
        return made;
    }

    static void expect_sent(acp_ch_t channel, const Buffer& message) {
        ASSERT_EQ(acp_send_ch(channel, message.data(), message.size()), 0) << acp_error_message();
    }

    static void expect_received(acp_ch_t channel, const Buffer& message) {
        Buffer room(message.size() + 9, 0xee);
        ASSERT_EQ(acp_recv_ch(channel, room.data(), room.size()), message.size())
            << acp_error_message();
        ASSERT_TRUE(std::equal(message.begin(), message.end(), room.begin()));
        ASSERT_EQ(room[message.size()], 0xee) << "written beyond the message";
    }
};

TEST_F(ChannelTest, messages_of_every_size_arrive_in_order_between_every_two_ranks) {
    constexpr std::uint64_t messages = 200;
    for (int sender = 0; sender < procs_; ++sender) {
        for (int receiver = 0; receiver < procs_; ++receiver) {
            if (sender == receiver || (rank_ != sender && rank_ != receiver)) continue;
            const acp_ch_t channel = make(sender, receiver);
            for (std::uint64_t i = 0; i < messages; ++i) {
                const Buffer message = content_of(i, size_of(i));
                if (rank_ == sender) expect_sent(channel, message);
                if (rank_ == receiver) expect_received(channel, message);
                ASSERT_FALSE(HasFailure()) << "message " << i << " of " << message.size();
            }
            EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
        }
    }
}

TEST_F(ChannelTest, all_ranks_send_and_receive_at_once_with_many_requests_in_flight) {
    if (procs_ < 2) return;
    constexpr std::uint64_t messages = 400;
    constexpr std::size_t under_way = 20;
    const acp_ch_t out = make(rank_, next());
    const acp_ch_t in = make(previous(), rank_);

    struct Under {
        acp_request_t request;
        Buffer buffer;
    };

    std::deque<Under> sends;
    std::deque<Under> receives;
    std::uint64_t checked = 0;
    for (std::uint64_t i = 0; i < messages + under_way; ++i) {
        if (i < messages) {
            sends.push_back({nullptr, content_of(i, size_of(i))});
            sends.back().request =
                acp_nbsend_ch(out, sends.back().buffer.data(), sends.back().buffer.size());
            ASSERT_NE(sends.back().request, ACP_REQUEST_NULL) << acp_error_message();
            receives.push_back({nullptr, Buffer(70'000)});
            receives.back().request = acp_nbrecv_ch(in, receives.back().buffer.data(), 70'000);
            ASSERT_NE(receives.back().request, ACP_REQUEST_NULL) << acp_error_message();
        }
        if (i < under_way) continue;
        ASSERT_EQ(acp_wait_ch(sends.front().request), 0U) << acp_error_message();
        sends.pop_front();
        const Buffer expected = content_of(checked, size_of(checked));
        ASSERT_EQ(acp_wait_ch(receives.front().request), expected.size()) << acp_error_message();
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), receives.front().buffer.begin()));
        receives.pop_front();
        ++checked;
    }
    EXPECT_EQ(checked, messages);
    acp_request_t frees[2] = {acp_nbfree_ch(out), acp_nbfree_ch(in)};
    std::size_t sizes[2] = {7, 7};
    EXPECT_EQ(acp_waitall_ch(frees, 2, sizes), 0) << acp_error_message();
    EXPECT_EQ(sizes[0] + sizes[1], 0U);
}

TEST_F(ChannelTest, channels_of_two_ranks_belong_together_in_the_order_in_which_each_made_them) {
    if (rank_ > 1 || procs_ < 2) return;
    constexpr int count = 12;
    std::vector<acp_ch_t> channels;
    for (int i = 0; i < count; ++i) {
        // Odd channels begin with one end, even ones with the other.
        for (int spin = 0; i % 2 == rank_ && spin < 2'000; ++spin) std::this_thread::yield();
        channels.push_back(make(0, 1));
    }
    for (int i = count; i-- > 0;) {
        const Buffer message = content_of(static_cast<std::uint64_t>(i), 30);
        if (rank_ == 0) expect_sent(channels[static_cast<std::size_t>(i)], message);
    }
    for (int i = 0; i < count; ++i) {
        const Buffer message = content_of(static_cast<std::uint64_t>(i), 30);
        if (rank_ == 1) expect_received(channels[static_cast<std::size_t>(i)], message);
    }
    for (const acp_ch_t channel : channels) EXPECT_EQ(acp_free_ch(channel), 0);
}

// Receives a message that is longer than `room`, by each of the calls in turn.
void expect_truncated(acp_ch_t channel, Buffer& buffer, std::size_t room) {
    static int turn = 0;
    std::size_t received = 0;
    if (turn % 5 == 0) {
        EXPECT_EQ(acp_recv_ch(channel, buffer.data(), room), SIZE_MAX);
        expect_error(ACP_ERR_TRUNCATED, {"acp_recv_ch(channel ", ": from rank 0: "});
    } else {
        const acp_request_t request = acp_nbrecv_ch(channel, buffer.data(), room);
        if (turn % 5 == 1) {
            EXPECT_EQ(acp_wait_ch(request), SIZE_MAX);
        } else if (turn % 5 == 2) {
            EXPECT_EQ(acp_wait_ch_timeout(request, &received, -1), ACP_ERR_TRUNCATED);
            EXPECT_EQ(received, SIZE_MAX);
        } else if (turn % 5 == 3) {
            EXPECT_EQ(acp_waitall_ch(&request, 1, &received), -1);
            EXPECT_EQ(received, SIZE_MAX);
        } else {
            int ended = 0;
            while ((ended = acp_test_ch(request, &received)) == 0) std::this_thread::yield();
            EXPECT_EQ(ended, -1);
            EXPECT_EQ(received, SIZE_MAX);
        }
    }
    ++turn;
}

TEST_F(ChannelTest, a_message_longer_than_its_buffer_is_cut_and_the_next_one_is_whole) {
    if (rank_ > 1 || procs_ < 2) return;
    const acp_ch_t channel = make(0, 1);
    for (const std::size_t bytes : {std::size_t{60}, std::size_t{9'000}, std::size_t{200'000}}) {
        const Buffer message = content_of(bytes, bytes);
        for (const std::size_t room : {std::size_t{0}, std::size_t{1}, bytes / 2, bytes - 1}) {
            if (rank_ == 0) {
                expect_sent(channel, message);
                expect_sent(channel, content_of(1, 10));
                continue;
            }
            Buffer buffer(bytes, 0xee);
            acp_clear_errno();
            expect_truncated(channel, buffer, room);
            expect_refused(ACP_ERR_TRUNCATED, std::to_string(bytes) + " bytes");
            const auto end = message.begin() + static_cast<std::ptrdiff_t>(room);
            EXPECT_TRUE(std::equal(message.begin(), end, buffer.begin()));
            EXPECT_EQ(buffer[room], 0xee);
            expect_received(channel, content_of(1, 10));
        }
    }
    EXPECT_EQ(acp_free_ch(channel), 0);
}

TEST_F(ChannelTest, a_request_may_be_looked_at_and_waited_for_with_a_limit) {
    if (rank_ > 1 || procs_ < 2) return;
    const acp_ch_t there = make(0, 1);
    const acp_ch_t back = make(1, 0);
    if (rank_ == 0) {
        unsigned char answer = 0;
        const acp_request_t request = acp_nbrecv_ch(back, &answer, 1);
        std::size_t bytes = 5;
        EXPECT_EQ(acp_test_ch(request, &bytes), 0);
        EXPECT_EQ(acp_wait_ch_timeout(request, &bytes, 0), ACP_ERR_TIMEOUT);
        EXPECT_EQ(acp_wait_ch_timeout(request, &bytes, 3'000'000), ACP_ERR_TIMEOUT);
        EXPECT_EQ(bytes, 5U) << "after a timeout nothing is written";
        expect_refused(ACP_ERR_TIMEOUT, "from rank 1: the request has not ended after 3000000 ns");
        expect_sent(there, {1});
        while (acp_test_ch(request, &bytes) == 0) std::this_thread::yield();
        EXPECT_EQ(bytes, 1U);
        EXPECT_EQ(answer, 2);
        EXPECT_EQ(acp_test_ch(request, &bytes), -1);
        expect_refused(ACP_ERR_STALE, "no such request");
    } else {
        expect_received(there, {1});
        expect_sent(back, {2});
    }
    EXPECT_EQ(acp_free_ch(there), 0);
    EXPECT_EQ(acp_free_ch(back), 0);
}

TEST_F(ChannelTest, receives_of_messages_that_are_there_end_in_order_with_those_that_wait) {
    if (rank_ > 1 || procs_ < 2) return;
    constexpr std::uint64_t messages = 40;
    const acp_ch_t there = make(0, 1);
    const acp_ch_t signal = make(0, 1);
    const auto message_of = [](std::uint64_t i) { return content_of(i, i % 8 == 7 ? 9'000 : i); };
    if (rank_ == 0) {
        for (std::uint64_t i = 0; i < messages; ++i) {
            expect_sent(there, message_of(i));
            if (i == 5) expect_sent(signal, {1});  // before the first message that waits for room
        }
    } else {
        expect_received(signal, {1});
        for (std::uint64_t i = 0; i < messages; i += 2) {
            // The first request may have completed at once, and then the second one too, or not.
            const Buffer first = message_of(i);
            const Buffer second = message_of(i + 1);
            Buffer room(first.size() + second.size() + 2, 0xee);
            acp_request_t requests[2] = {
                acp_nbrecv_ch(there, room.data(), first.size()),
                acp_nbrecv_ch(there, room.data() + first.size() + 1, second.size())};
            std::size_t sizes[2] = {};
            ASSERT_EQ(acp_waitall_ch(requests, 2, sizes), 0) << acp_error_message();
            EXPECT_EQ(sizes[0], first.size());
            EXPECT_EQ(sizes[1], second.size());
            ASSERT_TRUE(std::equal(first.begin(), first.end(), room.begin()));
            ASSERT_EQ(room[first.size()], 0xee) << "written beyond the message";
            ASSERT_TRUE(std::equal(second.begin(), second.end(),
                                   room.begin() + static_cast<std::ptrdiff_t>(first.size() + 1)));
            ASSERT_EQ(room.back(), 0xee) << "written beyond the message";
        }
    }
    EXPECT_EQ(acp_free_ch(there), 0) << acp_error_message();
    EXPECT_EQ(acp_free_ch(signal), 0) << acp_error_message();
}

TEST_F(ChannelTest, a_wait_for_several_names_the_failed_one_and_waits_for_the_others) {
    if (rank_ > 1 || procs_ < 2) return;
    const acp_ch_t channel = make(0, 1);
    if (rank_ == 0) {
        for (std::uint64_t i = 0; i < 3; ++i) expect_sent(channel, content_of(i, 100));
    } else {
        std::vector<Buffer> rooms(3, Buffer(100));
        rooms[1].resize(40);
        acp_request_t requests[5] = {};
        for (std::size_t i = 0; i < 3; ++i)
            requests[2 * i] = acp_nbrecv_ch(channel, rooms[i].data(), rooms[i].size());
        requests[1] = ACP_REQUEST_NULL;
        // No channel has such a request.
        requests[3] = reinterpret_cast<acp_request_t>(std::uintptr_t{0x7'0000'0005});
        std::size_t sizes[5] = {};
        EXPECT_EQ(acp_waitall_ch(requests, -3, sizes), -1);
        expect_refused(ACP_ERR_ARGUMENT, "count is -3: it is 0 or more");
        EXPECT_EQ(acp_waitall_ch(nullptr, 4, sizes), -1);
        expect_refused(ACP_ERR_ARGUMENT, "requests is NULL, and count is 4");
        EXPECT_EQ(acp_waitall_ch(requests, 5, sizes), -1);
        expect_error(ACP_ERR_TRUNCATED, {"acp_waitall_ch(requests[2] ", " of channel 0x"});
        EXPECT_EQ(sizes[0], 100U);
        EXPECT_EQ(sizes[1], 0U);
        EXPECT_EQ(sizes[2], static_cast<std::size_t>(-1)) << "it was cut";
        EXPECT_EQ(sizes[3], static_cast<std::size_t>(-1));
        EXPECT_EQ(sizes[4], 100U);
    }
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

TEST_F(ChannelTest, what_was_not_received_is_dropped_by_free_and_more_than_was_sent_is_refused) {
    if (rank_ > 1 || procs_ < 2) return;
    const acp_ch_t unread = make(0, 1);
    const acp_ch_t awaited = make(0, 1);
    if (rank_ == 0) {
        for (std::uint64_t i = 0; i < 5; ++i) {
            const Buffer message = content_of(i, 90'000);
            const acp_request_t request = acp_nbsend_ch(unread, message.data(), message.size());
            const acp_request_t free = i == 4 ? acp_nbfree_ch(unread) : ACP_REQUEST_NULL;
            EXPECT_EQ(acp_wait_ch(request), 0U) << acp_error_message();
            if (free != ACP_REQUEST_NULL) {
                EXPECT_EQ(acp_wait_ch(free), 0U) << acp_error_message();
            }
        }
        EXPECT_EQ(acp_free_ch(awaited), 0) << acp_error_message();
    } else {
        EXPECT_EQ(acp_free_ch(unread), 0) << acp_error_message();
        unsigned char byte = 0;
        EXPECT_EQ(acp_recv_ch(awaited, &byte, 1), no_bytes);
        expect_refused(ACP_ERR_STALE, "the sender has freed the channel");
        std::size_t size = 5;
        EXPECT_EQ(acp_wait_ch_timeout(acp_nbrecv_ch(awaited, &byte, 1), &size, -1), ACP_ERR_STALE);
        EXPECT_EQ(size, no_bytes);
        EXPECT_EQ(acp_free_ch(awaited), 0) << acp_error_message();
    }
    EXPECT_EQ(acp_send_ch(unread, "x", 1), -1);
    expect_refused(ACP_ERR_STALE, "no such channel");
}

TEST_F(ChannelTest, channels_that_come_and_go_leave_nothing_in_the_heap) {
    if (procs_ < 2) return;
    const auto use = [&](int times) {
        for (int i = 0; i < times; ++i) {
            const acp_ch_t out = make(rank_, next());
            const acp_ch_t in = make(previous(), rank_);
            // A long message between nodes needs both ends at once, so the send does not block.
            const Buffer message = content_of(7, i % 8 == 0 ? 50'000 : 3);
            const acp_request_t send = acp_nbsend_ch(out, message.data(), message.size());
            expect_received(in, message);
            ASSERT_EQ(acp_wait_ch(send), 0U) << acp_error_message();
            acp_request_t frees[2] = {acp_nbfree_ch(out), acp_nbfree_ch(in)};
            ASSERT_EQ(acp_waitall_ch(frees, 2, nullptr), 0) << acp_error_message();
        }
    };
    const auto allocated = [&] {
        sync_ranks();
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(rank_, &stat), 0);
        sync_ranks();
        return stat.allocated;
    };
    // The map in which ends find their partners keeps some erased entries until they are reclaimed
    // (table/reclaimer.hpp).
    constexpr std::size_t kept_bytes = 64 << 10;
    use(300);
    const std::size_t before = allocated();
    allow_seconds(static_cast<unsigned>(240 + lives_of_ends() / 50));
    use(lives_of_ends());
    const std::size_t after = allocated();
    EXPECT_LT(after, before + kept_bytes) << "300 rings and 38 pipes would have 10 MiB";
    EXPECT_LT(before, 2 * kept_bytes);
}

TEST_F(ChannelTest, a_ring_between_nodes_holds_the_records_of_a_round_trip) {
    if (procs_ < 2) return;
    const auto blocks_bytes = [&] {
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(rank_, &stat), 0);
        return stat.allocated;
    };
    // The first end of two ranks may create the map in which ends find their partners.
    const acp_ch_t first = make(rank_, next());
    const acp_ch_t before_last = make(previous(), rank_);
    sync_ranks();
    const std::size_t before = blocks_bytes();
    sync_ranks();
    const acp_ch_t last = make(previous(), rank_);
    const std::size_t taken = blocks_bytes() - before;
    sync_ranks();
    constexpr std::size_t ring_bytes = 16 << 10;
    const std::size_t times = is_near(previous()) ? 1 : 4;
    EXPECT_GE(taken, times * ring_bytes);
    EXPECT_LT(taken, times * ring_bytes * 2);
    const acp_ch_t fourth = make(rank_, next());
    acp_request_t frees[4] = {acp_nbfree_ch(first), acp_nbfree_ch(before_last), acp_nbfree_ch(last),
                              acp_nbfree_ch(fourth)};
    EXPECT_EQ(acp_waitall_ch(frees, 4, nullptr), 0) << acp_error_message();
}

TEST_F(ChannelTest, long_messages_pass_while_the_senders_heap_is_full_and_after) {
    if (rank_ > 1 || procs_ < 2) return;
    const acp_ch_t channel = make(0, 1);
    if (rank_ == 1) {
        for (std::uint64_t i = 0; i < 6; ++i) expect_received(channel, content_of(i, 100'000));
    } else {
        std::vector<acp_ga_t> blocks;
        for (std::size_t bytes = 1 << 20; bytes >= 4096; bytes /= 2) {
            do {
                blocks.push_back(acp_malloc(bytes, 0));
            } while (blocks.back() != ACP_GA_NULL);
        }
        for (std::uint64_t i = 0; i < 3; ++i) expect_sent(channel, content_of(i, 100'000));
        EXPECT_EQ(acp_free_many(blocks.size(), blocks.data()), 0) << acp_error_message();
        for (std::uint64_t i = 3; i < 6; ++i) expect_sent(channel, content_of(i, 100'000));
    }
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

TEST_F(ChannelTest, threads_share_the_ends_of_a_channel) {
    if (rank_ > 1 || procs_ < 2) return;
    constexpr int threads = 3;
    constexpr std::uint64_t each = 300;
    const acp_ch_t channel = make(0, 1);
    std::atomic<std::uint64_t> sum{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < each; ++i) {
                std::uint64_t value = static_cast<std::uint64_t>(t) * each + i;
                if (rank_ == 0) {
                    EXPECT_EQ(acp_send_ch(channel, &value, sizeof value), 0) << acp_error_message();
                } else {
                    EXPECT_EQ(acp_recv_ch(channel, &value, sizeof value), sizeof value)
                        << acp_error_message();
                    sum += value;
                }
            }
        });
    }
    for (std::thread& worker : workers) worker.join();
    constexpr std::uint64_t all = threads * each;
    if (rank_ == 1) {
        EXPECT_EQ(sum.load(), all * (all - 1) / 2);
    }
    EXPECT_EQ(acp_free_ch(channel), 0);
}

TEST_F(ChannelTest, bad_arguments_are_refused) {
    EXPECT_EQ(acp_create_ch(rank_, rank_), ACP_CH_NULL);
    expect_refused(ACP_ERR_ARGUMENT, "the same rank");
    EXPECT_EQ(acp_create_ch(rank_, procs_), ACP_CH_NULL);
    expect_refused(ACP_ERR_ARGUMENT, "receiver " + std::to_string(procs_));
    EXPECT_EQ(acp_create_ch(-1, rank_), ACP_CH_NULL);
    expect_refused(ACP_ERR_ARGUMENT, "sender -1");
    if (procs_ > 2) {
        EXPECT_EQ(acp_create_ch(next(), previous()), ACP_CH_NULL);
        expect_refused(ACP_ERR_ARGUMENT, "neither");
    }
    unsigned char byte = 0;
    for (const std::uintptr_t number : {std::uintptr_t{0}, std::uintptr_t{1}, std::uintptr_t{77},
                                        ~std::uintptr_t{0}, std::uintptr_t{1} << 40}) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle that a program may hold by mistake
        const auto channel = reinterpret_cast<acp_ch_t>(number);
        EXPECT_EQ(acp_nbsend_ch(channel, &byte, 1), ACP_REQUEST_NULL);
        expect_refused(ACP_ERR_STALE, "no such channel");
        EXPECT_EQ(acp_recv_ch(channel, &byte, 1), no_bytes);
        expect_refused(ACP_ERR_STALE, "no such channel");
        EXPECT_EQ(acp_free_ch(channel), -1);
    }
    EXPECT_EQ(acp_wait_ch(ACP_REQUEST_NULL), no_bytes);
    expect_refused(ACP_ERR_STALE, "no such request");
    EXPECT_EQ(acp_waitall_ch(nullptr, 1, nullptr), -1);
    EXPECT_EQ(acp_waitall_ch(nullptr, 0, nullptr), 0);
    if (procs_ < 2 || rank_ > 1) return;
    const acp_ch_t channel = make(0, 1);
    if (rank_ == 0) {
        EXPECT_EQ(acp_recv_ch(channel, &byte, 1), no_bytes);
        expect_refused(ACP_ERR_ARGUMENT, "sender");
        EXPECT_EQ(acp_nbsend_ch(channel, nullptr, 1), ACP_REQUEST_NULL);
        expect_refused(ACP_ERR_ARGUMENT, "NULL");
        EXPECT_EQ(acp_nbsend_ch(channel, &byte, std::size_t{1} << 62), ACP_REQUEST_NULL);
        expect_refused(ACP_ERR_ARGUMENT, "2^61");
        EXPECT_EQ(acp_send_ch(channel, nullptr, 0), 0) << "nothing is a message too";
    } else {
        EXPECT_EQ(acp_send_ch(channel, &byte, 1), -1);
        expect_refused(ACP_ERR_ARGUMENT, "receiver");
        EXPECT_EQ(acp_recv_ch(channel, nullptr, 0), 0U);
    }
    const acp_request_t free = acp_nbfree_ch(channel);
    EXPECT_NE(free, ACP_REQUEST_NULL);
    EXPECT_EQ(acp_nbfree_ch(channel), ACP_REQUEST_NULL);
    expect_refused(ACP_ERR_STALE, "was freed");
    EXPECT_EQ(acp_wait_ch(free), 0U) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
