// SPDX-License-Identifier: BSD-3-Clause
// PM messages between all ranks of a job, on one node and over several.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "conformance/pm_fixture.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

class PmTest : public PmFixture {
protected:
    PmTest() : PmFixture(3) {}

    // Sends a message whose length and content follow from its number. False: there was no room.
    bool try_send(int to, std::uint64_t number, std::size_t bytes_max) {
        Random random = content_of(rank_, to, number);
        const std::size_t size = random.below(bytes_max + 1);
        const std::size_t got =
            std::min<std::size_t>(size + random.below(64), ACP_PM_MESSAGE_BYTES);
        void* buffer = nullptr;
        const int has_room = acp_get_buffer_pm(pm_, to, got, &buffer);
        EXPECT_GE(has_room, 0) << acp_error_message();
        if (has_room != 1) return false;
        fill(static_cast<char*>(buffer), size, random);
        EXPECT_EQ(acp_truncate_pm(pm_, size), 0) << acp_error_message();
        EXPECT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
        return true;
    }

    // Receives a message, if there is one, and checks it.
    //   numbers  for each rank, the number of its next message
    bool try_receive(std::vector<std::uint64_t>& numbers, std::size_t bytes_max) {
        const void* data = nullptr;
        std::size_t size = 0;
        int source = -1;
        const int has_come = acp_receive_pm(pm_, &data, &size, &source);
        EXPECT_GE(has_come, 0) << acp_error_message();
        if (has_come != 1) return false;
        Random random = content_of(source, rank_, numbers[static_cast<std::size_t>(source)]++);
        const std::size_t expected = random.below(bytes_max + 1);
        (void)random.below(64);
        EXPECT_EQ(size, expected) << "from rank " << source;
        std::vector<char> content(expected);
        fill(content.data(), expected, random);
        EXPECT_EQ(std::memcmp(content.data(), data, std::min(size, expected)), 0)
            << "from rank " << source;
        EXPECT_EQ(acp_release_pm(pm_), 0) << acp_error_message();
        return true;
    }

    // Each rank sends `count` messages to each rank, itself included, in random order, and receives
    // all messages for it.
    void exchange_all(std::uint64_t count, std::size_t bytes_max) {
        const auto ranks = static_cast<std::size_t>(procs_);
        std::vector<std::uint64_t> sent(ranks);
        std::vector<std::uint64_t> received(ranks);
        Random random(static_cast<std::uint64_t>(rank_) + 1);
        std::uint64_t left_to_send = count * ranks;
        std::uint64_t left_to_receive = count * ranks;
        while (left_to_send + left_to_receive > 0 && !HasFailure()) {
            bool has_moved = false;
            const auto to = random.below(ranks);
            if (sent[to] < count && try_send(static_cast<int>(to), sent[to], bytes_max)) {
                ++sent[to];
                --left_to_send;
                has_moved = true;
            }
            while (try_receive(received, bytes_max)) {
                ASSERT_GT(left_to_receive, 0U);
                --left_to_receive;
                has_moved = true;
            }
            if (!has_moved && left_to_send == 0) (void)acp_wait_pm(pm_, second_ns / 100);
        }
        flush();
        for (std::size_t from = 0; from < ranks; ++from) EXPECT_EQ(received[from], count) << from;
    }

private:
    static Random content_of(int from, int to, std::uint64_t number) {
        return Random(static_cast<std::uint64_t>(from) * 1'000'003 +
                      static_cast<std::uint64_t>(to) * 10'007 + number);
    }

    static void fill(char* into, std::size_t size, Random& random) {
        for (std::size_t i = 0; i < size; i += 8) {
            const std::uint64_t word = random.next();
            std::memcpy(into + i, &word, std::min<std::size_t>(8, size - i));
        }
    }
};

TEST_F(PmTest, short_messages_of_all_ranks_arrive_in_order_once_each) {
    exchange_all(2000, 100);
}

TEST_F(PmTest, messages_of_any_length_arrive_whole) {
    exchange_all(200, ACP_PM_MESSAGE_BYTES);
}

TEST_F(PmTest, a_wait_ends_with_a_message_or_with_its_time) {
    EXPECT_EQ(acp_wait_pm(pm_, 1'000'000), 0);
    sync_ranks();
    const int to = (rank_ + 1) % procs_;
    for (std::uint64_t number = 0; number < 50; ++number) {
        while (!try_send(to, number, 100)) {
        }
        flush();
        EXPECT_EQ(acp_wait_pm(pm_, 60 * second_ns), 1) << acp_error_message();
        std::vector<std::uint64_t> numbers(static_cast<std::size_t>(procs_), number);
        EXPECT_TRUE(try_receive(numbers, 100));
    }
}

TEST_F(PmTest, a_full_destination_has_no_room_until_it_receives) {
    const int to = (rank_ + 1) % procs_;
    std::uint64_t sent = 0;
    // Sends until there was no room for half a second: returned credits of another node arrive
    // within that time.
    for (std::int64_t last_ns = now_ns(); now_ns() - last_ns < second_ns / 2;) {
        if (!try_send(to, sent, 1000)) continue;
        ++sent;
        last_ns = now_ns();
    }
    EXPECT_GT(sent, 20U);
    EXPECT_LT(sent, 2000U);
    const std::vector<std::uint64_t> all = exchange(sent);
    const int from = (rank_ + procs_ - 1) % procs_;
    std::vector<std::uint64_t> received(static_cast<std::size_t>(procs_));
    while (received[static_cast<std::size_t>(from)] < all[static_cast<std::size_t>(from)] &&
           !HasFailure())
        (void)try_receive(received, 1000);
    flush();
    while (!try_send(to, sent, 1000) && !HasFailure()) {
    }
    flush();
    sync_ranks();
    EXPECT_EQ(acp_wait_pm(pm_, 60 * second_ns), 1) << "there was room again";
    EXPECT_TRUE(try_receive(received, 1000));
}

TEST_F(PmTest, a_message_without_receiver_is_sent_also_if_its_sender_polls_rarely) {
    while (!try_send((rank_ + 1) % procs_, 0, 100)) {
    }
    const std::int64_t begin_ns = now_ns();
    while (acp_test_sent_pm(pm_) == 0 && now_ns() - begin_ns < 10 * second_ns)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // lint: sleep is the subject
    EXPECT_EQ(acp_test_sent_pm(pm_), 1) << "a send completes without a receiver";
    sync_ranks();
    std::vector<std::uint64_t> received(static_cast<std::size_t>(procs_));
    EXPECT_EQ(acp_wait_pm(pm_, 60 * second_ns), 1);
    EXPECT_TRUE(try_receive(received, 100));
}

TEST_F(PmTest, contexts_are_apart) {
    acp_pm_t other = acp_open_pm(4);
    ASSERT_NE(other, ACP_PM_NULL) << acp_error_message();
    sync_ranks();
    void* buffer = nullptr;
    while (acp_get_buffer_pm(other, (rank_ + 1) % procs_, 4, &buffer) == 0) {
    }
    std::memcpy(buffer, "four", 4);
    ASSERT_EQ(acp_send_pm(other), 0);
    EXPECT_EQ(acp_wait_pm(other, 60 * second_ns), 1);
    const void* data = nullptr;
    std::size_t size = 0;
    EXPECT_EQ(acp_receive_pm(pm_, &data, &size, nullptr), 0) << "of another context";
    int source = -1;
    ASSERT_EQ(acp_receive_pm(other, &data, &size, &source), 1);
    EXPECT_EQ(std::string(static_cast<const char*>(data), size), "four");
    EXPECT_EQ(source, (rank_ + procs_ - 1) % procs_);
    EXPECT_EQ(acp_release_pm(other), 0);
    while (acp_test_sent_pm(other) == 0) {
    }
    sync_ranks();
    EXPECT_EQ(acp_close_pm(other), 0);
}

TEST_F(PmTest, a_context_that_is_opened_again_is_a_new_one) {
    const int to = (rank_ + 1) % procs_;
    while (!try_send(to, 0, 100)) {
    }
    flush();
    sync_ranks();
    const acp_pm_t old = pm_;
    EXPECT_EQ(acp_close_pm(pm_), 0);
    expect_refused(acp_send_pm(old), ACP_ERR_STALE, "no such context");
    expect_refused(acp_send_pm(old), ACP_ERR_STALE,
                   "acp_send_pm(context " + std::to_string(number_) + ") by rank ");
    sync_ranks();
    pm_ = acp_open_pm(3);
    ASSERT_NE(pm_, ACP_PM_NULL) << acp_error_message();
    EXPECT_NE(pm_, old);
    sync_ranks();
    const void* data = nullptr;
    EXPECT_EQ(acp_receive_pm(pm_, &data, nullptr, nullptr), 0) << "a message sent before the close";
    sync_ranks();
    exchange_all(100, 100);
}

// Ranks send to the last rank, at most a given number of messages or as many as it has room for;
// then it closes its context, and the senders are refused. Messages sent before the close are not
// received by the reopened context.
class PmCloseTest : public PmTest, public ::testing::WithParamInterface<std::uint64_t> {
protected:
    void send_before() {
        std::uint64_t sent = 0;
        for (std::int64_t last_ns = now_ns();
             sent < GetParam() && now_ns() - last_ns < second_ns / 4;) {
            if (!try_send(closer_, sent, 100)) continue;
            ++sent;
            last_ns = now_ns();
        }
        EXPECT_GT(sent, 0U);
        flush();
    }

    void reopen() {
        if (rank_ == closer_) {
            pm_ = acp_open_pm(3);
            ASSERT_NE(pm_, ACP_PM_NULL) << acp_error_message();
        }
        sync_ranks();
    }

    void expect_nothing() {
        for (const std::int64_t begin_ns = now_ns(); now_ns() - begin_ns < second_ns / 4;) {
            const void* data = nullptr;
            ASSERT_EQ(acp_receive_pm(pm_, &data, nullptr, nullptr), 0)
                << "a message sent before the close";
        }
        sync_ranks();
    }

    // A message that was composed before the close and sent after it may arrive or be dropped; no
    // other message arrives.
    void expect_composed_or_nothing() {
        for (const std::int64_t begin_ns = now_ns(); now_ns() - begin_ns < second_ns / 4;) {
            const void* data = nullptr;
            std::size_t size = 0;
            const int has_come = acp_receive_pm(pm_, &data, &size, nullptr);
            ASSERT_GE(has_come, 0) << acp_error_message();
            if (has_come == 0) continue;
            EXPECT_EQ(std::string(static_cast<const char*>(data), size), "composed");
            EXPECT_EQ(acp_release_pm(pm_), 0);
        }
        sync_ranks();
    }

    void close() {
        sync_ranks();
        if (rank_ == closer_) {
            EXPECT_EQ(acp_close_pm(pm_), 0) << acp_error_message();
        }
        sync_ranks();
    }

    // Sends until a call is refused, and returns the number of messages sent.
    std::uint64_t send_until_refused() {
        std::uint64_t sent = 0;
        void* buffer = nullptr;
        for (const std::int64_t begin_ns = now_ns(); now_ns() - begin_ns < 20 * second_ns;) {
            const int has_room = acp_get_buffer_pm(pm_, closer_, 8, &buffer);
            if (has_room < 0) {
                expect_refused(has_room, ACP_ERR_STALE,
                               "rank " + std::to_string(closer_) + ", has closed its context");
                return sent;
            }
            if (has_room == 0) continue;
            EXPECT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
            ++sent;
        }
        ADD_FAILURE() << "no error after " << sent << " messages";
        return sent;
    }

    // Each other rank sends one message. Ranks of other nodes may be refused until they learn that
    // the context is open again.
    void send_to_reopened() {
        void* buffer = nullptr;
        for (int has_room = 0; rank_ != closer_ && has_room != 1 && !HasFailure();) {
            has_room = acp_get_buffer_pm(pm_, closer_, 8, &buffer);
            if (has_room < 0) expect_refused(has_room, ACP_ERR_STALE, "closed its context");
            if (has_room == 1) {
                EXPECT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
            }
        }
        flush();
        for (int i = 0; rank_ == closer_ && i < procs_ - 1; ++i) {
            const void* data = nullptr;
            ASSERT_EQ(acp_wait_pm(pm_, 60 * second_ns), 1);
            ASSERT_EQ(acp_receive_pm(pm_, &data, nullptr, nullptr), 1) << acp_error_message();
            EXPECT_EQ(acp_release_pm(pm_), 0);
        }
        sync_ranks();
    }

    const int closer_ = procs_ - 1;
};

TEST_P(PmCloseTest, is_reported_to_senders_and_drops_their_messages) {
    if (procs_ == 1) GTEST_SKIP() << "a rank cannot send by a context that it has closed";
    if (rank_ != closer_) send_before();
    close();
    if (rank_ != closer_) {
        // Ranks of other nodes learn of the close by the answer to the first of these messages.
        EXPECT_LE(send_until_refused(), 16U);
        flush();
    }
    sync_ranks();
    reopen();
    expect_nothing();
    send_to_reopened();
    exchange_all(100, 100);
}

TEST_P(PmCloseTest, and_opening_again_drop_what_was_sent_and_a_message_may_be_out) {
    if (procs_ == 1) GTEST_SKIP() << "a rank cannot send by a context that it has closed";
    void* buffer = nullptr;
    if (rank_ != closer_) {
        send_before();
        if (GetParam() == 1) {
            while (acp_get_buffer_pm(pm_, closer_, 8, &buffer) == 0) {
            }
        }
    }
    close();
    reopen();
    expect_nothing();
    if (buffer != nullptr) {
        std::memcpy(buffer, "composed", 8);
        EXPECT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
    }
    flush();
    sync_ranks();
    expect_composed_or_nothing();
    exchange_all(100, 100);
}

INSTANTIATE_TEST_SUITE_P(one_and_many,
                         PmCloseTest,
                         ::testing::Values(std::uint64_t{1}, std::uint64_t{2000}));

TEST_F(PmTest, wrong_calls_are_refused) {
    void* buffer = nullptr;
    const void* data = nullptr;
    expect_refused(acp_get_buffer_pm(pm_, procs_, 8, &buffer), ACP_ERR_ARGUMENT, "rank");
    expect_refused(acp_get_buffer_pm(pm_, -1, 8, &buffer), ACP_ERR_ARGUMENT, "rank -1");
    expect_refused(acp_get_buffer_pm(pm_, 0, ACP_PM_MESSAGE_BYTES + 1, &buffer), ACP_ERR_ARGUMENT,
                   "size 8193 is more");
    expect_refused(acp_get_buffer_pm(pm_, 0, 8, nullptr), ACP_ERR_ARGUMENT, "buffer is NULL");
    expect_refused(acp_get_buffer_pm(ACP_PM_NULL, 0, 8, &buffer), ACP_ERR_STALE,
                   "acp_get_buffer_pm(ACP_PM_NULL) by rank ");
    const auto no_handle = reinterpret_cast<acp_pm_t>(std::uintptr_t{0x7ff});
    expect_refused(acp_send_pm(no_handle), ACP_ERR_STALE, "acp_send_pm(handle 0x7ff) by rank ");
    expect_refused(acp_send_pm(pm_), ACP_ERR_STATE, "no message");
    expect_refused(acp_truncate_pm(pm_, 1), ACP_ERR_STATE, "no message");
    expect_refused(acp_release_pm(pm_), ACP_ERR_STATE, "no message");
    expect_refused(acp_receive_pm(pm_, nullptr, nullptr, nullptr), ACP_ERR_ARGUMENT, "NULL");
    EXPECT_EQ(acp_open_pm(3), ACP_PM_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
    EXPECT_EQ(acp_open_pm(ACP_PM_CONTEXTS), ACP_PM_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    sync_ranks();
    while (acp_get_buffer_pm(pm_, rank_, 8, &buffer) == 0) {
    }
    expect_refused(acp_get_buffer_pm(pm_, rank_, 8, &buffer), ACP_ERR_STATE, "composed");
    expect_refused(acp_truncate_pm(pm_, 9), ACP_ERR_ARGUMENT, "9");
    EXPECT_EQ(acp_truncate_pm(pm_, 0), 0);
    EXPECT_EQ(acp_send_pm(pm_), 0);
    std::size_t size = 7;
    ASSERT_EQ(acp_wait_pm(pm_, 60 * second_ns), 1);
    ASSERT_EQ(acp_receive_pm(pm_, &data, &size, nullptr), 1);
    EXPECT_EQ(size, 0U);
    expect_refused(acp_receive_pm(pm_, &data, &size, nullptr), ACP_ERR_STATE, "held");
    EXPECT_EQ(acp_release_pm(pm_), 0);
}

}  // namespace
}  // namespace acp::test
