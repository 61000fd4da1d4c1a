// SPDX-License-Identifier: BSD-3-Clause
// Operations that members have started together complete in whatever order each member waits for
// them, also while ranks are in a barrier: a waiting thread makes progress on all operations of its
// process. The operations are exchanges whose messages are read in place, long messages of
// channels, and calls on teams: each completes on one member only after another member has done its
// part.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/exchange_fixture.hpp"

namespace acp::test {
namespace {

// Long enough to be read in place.
constexpr std::size_t message_bytes = 16384;
// The receiver copies it directly, or it is sent in pieces.
constexpr std::size_t long_bytes = 1 << 20;

// An operation that was started and will be awaited.
class Begun {
public:
    Begun() = default;
    virtual ~Begun() = default;
    Begun(const Begun&) = delete;
    Begun& operator=(const Begun&) = delete;

    virtual void begin(int round) = 0;
    // 1: completed; 0: not yet; -1: failed.
    virtual int test() = 0;
    virtual int wait() = 0;
    virtual void check(int round) = 0;
};

int next_rank() {
    return (acp_rank() + 1) % acp_procs();
}

int rank_before() {
    return (acp_rank() + acp_procs() - 1) % acp_procs();
}

void expect_bytes(const Buffer& buffer, int number, int round) {
    std::size_t wrong = 0;
    while (wrong < buffer.bytes() &&
           buffer.data()[wrong] == byte_of(rank_before(), acp_rank(), number, wrong, round))
        ++wrong;
    ASSERT_EQ(wrong, buffer.bytes()) << "a wrong byte in round " << round;
}

void fill(const Buffer& buffer, int number, int round) {
    for (std::size_t i = 0; i < buffer.bytes(); ++i)
        buffer.data()[i] = byte_of(acp_rank(), next_rank(), number, i, round);
}

// An exchange: each member sends to the next one.
class RingExchange final : public Begun {
public:
    RingExchange(acp_team_t team, int number) : number_(number) {
        const acp_pattern_t pattern = acp_create_pattern(team);
        EXPECT_EQ(
            acp_add_send_pattern(pattern, next_rank() - acp_rank(), sent_.data(), message_bytes),
            0);
        EXPECT_EQ(acp_add_recv_pattern(pattern, rank_before() - acp_rank(), received_.data(),
                                       message_bytes),
                  0);
        plan_ = acp_compile_pattern(pattern, nullptr);
        EXPECT_NE(plan_, ACP_PLAN_NULL) << acp_error_message();
        EXPECT_EQ(acp_free_pattern(pattern), 0);
    }

    ~RingExchange() override { EXPECT_EQ(acp_free_plan(plan_), 0) << acp_error_message(); }

    void begin(int round) override {
        fill(sent_, number_, round);
        std::memset(received_.data(), 0xee, message_bytes);
        EXPECT_EQ(acp_start_plan(plan_), 0) << acp_error_message();
    }

    int test() override { return acp_test_plan(plan_); }

    int wait() override { return acp_wait_plan(plan_); }

    void check(int round) override { expect_bytes(received_, number_, round); }

private:
    int number_;
    Buffer sent_{Buffer::Kind::heap, message_bytes};
    Buffer received_{Buffer::Kind::heap, message_bytes};
    acp_plan_t plan_ = ACP_PLAN_NULL;
};

// A message of a channel from each member to the next one, in a job of several ranks.
class RingMessage final : public Begun {
public:
    RingMessage()
        : out_(acp_create_ch(acp_rank(), next_rank())),
          in_(acp_create_ch(rank_before(), acp_rank())) {}

    ~RingMessage() override {
        std::array frees{acp_nbfree_ch(out_), acp_nbfree_ch(in_)};
        EXPECT_EQ(acp_waitall_ch(frees.data(), 2, nullptr), 0) << acp_error_message();
    }

    void begin(int round) override {
        fill(sent_, number, round);
        requests_ = {acp_nbsend_ch(out_, sent_.data(), long_bytes),
                     acp_nbrecv_ch(in_, received_.data(), long_bytes)};
    }

    int test() override {
        for (acp_request_t& request : requests_) {
            if (request == ACP_REQUEST_NULL) continue;
            const int ended = acp_test_ch(request, nullptr);
            if (ended != 1) return ended;
            request = ACP_REQUEST_NULL;
        }
        return 1;
    }

    int wait() override { return acp_waitall_ch(requests_.data(), 2, nullptr); }

    void check(int round) override { expect_bytes(received_, number, round); }

private:
    static constexpr int number = 9;
    acp_ch_t out_;
    acp_ch_t in_;
    Buffer sent_{Buffer::Kind::own, long_bytes};
    Buffer received_{Buffer::Kind::own, long_bytes};
    std::array<acp_request_t, 2> requests_{};
};

// The sum of one number of each member.
class TeamSum final : public Begun {
public:
    explicit TeamSum(acp_team_t team) : team_(acp_split_team(team, 0, acp_rank())) {
        EXPECT_NE(team_, ACP_TEAM_NULL) << acp_error_message();
    }

    ~TeamSum() override { EXPECT_EQ(acp_free_team(team_), 0) << acp_error_message(); }

    void begin(int round) override {
        brought_ = round + acp_rank();
        sum_ = -1;
        request_ = acp_nballreduce_team(team_, &brought_, &sum_, 1, ACP_INT64, ACP_SUM);
        EXPECT_NE(request_, ACP_TEAM_REQUEST_NULL) << acp_error_message();
    }

    int test() override { return acp_test_team(request_); }

    int wait() override { return acp_wait_team(request_); }

    void check(int round) override {
        const std::int64_t procs = acp_procs();
        EXPECT_EQ(sum_, procs * round + procs * (procs - 1) / 2);
    }

private:
    acp_team_t team_;
    std::int64_t brought_ = 0;
    std::int64_t sum_ = 0;
    acp_team_request_t request_ = ACP_TEAM_REQUEST_NULL;
};

std::int64_t cpu_us(const rusage& used) {
    const auto us = [](const timeval& time) {
        return std::int64_t{1'000'000} * time.tv_sec + time.tv_usec;
    };
    return us(used.ru_utime) + us(used.ru_stime);
}

// Longer than a waiting thread spins before it sleeps.
void let_it_sleep() {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // lint: sleep is the subject
}

class WaitOrderTest : public TeamTest {
protected:
    static constexpr int rounds = 12;

    void begin_all(int round) {
        for (const auto& one : all_) one->begin(round);
    }

    static void await(Begun& one, bool is_testing) {
        int ended = 0;
        while (is_testing && ended == 0) ended = one.test();
        if (!is_testing) ended = one.wait() == 0 ? 1 : -1;
        ASSERT_EQ(ended, 1) << acp_error_message();
    }

    // Waits for all operations in this rank's own order; the barrier call is one of them.
    template <typename Meet>
    void end_all(int round, Random& own, const Meet& meet) {
        // The last one: the barrier.
        std::vector<std::size_t> order(all_.size() + 1);
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[own.below(i)]);
        for (const std::size_t which : order) {
            if (which == all_.size()) {
                ASSERT_EQ(meet(), 0) << acp_error_message();
            } else {
                await(*all_[which], own.below(3) == 0);
            }
        }
        for (const auto& one : all_) one->check(round);
    }

    template <typename Meet>
    void run_rounds(const Meet& meet) {
        Random common = common_random();
        Random own(common.below(1U << 30) + static_cast<std::uint64_t>(rank_));
        for (int round = 0; round < rounds; ++round) {
            begin_all(round);
            end_all(round, own, meet);
        }
        all_.clear();
    }

    void add_all() {
        add_exchanges();
        if (procs_ > 1) all_.push_back(std::make_unique<RingMessage>());
        all_.push_back(std::make_unique<TeamSum>(world_));
    }

    void add_exchanges() {
        for (const int number : {0, 1})
            all_.push_back(std::make_unique<RingExchange>(world_, number));
    }

    std::vector<std::unique_ptr<Begun>> all_;
};

TEST_F(WaitOrderTest, two_exchanges_end_in_either_order) {
    add_exchanges();
    for (int round = 0; round < rounds; ++round) {
        begin_all(round);
        const std::size_t first = static_cast<std::size_t>(rank_ + round) % 2;
        await(*all_[first], false);
        await(*all_[1 - first], false);
        for (const auto& one : all_) one->check(round);
    }
    all_.clear();
}

TEST_F(WaitOrderTest, all_that_was_begun_ends_in_any_order) {
    add_all();
    run_rounds([] { return 0; });
}

TEST_F(WaitOrderTest, all_operations_progress_while_members_are_in_a_call_on_a_team) {
    add_all();
    run_rounds([this] { return acp_sync_team(world_); });
}

TEST_F(WaitOrderTest, all_operations_progress_while_ranks_are_in_a_barrier) {
    add_all();
    run_rounds([] { return acp_sync(); });
}

// Arriving messages of an exchange do not wake a rank that sleeps in acp_sync, so its thread polls
// with a timer.
TEST_F(WaitOrderTest, an_exchange_progresses_in_a_rank_that_sleeps_in_a_barrier) {
    RingExchange exchange(world_, 0);
    exchange.begin(0);
    if (rank_ == 0) {
        ASSERT_EQ(acp_sync(), 0);
        ASSERT_EQ(exchange.wait(), 0);
    } else {
        let_it_sleep();
        ASSERT_EQ(exchange.wait(), 0);
        ASSERT_EQ(acp_sync(), 0);
    }
    exchange.check(0);
}

// These polls use little CPU time.
TEST_F(WaitOrderTest, a_rank_with_commands_in_flight_sleeps_in_a_barrier) {
    RingExchange exchange(world_, 0);
    exchange.begin(0);
    if (rank_ == 0) {
        rusage before{};
        rusage after{};
        getrusage(RUSAGE_THREAD, &before);
        ASSERT_EQ(acp_sync(), 0);
        getrusage(RUSAGE_THREAD, &after);
        EXPECT_LT(cpu_us(after) - cpu_us(before), 60'000) << "of 2 s in acp_sync";
    } else {
        std::this_thread::sleep_for(std::chrono::seconds(2));  // lint: sleep is the subject
        ASSERT_EQ(acp_sync(), 0);
    }
    ASSERT_EQ(exchange.wait(), 0);
    exchange.check(0);
}

// One thread starts an exchange while another thread sleeps in the wait for another exchange.
TEST_F(WaitOrderTest, a_sleeping_thread_progresses_the_exchange_of_another_thread) {
    RingExchange first(world_, 0);
    RingExchange second(world_, 1);
    for (int round = 0; round < 5; ++round) {
        if (rank_ == 0) {
            first.begin(round);
            std::thread sleeper([&] { EXPECT_EQ(first.wait(), 0) << acp_error_message(); });
            let_it_sleep();
            second.begin(round);
            // The first exchange completes after the others have started it, which they do after
            // the second one.
            sleeper.join();
            EXPECT_EQ(second.wait(), 0) << acp_error_message();
        } else {
            second.begin(round);
            EXPECT_EQ(second.wait(), 0) << acp_error_message();
            first.begin(round);
            EXPECT_EQ(first.wait(), 0) << acp_error_message();
        }
        first.check(round);
        second.check(round);
    }
}

// The end of the epoch would free the plan that the other thread waits for.
TEST_F(WaitOrderTest, the_epoch_does_not_end_while_another_thread_waits) {
    if (procs_ == 1) GTEST_SKIP() << "a single rank waits for no other rank";
    RingExchange exchange(world_, 0);
    std::thread sleeper;
    if (rank_ != 0) {
        exchange.begin(0);
        sleeper = std::thread([&] { EXPECT_EQ(exchange.wait(), 0) << acp_error_message(); });
        let_it_sleep();
    }
    if (rank_ == 1) {
        expect_refused(acp_finalize(), ACP_ERR_STATE,
                       "another thread of this process waits in a call");
        expect_refused(acp_reset(rank_), ACP_ERR_STATE,
                       "another thread of this process waits in a call");
    }
    EXPECT_EQ(acp_sync(), 0) << acp_error_message();
    if (rank_ == 0) {
        exchange.begin(0);
        EXPECT_EQ(exchange.wait(), 0) << acp_error_message();
    } else {
        sleeper.join();
    }
    exchange.check(0);
}

}  // namespace
}  // namespace acp::test
