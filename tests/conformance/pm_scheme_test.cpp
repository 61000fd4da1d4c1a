// SPDX-License-Identifier: BSD-3-Clause
// PM messages by the scheme of paper 001 between all ranks of a job: the same calls, and the same
// messages.
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <acp.h>

#include "conformance/pm_fixture.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

class PmSchemeTest : public PmFixture {
protected:
    // Each test uses a context number of its own.
    PmSchemeTest() : PmFixture(next_number_++, ACP_PM_PER_PEER) {}

    static std::size_t size_of(int from, int to, std::uint64_t number) {
        Random random(static_cast<std::uint64_t>(from * 1000 + to) * 10'007 + number);
        return random.chance(50) ? 8 + random.below(64)
                                 : 8 + random.below(ACP_PM_MESSAGE_BYTES - 7);
    }

    static char letter_of(int from, int to, std::uint64_t number) {
        return static_cast<char>('a' +
                                 (static_cast<std::uint64_t>(from * 7 + to * 3) + number) % 26);
    }

    bool try_send(int to, std::uint64_t number) {
        const std::size_t size = size_of(rank_, to, number);
        void* buffer = nullptr;
        const int has_room = acp_get_buffer_pm(pm_, to, size, &buffer);
        EXPECT_GE(has_room, 0) << acp_error_message();
        if (has_room != 1) return false;
        std::memset(buffer, letter_of(rank_, to, number), size);
        EXPECT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
        return true;
    }

    bool try_receive(std::vector<std::uint64_t>& numbers) {
        const void* data = nullptr;
        std::size_t size = 0;
        int from = -1;
        const int has_come = acp_receive_pm(pm_, &data, &size, &from);
        EXPECT_GE(has_come, 0) << acp_error_message();
        if (has_come != 1) return false;
        const std::uint64_t number = numbers[static_cast<std::size_t>(from)]++;
        EXPECT_EQ(size, size_of(from, rank_, number)) << "message " << number << " of " << from;
        const std::string expected(size, letter_of(from, rank_, number));
        EXPECT_EQ(std::memcmp(data, expected.data(), size), 0);
        EXPECT_EQ(acp_release_pm(pm_), 0) << acp_error_message();
        return true;
    }

    static inline int next_number_ = 8;
};

TEST_F(PmSchemeTest, messages_of_all_ranks_arrive_whole_and_in_order) {
    constexpr std::uint64_t count = 300;
    const auto ranks = static_cast<std::size_t>(procs_);
    std::vector<std::uint64_t> sent(ranks);
    std::vector<std::uint64_t> received(ranks);
    Random random(static_cast<std::uint64_t>(rank_) + 1);
    std::uint64_t to_send = count * ranks;
    std::uint64_t to_receive = count * ranks;
    while (to_send + to_receive > 0 && !HasFailure()) {
        const auto to = random.below(ranks);
        if (sent[to] < count && try_send(static_cast<int>(to), sent[to])) {
            ++sent[to];
            --to_send;
        }
        while (try_receive(received)) {
            ASSERT_GT(to_receive, 0U);
            --to_receive;
        }
        if (to_send == 0) (void)acp_wait_pm(pm_, 1'000'000);
    }
    flush();
}

TEST_F(PmSchemeTest, a_sender_waits_for_room_and_its_wait_ends_at_messages) {
    std::vector<std::uint64_t> received(static_cast<std::size_t>(procs_));
    const int to = (rank_ + 1) % procs_;
    const auto from = static_cast<std::size_t>((rank_ + procs_ - 1) % procs_);
    constexpr std::uint64_t count = 200;
    void* buffer = nullptr;
    EXPECT_EQ(acp_wait_pm(pm_, 0), 0);
    sync_ranks();
    for (std::uint64_t number = 0; number < count && !HasFailure();) {
        const std::size_t size = size_of(rank_, to, number);
        const int has_room = acp_wait_buffer_pm(pm_, to, size, &buffer, 60 * second_ns);
        if (has_room == ACP_PM_RECEIVE_FIRST) {
            EXPECT_TRUE(try_receive(received));
            continue;
        }
        ASSERT_EQ(has_room, 1) << acp_error_message();
        std::memset(buffer, letter_of(rank_, to, number), size);
        EXPECT_EQ(acp_send_pm(pm_), 0);
        ++number;
    }
    while (received[from] < count && !HasFailure()) {
        EXPECT_EQ(acp_wait_pm(pm_, 60 * second_ns), 1);
        (void)try_receive(received);
    }
    flush();
}

// A sender on another node is not notified of the close: it has room until the buffer there is
// full.
TEST_F(PmSchemeTest, a_close_is_reported_on_the_node_and_leaves_no_room_elsewhere) {
    if (procs_ == 1) GTEST_SKIP() << "needs two ranks";
    const int closed = procs_ - 1;
    while (rank_ != closed && !try_send(closed, 0) && !HasFailure()) {
    }
    flush();
    sync_ranks();
    if (rank_ == closed) {
        EXPECT_EQ(acp_close_pm(pm_), 0) << acp_error_message();
        pm_ = ACP_PM_NULL;
    }
    sync_ranks();
    if (rank_ != closed) {
        void* buffer = nullptr;
        if (acp_query_address(acp_query_starter_ga(closed)) != nullptr) {
            expect_refused(acp_get_buffer_pm(pm_, closed, 8, &buffer), ACP_ERR_STALE,
                           "closed its context");
        } else {
            std::uint64_t sent = 0;
            while (acp_get_buffer_pm(pm_, closed, 1000, &buffer) == 1 && sent < 100) {
                std::memset(buffer, 'x', 1000);
                EXPECT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
                flush();
                ++sent;
            }
            EXPECT_LT(sent, 33U) << "messages of 1000 bytes for a buffer of 32 KiB";
            EXPECT_EQ(acp_wait_buffer_pm(pm_, closed, 1000, &buffer, 1'000'000), 0)
                << acp_error_message();
        }
        // Ranks whose contexts are open still exchange messages.
        std::vector<std::uint64_t> received(static_cast<std::size_t>(procs_));
        EXPECT_TRUE(try_send(rank_, 0));
        while (!try_receive(received) && !HasFailure()) {
        }
    }
    sync_ranks();
}

TEST_F(PmSchemeTest, wrong_calls_are_refused) {
    void* buffer = nullptr;
    const void* data = nullptr;
    int descriptor = -1;
    expect_refused(acp_get_buffer_pm(pm_, procs_, 8, &buffer), ACP_ERR_ARGUMENT, "rank");
    expect_refused(acp_get_buffer_pm(pm_, 0, ACP_PM_MESSAGE_BYTES + 1, &buffer), ACP_ERR_ARGUMENT,
                   "size 8193 is more");
    expect_refused(acp_get_buffer_pm(pm_, 0, 8, nullptr), ACP_ERR_ARGUMENT, "buffer is NULL");
    expect_refused(acp_send_pm(pm_), ACP_ERR_STATE, "no message");
    expect_refused(acp_truncate_pm(pm_, 1), ACP_ERR_STATE, "no message");
    expect_refused(acp_release_pm(pm_), ACP_ERR_STATE, "no message");
    expect_refused(acp_receive_pm(pm_, nullptr, nullptr, nullptr), ACP_ERR_ARGUMENT, "NULL");
    expect_refused(acp_before_select_pm(pm_, &descriptor), ACP_ERR_UNSUPPORTED, "paper");
    ASSERT_EQ(acp_wait_buffer_pm(pm_, rank_, 8, &buffer, -1), 1) << acp_error_message();
    expect_refused(acp_get_buffer_pm(pm_, rank_, 8, &buffer), ACP_ERR_STATE, "composed");
    expect_refused(acp_truncate_pm(pm_, 9), ACP_ERR_ARGUMENT, "9");
    EXPECT_EQ(acp_truncate_pm(pm_, 0), 0);
    EXPECT_EQ(acp_send_pm(pm_), 0);
    std::size_t size = 7;
    ASSERT_EQ(acp_wait_pm(pm_, -1), 1);
    ASSERT_EQ(acp_receive_pm(pm_, &data, &size, nullptr), 1);
    EXPECT_EQ(size, 0U);
    expect_refused(acp_receive_pm(pm_, &data, &size, nullptr), ACP_ERR_STATE, "held");
    expect_refused(acp_before_select_pm(pm_, &descriptor), ACP_ERR_STATE, "held");
    EXPECT_EQ(acp_release_pm(pm_), 0);
    EXPECT_EQ(acp_open_pm_scheme(number_, ACP_PM_PER_PEER), ACP_PM_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
    EXPECT_EQ(acp_open_pm_scheme(15, 2), ACP_PM_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    EXPECT_EQ(acp_open_pm_scheme(-1, ACP_PM_PER_PEER), ACP_PM_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    EXPECT_EQ(acp_open_pm(8), ACP_PM_NULL) << "it was open by this scheme before";
    EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
}

}  // namespace
}  // namespace acp::test
