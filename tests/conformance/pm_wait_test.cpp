// SPDX-License-Identifier: BSD-3-Clause
// Ranks that exchange PM messages sleep: until a destination has room, and in poll(2) for messages
// and other descriptors at once.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <acp.h>

#include "conformance/pm_fixture.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t long_ns = 60 * second_ns;

std::int64_t cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * second_ns + now.tv_nsec;
}

void sleep_ms(int milliseconds) {
    const std::chrono::milliseconds time(milliseconds);
    std::this_thread::sleep_for(time);  // lint: sleep is the subject
}

// The time for which all threads of this process together have waited for a CPU.
std::int64_t cpu_wait_ns() {
    std::int64_t sum = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(thread.path() / "schedstat");
        std::int64_t ran_ns = 0;
        std::int64_t waited_ns = 0;
        if (file >> ran_ns >> waited_ns) sum += waited_ns;
    }
    return sum;
}

// The content of a message of these tests.
struct NumberedMessage {
    std::uint64_t number = 0;
    // Monotonic clock: all nodes of a test are on one machine, so they share it.
    std::int64_t sent_ns = 0;
};

// Whether a descriptor becomes readable within a time.
bool is_readable(int descriptor, int timeout_ms) {
    pollfd wanted{descriptor, POLLIN, 0};
    return poll(&wanted, 1, timeout_ms) == 1;
}

class PmWaitTest : public PmFixture {
protected:
    PmWaitTest() : PmFixture(5) {}

    void send_number(int to, std::uint64_t number) {
        void* buffer = nullptr;
        int has_room = acp_wait_buffer_pm(pm_, to, sizeof(NumberedMessage), &buffer, long_ns);
        // ACP_PM_RECEIVE_FIRST: messages of the test have arrived here. They are received later, so
        // this loop polls for room alone.
        while (has_room == 0 || has_room == ACP_PM_RECEIVE_FIRST)
            has_room = acp_get_buffer_pm(pm_, to, sizeof(NumberedMessage), &buffer);
        ASSERT_EQ(has_room, 1) << acp_error_message();
        const NumberedMessage message{number, now_ns()};
        std::memcpy(buffer, &message, sizeof message);
        ASSERT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
        flush();
    }

    // Takes the expected message. False: no message is there yet.
    bool try_receive(std::uint64_t expected) {
        const void* data = nullptr;
        std::size_t size = 0;
        const int has_come = acp_receive_pm(pm_, &data, &size, nullptr);
        EXPECT_GE(has_come, 0) << acp_error_message();
        if (has_come != 1) return false;
        NumberedMessage message;
        std::memcpy(&message, data, std::min(size, sizeof message));
        EXPECT_EQ(message.number, expected);
        sent_ns_ = message.sent_ns;
        EXPECT_EQ(acp_release_pm(pm_), 0);
        return true;
    }

    // Sends numbered messages to a rank until it has had no room for half a second. Returns their
    // number.
    std::uint64_t fill(int to) {
        std::uint64_t sent = 0;
        for (std::int64_t last_ns = now_ns(); now_ns() - last_ns < second_ns / 2;) {
            void* buffer = nullptr;
            const int has_room = acp_get_buffer_pm(pm_, to, 1000, &buffer);
            EXPECT_GE(has_room, 0) << acp_error_message();
            if (has_room != 1) continue;
            std::memcpy(buffer, &sent, sizeof sent);
            EXPECT_EQ(acp_send_pm(pm_), 0);
            ++sent;
            last_ns = now_ns();
        }
        return sent;
    }

    // When try_receive()'s last message was sent.
    std::int64_t sent_ns_ = 0;

    // Sleeps in poll(2) until there is a message, and takes it. Returns the number of wakeups
    // without a message.
    int poll_for(std::uint64_t expected) {
        for (int vain = 0; !HasFailure(); ++vain) {
            int descriptor = -1;
            const int may_sleep = acp_before_select_pm(pm_, &descriptor);
            EXPECT_GE(may_sleep, 0) << acp_error_message();
            if (may_sleep == 1) {
                EXPECT_TRUE(is_readable(descriptor, 60'000));
            }
            EXPECT_EQ(acp_after_select_pm(pm_), 0) << acp_error_message();
            if (try_receive(expected)) return vain;
        }
        return 0;
    }
};

TEST_F(PmWaitTest, a_sender_without_room_sleeps_until_its_destination_receives) {
    if (procs_ == 1) GTEST_SKIP() << "needs two ranks";
    const std::uint64_t sent = rank_ == 0 ? fill(1) : 0;
    const std::uint64_t all = exchange(sent)[0];
    if (rank_ == 0) {
        void* buffer = nullptr;
        EXPECT_EQ(acp_wait_buffer_pm(pm_, 1, 1000, &buffer, 0), 0);
        EXPECT_EQ(acp_wait_buffer_pm(pm_, 1, 1000, &buffer, 2'000'000), 0);
        sync_ranks();
        const std::int64_t begin_ns = cpu_ns();
        ASSERT_EQ(acp_wait_buffer_pm(pm_, 1, 1000, &buffer, long_ns), 1) << acp_error_message();
        EXPECT_LT(cpu_ns() - begin_ns, second_ns / 5) << "of CPU in half a second";
        std::memcpy(buffer, &sent, sizeof sent);
        EXPECT_EQ(acp_send_pm(pm_), 0);
        flush();
    } else {
        sync_ranks();
        if (rank_ == 1) sleep_ms(500);
        for (std::uint64_t number = 0; rank_ == 1 && number <= all && !HasFailure();) {
            EXPECT_EQ(acp_wait_pm(pm_, long_ns), 1);
            if (try_receive(number)) ++number;
        }
    }
    sync_ranks();
}

TEST_F(PmWaitTest, a_wait_of_a_sender_without_room_ends_at_a_message) {
    if (procs_ == 1) GTEST_SKIP() << "needs two ranks";
    const std::uint64_t sent = rank_ == 0 ? fill(1) : 0;
    const std::uint64_t all = exchange(sent)[0];
    void* buffer = nullptr;
    if (rank_ == 0) {
        EXPECT_EQ(acp_wait_buffer_pm(pm_, 1, 1000, &buffer, long_ns), ACP_PM_RECEIVE_FIRST);
        EXPECT_TRUE(try_receive(77));
    } else if (rank_ == 1) {
        send_number(0, 77);
    }
    sync_ranks();
    for (std::uint64_t number = 0; rank_ == 1 && number < all && !HasFailure();)
        if (try_receive(number)) ++number;
    if (rank_ == 0) flush();
    sync_ranks();
}

TEST_F(PmWaitTest, a_sender_waits_for_a_context_that_is_not_yet_open) {
    if (procs_ == 1) GTEST_SKIP() << "needs two ranks";
    acp_pm_t late = ACP_PM_NULL;
    if (rank_ != 1) late = acp_open_pm(6);
    sync_ranks();
    if (rank_ == 0) {
        void* buffer = nullptr;
        EXPECT_EQ(acp_wait_buffer_pm(late, 1, 8, &buffer, 1'000'000), 0);
        ASSERT_EQ(acp_wait_buffer_pm(late, 1, 8, &buffer, long_ns), 1) << acp_error_message();
        std::memcpy(buffer, "it is on", 8);
        EXPECT_EQ(acp_send_pm(late), 0);
        while (acp_test_sent_pm(late) == 0) {
        }
    } else if (rank_ == 1) {
        sleep_ms(100);
        late = acp_open_pm(6);
        EXPECT_EQ(acp_wait_pm(late, long_ns), 1) << acp_error_message();
        const void* data = nullptr;
        ASSERT_EQ(acp_receive_pm(late, &data, nullptr, nullptr), 1);
        EXPECT_EQ(std::memcmp(data, "it is on", 8), 0);
        EXPECT_EQ(acp_release_pm(late), 0);
    }
    sync_ranks();
    EXPECT_EQ(acp_close_pm(late), 0);
    sync_ranks();
    if (rank_ == 0) {
        void* buffer = nullptr;
        late = acp_open_pm(6);
        int has_room = 1;
        while ((has_room = acp_wait_buffer_pm(late, 1, 8, &buffer, long_ns)) == 1)
            EXPECT_EQ(acp_send_pm(late), 0);
        expect_refused(has_room, ACP_ERR_STALE, "closed its context");
        EXPECT_EQ(acp_close_pm(late), 0);
    }
    sync_ranks();
}

TEST_F(PmWaitTest, a_sleeper_in_poll_is_woken_by_each_message) {
    if (procs_ == 1) GTEST_SKIP() << "needs two ranks";
    constexpr std::uint64_t rounds = 300;
    // The sleep ends by its timer after 2 s: a message that fails to wake the sleeper would be
    // received that much later, not counting times in which threads here waited for a CPU.
    std::int64_t latest_ns = 0;
    Random random(static_cast<std::uint64_t>(rank_) + 1);
    for (std::uint64_t i = 0; i < rounds && rank_ < 2 && !HasFailure(); ++i) {
        if (rank_ == 0) {
            if (random.chance(20)) sleep_ms(1);
            send_number(1, i);
        }
        const std::int64_t waited_ns = cpu_wait_ns();
        (void)poll_for(i);
        const std::int64_t late_ns = now_ns() - sent_ns_ - (cpu_wait_ns() - waited_ns);
        latest_ns = std::max(latest_ns, late_ns);
        if (rank_ == 1) send_number(0, i);
    }
    EXPECT_LT(latest_ns, 3 * second_ns / 2);
    RecordProperty("latest_us", static_cast<int>(latest_ns / 1000));
    sync_ranks();
}

TEST_F(PmWaitTest, a_sleeper_in_poll_uses_no_cpu_and_is_woken_by_other_descriptors) {
    std::array<int, 2> pipe_ends{-1, -1};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    int descriptor = -1;
    int again = -1;
    // Works until no operation is in flight.
    while (acp_before_select_pm(pm_, &descriptor) == 0) EXPECT_EQ(acp_after_select_pm(pm_), 0);
    std::array<pollfd, 2> wanted{pollfd{descriptor, POLLIN, 0}, pollfd{pipe_ends[0], POLLIN, 0}};
    (void)poll(wanted.data(), wanted.size(), 500);
    const std::int64_t begin_ns = cpu_ns();
    (void)poll(wanted.data(), wanted.size(), 1000);
    EXPECT_LT(cpu_ns() - begin_ns, second_ns / 50) << "of CPU in a second";
    ASSERT_EQ(write(pipe_ends[1], "x", 1), 1);
    ASSERT_GE(poll(wanted.data(), wanted.size(), 60'000), 1);
    EXPECT_EQ(wanted[1].revents, POLLIN);
    EXPECT_EQ(acp_after_select_pm(pm_), 0);
    EXPECT_GE(acp_before_select_pm(pm_, &again), 0);
    EXPECT_EQ(again, descriptor);
    EXPECT_EQ(acp_after_select_pm(pm_), 0);
    EXPECT_EQ(close(pipe_ends[0]) + close(pipe_ends[1]), 0);
    sync_ranks();
}

TEST_F(PmWaitTest, a_descriptor_that_the_program_has_closed_is_made_anew_once) {
    for (int round = 0; round < 5; ++round) {
        int descriptor = -1;
        ASSERT_GE(acp_before_select_pm(pm_, &descriptor), 0);
        EXPECT_EQ(acp_after_select_pm(pm_), 0);
        ASSERT_EQ(close(descriptor), 0);
        for (int again = 0; again < 3; ++again) {
            int other = -1;
            ASSERT_GE(acp_before_select_pm(pm_, &other), 0);
            if (again == 0) descriptor = other;
            EXPECT_EQ(other, descriptor);
            pollfd wanted{other, POLLIN, 0};
            EXPECT_GE(poll(&wanted, 1, 0), 0);
            EXPECT_EQ(wanted.revents & POLLNVAL, 0);
            EXPECT_EQ(acp_after_select_pm(pm_), 0);
        }
    }
    sync_ranks();
}

TEST_F(PmWaitTest, a_message_that_has_arrived_prevents_the_sleep) {
    send_number(rank_, 5);
    int descriptor = -1;
    while (acp_before_select_pm(pm_, &descriptor) == 1) {
        EXPECT_TRUE(is_readable(descriptor, 60'000));
    }
    EXPECT_TRUE(is_readable(descriptor, 0))
        << "the descriptor is readable also for a thread that sleeps in the library";
    EXPECT_EQ(acp_after_select_pm(pm_), 0);
    EXPECT_FALSE(is_readable(descriptor, 0));
    EXPECT_TRUE(try_receive(5));
}

TEST_F(PmWaitTest, wrong_calls_are_refused) {
    void* buffer = nullptr;
    int descriptor = -1;
    expect_refused(acp_wait_buffer_pm(pm_, procs_, 8, &buffer, 0), ACP_ERR_ARGUMENT, "rank");
    expect_refused(acp_wait_buffer_pm(pm_, -1, 8, &buffer, -1), ACP_ERR_ARGUMENT, "rank -1");
    expect_refused(acp_wait_buffer_pm(pm_, 0, ACP_PM_MESSAGE_BYTES + 1, &buffer, 0),
                   ACP_ERR_ARGUMENT, "size 8193 is more");
    expect_refused(acp_wait_buffer_pm(pm_, 0, 8, nullptr, 0), ACP_ERR_ARGUMENT, "buffer is NULL");
    expect_refused(acp_wait_buffer_pm(ACP_PM_NULL, 0, 8, &buffer, 0), ACP_ERR_STALE,
                   "no such context");
    expect_refused(acp_before_select_pm(pm_, nullptr), ACP_ERR_ARGUMENT, "descriptor is NULL");
    expect_refused(acp_before_select_pm(ACP_PM_NULL, &descriptor), ACP_ERR_STALE,
                   "no such context");
    expect_refused(acp_after_select_pm(ACP_PM_NULL), ACP_ERR_STALE, "no such context");
    EXPECT_EQ(acp_after_select_pm(pm_), 0) << "before any sleep";
    ASSERT_EQ(acp_wait_buffer_pm(pm_, rank_, 8, &buffer, long_ns), 1);
    expect_refused(acp_wait_buffer_pm(pm_, rank_, 8, &buffer, 0), ACP_ERR_STATE, "composed");
    EXPECT_EQ(acp_send_pm(pm_), 0);
    ASSERT_EQ(acp_wait_pm(pm_, long_ns), 1);
    const void* data = nullptr;
    ASSERT_EQ(acp_receive_pm(pm_, &data, nullptr, nullptr), 1);
    expect_refused(acp_before_select_pm(pm_, &descriptor), ACP_ERR_STATE, "held");
    EXPECT_EQ(acp_release_pm(pm_), 0);
}

TEST_F(PmWaitTest, a_wait_for_room_ends_when_the_rank_closes_and_opens_its_context) {
    if (procs_ < 2 || rank_ > 1) return;
    if (rank_ == 1) {
        for (int i = 0; i < 3000; ++i) {
            ASSERT_EQ(acp_close_pm(pm_), 0) << acp_error_message();
            pm_ = acp_open_pm(number_);
            ASSERT_NE(pm_, ACP_PM_NULL) << acp_error_message();
        }
        send_number(0, 1);
        return;
    }
    for (int has_room = 1; has_room != ACP_PM_RECEIVE_FIRST;) {
        void* buffer = nullptr;
        has_room = acp_wait_buffer_pm(pm_, 1, 1000, &buffer, -1);
        ASSERT_NE(has_room, 0) << "the time is over";
        if (has_room == 1) {
            ASSERT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
        } else if (has_room == -1) {
            ASSERT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
        }
    }
    while (!try_receive(1)) {
    }
}

}  // namespace
}  // namespace acp::test
