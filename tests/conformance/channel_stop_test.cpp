// SPDX-License-Identifier: BSD-3-Clause
// Channels whose partner is stopped: only requests that need that rank are delayed.
#include <csignal>
#include <cstdint>
#include <numeric>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "conformance/channel_life_fixture.hpp"
#include "support/nodes.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

class StoppedPartnerTest : public ChannelLifeTest {
protected:
    void SetUp() override {
        ChannelLifeTest::SetUp();
        pids_ = exchange(static_cast<std::uint64_t>(getpid()));
    }

    // Call on rank 0: runs body() while rank 1 is stopped.
    template <typename Body>
    void with_rank_1_stopped(const Body& body) {
        const auto pid = static_cast<pid_t>(pids_[1]);
        ASSERT_EQ(kill(pid, SIGSTOP), 0);
        body();
        ASSERT_EQ(kill(pid, SIGCONT), 0);
    }

    static constexpr std::int64_t moment_ns = 20'000'000;
    std::vector<std::uint64_t> pids_;
};

// The last rank has a channel with rank 0 only, and keeps running. A stopped rank on a node of its
// own answers no request, since it is its own gateway: there rank 0 cannot make an end whose
// receiver is rank 1.
TEST_F(StoppedPartnerTest, delays_only_its_own_requests_at_creation_sending_and_freeing) {
    if (procs_ < 2) return;
    constexpr int messages = 100;
    const int last = procs_ - 1;
    const std::vector<char> message(300'000, 's');
    acp_ch_t made_before = ACP_CH_NULL;
    if (is_of_two()) {
        made_before = make();
        pass(made_before, 1);
    }
    acp_ch_t other = ACP_CH_NULL;
    if (last > 1 && (rank_ == 0 || rank_ == last)) other = acp_create_ch(0, last);
    sync_ranks();
    const bool is_sender = !has_own_gateways();
    if (rank_ == 0) {
        std::vector<acp_request_t> requests;
        acp_request_t long_one = ACP_REQUEST_NULL;
        acp_request_t free = ACP_REQUEST_NULL;
        acp_ch_t made_meanwhile = ACP_CH_NULL;
        with_rank_1_stopped([&] {
            made_meanwhile = make(is_sender ? 0 : 1);
            for (int i = 0; i < messages; ++i)
                requests.push_back(acp_nbsend_ch(made_before, &message[0], 8));
            long_one = acp_nbsend_ch(made_before, message.data(), message.size());
            free = acp_nbfree_ch(made_before);
            EXPECT_EQ(acp_wait_ch_timeout(long_one, nullptr, moment_ns), ACP_ERR_TIMEOUT);
            EXPECT_EQ(acp_wait_ch_timeout(free, nullptr, moment_ns), ACP_ERR_TIMEOUT);
            if (last > 1) {
                for (int i = 0; i < messages; ++i)
                    EXPECT_EQ(acp_send_ch(other, &i, sizeof i), 0) << acp_error_message();
            }
        });
        EXPECT_EQ(acp_waitall_ch(requests.data(), messages, nullptr), 0) << acp_error_message();
        EXPECT_EQ(acp_wait_ch(long_one), 0U) << acp_error_message();
        EXPECT_EQ(acp_wait_ch(free), 0U) << acp_error_message();
        pass(made_meanwhile, 3, is_sender ? 0 : 1);
        EXPECT_EQ(acp_free_ch(made_meanwhile), 0) << acp_error_message();
    }
    if (rank_ == last && last > 1) {
        for (int i = 0; i < messages; ++i) {
            int number = -1;
            ASSERT_EQ(acp_recv_ch(other, &number, sizeof number), sizeof number);
            ASSERT_EQ(number, i);
        }
    }
    if (rank_ == 1) {
        std::vector<char> room(message.size());
        for (int i = 0; i < messages; ++i)
            EXPECT_EQ(acp_recv_ch(made_before, room.data(), room.size()), 8U);
        EXPECT_EQ(acp_recv_ch(made_before, room.data(), room.size()), room.size());
        EXPECT_EQ(room, message);
        EXPECT_EQ(acp_free_ch(made_before), 0) << acp_error_message();
        const acp_ch_t met = make(is_sender ? 0 : 1);
        pass(met, 3, is_sender ? 0 : 1);
        EXPECT_EQ(acp_free_ch(met), 0) << acp_error_message();
    }
    if (other != ACP_CH_NULL) {
        EXPECT_EQ(acp_free_ch(other), 0) << acp_error_message();
    }
}

// Rank 0 has more messages in flight to and from the stopped rank than the ring has credits, and
// exchanges messages with the last rank at the same time.
TEST_F(StoppedPartnerTest, delays_no_message_between_others) {
    if (procs_ < 3) return;
    constexpr int rounds = 1000;
    constexpr std::int64_t full_ns = 200'000'000;
    constexpr std::int64_t limit_ns = 5'000'000'000;
    const int last = procs_ - 1;
    acp_ch_t there = ACP_CH_NULL;
    acp_ch_t back = ACP_CH_NULL;
    acp_ch_t ping = ACP_CH_NULL;
    acp_ch_t pong = ACP_CH_NULL;
    if (is_of_two()) {
        there = make();
        back = make(1);
        pass(there, 1);
        pass(back, 2, 1);
    }
    if (rank_ == 0 || rank_ == last) {
        ping = acp_create_ch(0, last);
        pong = acp_create_ch(last, 0);
    }
    std::vector<int> numbers(5000);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::vector<acp_request_t> sent;
    std::uint64_t count = 0;
    // Sends until the ring is full.
    if (rank_ == 1) {
        while (sent.empty() && count < numbers.size()) {
            const acp_request_t one = acp_nbsend_ch(back, &numbers[count++], sizeof(int));
            if (acp_wait_ch_timeout(one, nullptr, full_ns) != ACP_OK) sent.push_back(one);
        }
    }
    const int messages = static_cast<int>(exchange(count)[1]);
    int received = 0;
    if (rank_ == 0) {
        acp_request_t next = ACP_REQUEST_NULL;
        int number = -1;
        with_rank_1_stopped([&] {
            for (int i = 0; i < rounds; ++i) {
                if (i % 10 == 0)
                    sent.push_back(
                        acp_nbsend_ch(there, &numbers[static_cast<std::size_t>(i)], sizeof i));
                for (int k = 0; k < 20 && received < messages; ++k) {
                    if (next == ACP_REQUEST_NULL)
                        next = acp_nbrecv_ch(back, &number, sizeof number);
                    if (acp_test_ch(next, nullptr) != 1) break;
                    next = ACP_REQUEST_NULL;
                    ASSERT_EQ(number, received++);
                }
                ASSERT_EQ(acp_send_ch(ping, &i, sizeof i), 0) << acp_error_message();
                int answer = -1;
                const acp_request_t answered = acp_nbrecv_ch(pong, &answer, sizeof answer);
                ASSERT_EQ(acp_wait_ch_timeout(answered, nullptr, limit_ns), ACP_OK)
                    << i << ": " << acp_error_message();
                ASSERT_EQ(answer, i);
            }
        });
        EXPECT_GT(received, 0);
        while (received < messages) {
            if (next == ACP_REQUEST_NULL) next = acp_nbrecv_ch(back, &number, sizeof number);
            ASSERT_EQ(acp_wait_ch(next), sizeof number) << acp_error_message();
            next = ACP_REQUEST_NULL;
            ASSERT_EQ(number, received++);
        }
    }
    if (rank_ == last) {
        for (int i = 0; i < rounds; ++i) {
            int number = -1;
            ASSERT_EQ(acp_recv_ch(ping, &number, sizeof number), sizeof number);
            ASSERT_EQ(acp_send_ch(pong, &number, sizeof number), 0);
        }
    }
    EXPECT_EQ(acp_waitall_ch(sent.data(), static_cast<int>(sent.size()), nullptr), 0)
        << acp_error_message();
    sync_ranks();
    for (const acp_ch_t channel : {there, back, ping, pong}) {
        if (channel != ACP_CH_NULL) {
            EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
        }
    }
}

}  // namespace
}  // namespace acp::test
