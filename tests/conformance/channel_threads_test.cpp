// SPDX-License-Identifier: BSD-3-Clause
// Two threads of a rank that wait for requests of one channel: only one of them gets the result of
// a request, also where its completion ends the other thread's wait.
#include <atomic>
#include <cstdint>
#include <thread>

#include <acp.h>

#include "conformance/channel_life_fixture.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t limit_ns = 10'000'000'000;
constexpr std::int64_t moment_ns = 2'000'000;

// A thread that waits for the requests that it is given, each until it has completed or another
// thread has retired it.
class Waiter {
public:
    enum class Manner : std::uint8_t { waits, asks };

    explicit Waiter(Manner manner) : thread_([this, manner] { run(manner); }) {}

    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    ~Waiter() {
        give(ACP_REQUEST_NULL);
        thread_.join();
    }

    void give(acp_request_t request) {
        request_ = request;
        given_.fetch_add(1, std::memory_order_release);
        given_.notify_one();
    }

    // Waits for the thread and returns the result of its wait for the last request.
    [[nodiscard]] int outcome() {
        const std::uint32_t given = given_.load(std::memory_order_relaxed);
        for (std::uint32_t ended = ended_.load(std::memory_order_acquire); ended != given;
             ended = ended_.load(std::memory_order_acquire))
            ended_.wait(ended, std::memory_order_acquire);
        return outcome_;
    }

private:
    void run(Manner manner) {
        for (std::uint32_t number = 0;; ++number) {
            given_.wait(number, std::memory_order_acquire);
            if (request_ == ACP_REQUEST_NULL) return;
            outcome_ = manner == Manner::waits ? acp_wait_ch_timeout(request_, nullptr, limit_ns)
                                               : ask(request_);
            ended_.store(number + 1, std::memory_order_release);
            ended_.notify_one();
        }
    }

    static int ask(acp_request_t request) {
        int answer = 0;
        while ((answer = acp_test_ch(request, nullptr)) == 0) {
        }
        return answer == 1 ? ACP_OK : acp_errno();
    }

    acp_request_t request_ = ACP_REQUEST_NULL;
    int outcome_ = ACP_OK;
    std::atomic<std::uint32_t> given_{0};
    std::atomic<std::uint32_t> ended_{0};
    std::thread thread_;
};

using ChannelThreadsTest = ChannelLifeTest;

TEST_F(ChannelThreadsTest, a_wait_ends_when_another_thread_gets_the_result_of_its_request) {
    if (!is_of_two()) return;
    const acp_ch_t there = make();
    const acp_ch_t back = make(1);
    std::uint64_t word = 0;
    const auto begin = [&] { return acp_nbrecv_ch(there, &word, sizeof word); };
    constexpr int rounds = 20;
    if (rank_ == 0) {
        for (int i = 0; i < 2 * rounds; ++i) {
            pass(back, 1, 1);
            pass(there, 2);
        }
    } else {
        Waiter waiter(Waiter::Manner::waits);
        for (int i = 0; i < rounds; ++i) {
            const acp_request_t request = begin();
            waiter.give(request);
            // Gives the other thread time to begin its wait.
            EXPECT_EQ(acp_wait_ch_timeout(request, nullptr, moment_ns), ACP_ERR_TIMEOUT);
            pass(back, 1, 1);
            int answer = 0;
            while ((answer = acp_test_ch(request, nullptr)) == 0) {
            }
            // Takes the record of the retired request.
            const acp_request_t next = begin();
            const int outcome = waiter.outcome();
            EXPECT_EQ(outcome, answer == 1 ? ACP_ERR_STALE : ACP_OK);
            pass(back, 1, 1);
            EXPECT_EQ(acp_wait_ch(next), sizeof word) << acp_error_message();
            if (outcome == ACP_ERR_TIMEOUT) break;
        }
    }
    EXPECT_EQ(acp_free_ch(there), 0) << acp_error_message();
    EXPECT_EQ(acp_free_ch(back), 0) << acp_error_message();
}

TEST_F(ChannelThreadsTest, a_thread_may_poll_an_end_while_another_one_frees_it) {
    if (!is_of_two()) return;
    constexpr int rounds = 2000;
    for (const auto manner : {Waiter::Manner::waits, Waiter::Manner::asks}) {
        if (rank_ == 0) {
            for (int i = 0; i < rounds; ++i) {
                const acp_ch_t channel = make();
                pass(channel, 1);
                EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
            }
            continue;
        }
        Waiter waiter(manner);
        for (int i = 0; i < rounds; ++i) {
            std::uint64_t word = 0;
            const acp_ch_t channel = make();
            const acp_request_t request = acp_nbrecv_ch(channel, &word, sizeof word);
            const acp_request_t free = acp_nbfree_ch(channel);
            waiter.give(request);
            EXPECT_EQ(acp_wait_ch(free), 0U) << acp_error_message();
            EXPECT_EQ(waiter.outcome(), ACP_OK);
        }
    }
}

}  // namespace
}  // namespace acp::test
