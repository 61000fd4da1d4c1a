// SPDX-License-Identifier: BSD-3-Clause
// Short puts and invokes that are submitted to the link before the commands that they are ordered after
// have completed (ORD-66): which commands are, and that each runs once, or fails once. The test's link
// only keeps commands; the test completes them.
#include <algorithm>
#include <array>
#include <chrono>
#include <gtest/gtest.h>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/refuse_memory.hpp"
#include "unit/gma/test_network.hpp"

namespace acp::gma::test {
namespace {

using base::Code;

class OrderingLink final : public remote::Link {
public:
    bool submit(std::uint64_t token, const memory::Command& command) override {
        const memory::NumberedCommand one{token, &command};
        return submit_all({&one, 1}) == 1;
    }

    std::size_t submit_all(std::span<const memory::NumberedCommand> commands) override {
        const std::scoped_lock lock(mutex_);
        std::size_t taken = 0;
        for (const memory::NumberedCommand& one : commands) {
            if (one.before_count != 0 && !is_order_kept_) break;
            taken_.push_back(one);
            ++taken;
        }
        return taken;
    }

    [[nodiscard]] std::byte* arguments_at(std::uint32_t place) noexcept override {
        return arguments_.at(place).data();
    }

    bool invoke(std::uint64_t token, const remote::LinkInvocation& invocation) override {
        const std::scoped_lock lock(mutex_);
        if (invocation.before_count != 0 && !is_order_kept_) return false;
        taken_.push_back({token, nullptr, invocation.before, invocation.before_count});
        return true;
    }

    void flush() override {}

    bool poll(std::vector<remote::Ended>& ended) override {
        event_.drain();
        const std::scoped_lock lock(mutex_);
        const bool has_any = !ends_.empty();
        ended.insert(ended.end(), ends_.begin(), ends_.end());
        ends_.clear();
        return has_any;
    }

    [[nodiscard]] bool has_news() const noexcept override { return false; }

    [[nodiscard]] remote::LinkTraits traits() const noexcept override {
        return {.is_polled_here = true,
                .is_peer_served = true,
                .look_cost = node::LookCost::dear,
                .wait_fds = {&event_fd_, 1}};
    }

    [[nodiscard]] std::uint64_t deadline_ns() const noexcept override { return ~0ULL; }

    void set_service_wanted(bool /*is_wanted*/) noexcept override {}

    // Allocates the memory in which the link keeps this number of commands.
    void make_room(std::size_t commands) {
        const std::scoped_lock lock(mutex_);
        taken_.reserve(commands);
        ends_.reserve(commands);
    }

    // Makes the link refuse ordered commands from now on.
    void refuse_order() {
        const std::scoped_lock lock(mutex_);
        is_order_kept_ = false;
    }

    void end(const remote::Ended& ended) {
        {
            const std::scoped_lock lock(mutex_);
            ends_.push_back(ended);
        }
        event_.signal();
    }

    [[nodiscard]] std::vector<memory::NumberedCommand> taken() {
        const std::scoped_lock lock(mutex_);
        return taken_;
    }

private:
    os::Event event_ = std::move(os::Event::create()).value();
    int event_fd_ = event_.fd();
    std::mutex mutex_;
    std::vector<memory::NumberedCommand> taken_;
    std::vector<remote::Ended> ends_;
    std::array<std::array<std::byte, memory::invoke_bytes_max>, remote::invokes_max> arguments_{};
    bool is_order_kept_ = true;
};

class AheadTest : public testing::Test {
protected:
    AheadTest() : segment_(make_node_of_two(0)) {
        config_.starter_bytes = starter_bytes;
        auto link = std::make_unique<OrderingLink>();
        link_ = link.get();
        rank_ = std::make_unique<RemoteRank>(segment_, 0, config_, std::move(link));
    }

    Handle copy(std::uint32_t to, std::uint32_t from, std::uint64_t bytes, Handle order) {
        const memory::Command command{
            .target = rank_->starter(to), .source = rank_->starter(from), .bytes = bytes};
        return rank_->gma->issue(command, order);
    }

    // An operation on process 2.
    Invocation operation() {
        Invocation call;
        call.process = 2;
        call.operation = acp::test::append_number;
        call.result = std::as_writable_bytes(std::span(&result_, 1));
        return call;
    }

    // A copy of `bytes` bytes to process 2, and that operation behind it.
    Handle copy_and_invoke(std::uint64_t bytes, Departure departure = Departure::now) {
        return rank_->gma->issue_followed(
            {.target = rank_->starter(2), .source = rank_->starter(0), .bytes = bytes}, operation(),
            departure);
    }

    // Waits until the link has `count` commands, which the service thread may be submitting, and
    // returns them.
    std::vector<memory::NumberedCommand> taken_of(std::size_t count) {
        while (link_->taken().size() < count) std::this_thread::yield();
        return link_->taken();
    }

    Code wait(Handle handle) { return rank_->gma->wait(handle, node::for_ever, false).code(); }

    // Completes all commands that the link has and gets, until this handle is complete.
    Code end_all(Handle handle) {
        while (!rank_->gma->is_complete(handle)) {
            const auto taken = link_->taken();
            for (; ended_ < taken.size(); ++ended_) link_->end({.token = taken[ended_].number});
        }
        return wait(handle);
    }

    base::Config config_;
    node::Segment segment_;
    std::unique_ptr<RemoteRank> rank_;
    OrderingLink* link_ = nullptr;
    std::size_t ended_ = 0;  // number of commands that end_all() has completed
    std::uint64_t result_ = 0;
};

TEST_F(AheadTest, a_flag_goes_behind_its_data_at_once_and_once) {
    for (const bool is_continued : {false, true}) {
        const std::size_t before = link_->taken().size();
        const Handle data = copy(2, 0, 1024, handle_null);
        const Handle flag = copy(2, 0, 8, is_continued ? handle_cont : data);
        const auto taken = taken_of(before + 2);
        ASSERT_EQ(taken.size(), before + 2);
        EXPECT_EQ(taken[before].before_count, 0U);
        EXPECT_EQ(taken[before + 1].number, flag);
        EXPECT_EQ(taken[before + 1].before, data);
        EXPECT_EQ(taken[before + 1].before_count, 1U);
        EXPECT_FALSE(rank_->gma->is_complete(flag));
        link_->end({.token = data});
        EXPECT_EQ(wait(data), Code::ok);
        EXPECT_FALSE(rank_->gma->is_complete(flag));
        link_->end({.token = flag});
        EXPECT_EQ(wait(flag), Code::ok);
        EXPECT_EQ(link_->taken().size(), before + 2);
    }
}

TEST_F(AheadTest, both_end_together) {
    const Handle data = copy(2, 0, 1024, handle_null);
    const Handle flag = copy(2, 0, 8, data);
    (void)taken_of(2);
    link_->end({.token = data, .count = 2});
    EXPECT_EQ(wait(flag), Code::ok);
    EXPECT_EQ(link_->taken().size(), 2U);
}

TEST_F(AheadTest, a_failure_of_the_data_fails_the_flag_once) {
    const Handle data = copy(2, 0, 1024, handle_null);
    const Handle flag = copy(2, 0, 8, data);
    (void)taken_of(2);
    link_->end({.token = data, .code = Code::address, .process = 2});
    link_->end({.token = flag, .code = Code::order});  // the router's code for a failed predecessor
    EXPECT_EQ(wait(data), Code::address);
    EXPECT_EQ(wait(flag), Code::order);
    EXPECT_EQ(wait(handle_all), Code::ok);  // both failures were reported before
    EXPECT_EQ(link_->taken().size(), 2U);
}

TEST_F(AheadTest, what_the_target_cannot_see_to_waits) {
    struct Case {
        std::uint32_t leading_to, leading_from, to, from;
        std::uint64_t bytes;
    };

    constexpr Case cases[] = {
        {2, 0, 3, 0, 8},    // the copies go to different processes
        {0, 2, 2, 0, 8},    // ordered after a get
        {2, 3, 2, 0, 8},    // ordered after a copy between two other processes
        {2, 0, 2, 3, 8},    // its source is on another process
        {2, 0, 2, 0, 513},  // long
        {2, 0, 0, 2, 8},    // a get
    };
    for (const Case& one : cases) {
        const std::size_t before = link_->taken().size();
        const Handle leading = copy(one.leading_to, one.leading_from, 64, handle_null);
        const Handle last = copy(one.to, one.from, one.bytes, leading);
        EXPECT_EQ(taken_of(before + 1).size(), before + 1);
        EXPECT_EQ(end_all(last), Code::ok);
        ASSERT_EQ(link_->taken().size(), before + 2);
        EXPECT_EQ(link_->taken().back().before_count, 0U);
    }
}

TEST_F(AheadTest, goes_behind_a_few_and_not_behind_many) {
    for (const std::uint64_t leading :
         {memory::commands_before_max, memory::commands_before_max + 1}) {
        const std::size_t before = link_->taken().size();
        Handle last = handle_null;
        for (std::uint64_t i = 0; i < leading; ++i) last = copy(2, 0, 16, handle_null);
        const Handle flag = copy(2, 0, 8, last);
        if (leading <= memory::commands_before_max) {
            EXPECT_EQ(taken_of(before + leading + 1).back().before_count, leading);
        }
        EXPECT_EQ(end_all(flag), Code::ok);
        ASSERT_EQ(link_->taken().size(), before + leading + 1);
        EXPECT_EQ(link_->taken().back().before_count == 0, leading > memory::commands_before_max);
    }
}

TEST_F(AheadTest, an_invoke_goes_behind_a_copy_of_any_length) {
    constexpr std::uint64_t long_bytes = 1 << 16;
    const Handle data = copy(2, 0, long_bytes, handle_null);
    const Handle invoked = rank_->gma->issue_invoke(operation(), data);
    const auto taken = taken_of(2);
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_EQ(taken[1].number, invoked);
    EXPECT_EQ(taken[1].before, data);
    EXPECT_EQ(taken[1].before_count, 1U);
    link_->end({.token = data});
    link_->end({.token = invoked});
    EXPECT_EQ(wait(invoked), Code::ok);
    EXPECT_EQ(link_->taken().size(), 2U);
}

TEST_F(AheadTest, a_followed_copy_waits_for_nothing_else) {
    // More than an order may name: the invoke is ordered after its copy alone.
    constexpr std::size_t others = memory::commands_before_max + 2;
    for (std::size_t i = 0; i < others; ++i) (void)copy(3, 0, 16, handle_null);
    const Handle both = copy_and_invoke(1024);
    const auto taken = taken_of(others + 2);
    ASSERT_EQ(taken.size(), others + 2);
    EXPECT_EQ(taken[others].number, both - 2);
    EXPECT_EQ(taken[others].before_count, 0U);
    EXPECT_EQ(taken[others + 1].number, both);
    EXPECT_EQ(taken[others + 1].before, both - 2);
    EXPECT_EQ(taken[others + 1].before_count, 1U);
    EXPECT_EQ(end_all(both), Code::ok);
}

// While a command is in flight, pairs wait for the next poll, so that they share its datagrams.
TEST_F(AheadTest, followed_copies_leave_together) {
    const Handle first = copy(3, 0, 16, handle_null);
    (void)taken_of(1);
    const Handle one = copy_and_invoke(1024, Departure::together);
    const Handle two = copy_and_invoke(2048, Departure::together);
    rank_->gma->send_rest();
    const auto taken = taken_of(5);
    ASSERT_EQ(taken.size(), 5U);
    for (const Handle both : {one, two}) {
        const auto operation = std::ranges::find(taken, both, &memory::NumberedCommand::number);
        ASSERT_NE(operation, taken.end());
        EXPECT_EQ(operation->before, both - 2);
        EXPECT_EQ(operation->before_count, 1U);
        const auto data = std::ranges::find(taken, both - 2, &memory::NumberedCommand::number);
        EXPECT_LT(data, operation);
    }
    EXPECT_EQ(end_all(two), Code::ok);
    EXPECT_EQ(wait(one), Code::ok);
    EXPECT_EQ(wait(first), Code::ok);
    rank_->gma->send_rest();  // nothing is left
    EXPECT_EQ(link_->taken().size(), 5U);
}

// However many are issued before a poll, each operation leaves behind its copy at once.
TEST_F(AheadTest, any_number_of_followed_copies_goes_ahead) {
    constexpr std::size_t pairs = 40;
    (void)copy(3, 0, 16, handle_null);
    Handle last = handle_null;
    for (std::size_t i = 0; i < pairs; ++i) last = copy_and_invoke(1024, Departure::together);
    rank_->gma->send_rest();
    const auto taken = taken_of(1 + 2 * pairs);
    ASSERT_EQ(taken.size(), 1 + 2 * pairs);
    const auto ordered = std::ranges::count_if(
        taken, [](const memory::NumberedCommand& each) { return each.before_count == 1; });
    EXPECT_EQ(static_cast<std::size_t>(ordered), pairs);
    EXPECT_EQ(end_all(last), Code::ok);
}

TEST_F(AheadTest, a_failed_copy_is_the_failure_of_what_follows_it) {
    const Handle both = copy_and_invoke(1024);
    (void)taken_of(2);
    link_->end({.token = both - 2, .code = Code::address, .process = 2});
    link_->end({.token = both, .code = Code::order});
    EXPECT_EQ(wait(both), Code::address);
    EXPECT_EQ(wait(handle_all), Code::ok);
    EXPECT_EQ(link_->taken().size(), 2U);
}

TEST_F(AheadTest, what_follows_a_copy_waits_where_the_link_keeps_no_order) {
    link_->refuse_order();
    const Handle both = copy_and_invoke(1024);
    EXPECT_EQ(taken_of(1).size(), 1U);
    EXPECT_EQ(end_all(both), Code::ok);
    ASSERT_EQ(link_->taken().size(), 2U);
    EXPECT_EQ(link_->taken().back().before_count, 0U);
}

// A reset of the library waits for all commands like this.
TEST_F(AheadTest, all_commands_are_complete_only_when_what_follows_a_copy_is) {
    link_->refuse_order();
    const Handle both = copy_and_invoke(1024);
    (void)taken_of(1);
    link_->end({.token = both - 2});
    while (link_->taken().size() < 2) (void)rank_->gma->wait(handle_all, 0, false);
    EXPECT_EQ(rank_->gma->wait(handle_all, 0, false).code(), Code::timeout);
    link_->end({.token = both});
    EXPECT_EQ(wait(handle_all), Code::ok);
    EXPECT_TRUE(rank_->gma->is_complete(both));
}

TEST_F(AheadTest, a_fork_between_a_copy_and_its_operation_leaves_both_to_the_parent) {
    link_->refuse_order();
    const Handle both = copy_and_invoke(1024);
    (void)taken_of(1);
    const pid_t child = ::fork();
    ASSERT_NE(child, -1);
    if (child == 0) ::_exit(0);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(end_all(both), Code::ok);
    EXPECT_EQ(link_->taken().size(), 2U);
}

TEST_F(AheadTest, a_followed_copy_ends_whichever_request_for_memory_is_refused) {
    link_->make_room(1'000);
    bool was_refused = true;
    for (std::uint64_t first = 1; was_refused; ++first) {
        SCOPED_TRACE(first);
        Handle both = handle_null;
        {
            const acp::test::Refusal refusal(first);
            both = copy_and_invoke(1024);
            was_refused = acp::test::Refusal::seen() >= first;
        }
        const Code code = end_all(both);
        EXPECT_TRUE(code == Code::ok || (was_refused && code == Code::memory))
            << static_cast<int>(code);
        EXPECT_EQ(wait(handle_all), Code::ok);
        ASSERT_LT(first, 100U);
    }
}

TEST_F(AheadTest, a_followed_put_of_a_plain_pointer_is_one_flight_too) {
    EXPECT_TRUE(rank_->gma->prepare_followed());
    std::vector<char> source(5000, 'x');
    const Handle both = rank_->gma->issue_followed(
        PointerCopy{rank_->starter(2), {source.data(), source.size(), false}}, operation(),
        handle_null);
    const auto taken = taken_of(2);
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_EQ(taken[0].number, both - 2);
    EXPECT_EQ(taken[1].number, both);
    EXPECT_EQ(taken[1].before, both - 2);
    EXPECT_EQ(taken[1].before_count, 1U);
    EXPECT_EQ(end_all(both), Code::ok);
}

TEST_F(AheadTest, a_followed_put_of_no_pointer_fails_and_nothing_is_sent) {
    const Handle both = rank_->gma->issue_followed(
        PointerCopy{rank_->starter(2), {nullptr, 5000, false}}, operation(), handle_null);
    EXPECT_EQ(wait(both), Code::argument);
    EXPECT_TRUE(link_->taken().empty());
}

// No command ends, so no buffer of the library comes back: such a put registers its memory, after one
// short wait of all of them.
TEST_F(AheadTest, short_puts_to_a_process_that_does_not_answer_are_issued_all_the_same) {
    constexpr std::size_t puts = LocalEnds::block_count + 64;
    std::vector<char> source(8, 'x');
    const auto begin = std::chrono::steady_clock::now();
    Handle last = handle_null;
    for (std::size_t i = 0; i < puts; ++i) {
        last = rank_->gma->issue_pointer(
            PointerCopy{rank_->starter(2), {source.data(), source.size(), false}}, handle_null);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    rank_->gma->send_rest();
    EXPECT_EQ(taken_of(puts).size(), puts);
    EXPECT_EQ(end_all(last), Code::ok);
    EXPECT_EQ(wait(handle_all), Code::ok);
}

TEST_F(AheadTest, goes_the_usual_way_where_the_link_does_not_take_it) {
    link_->refuse_order();
    const Handle data = copy(2, 0, 1024, handle_null);
    const Handle flag = copy(2, 0, 8, data);
    EXPECT_EQ(taken_of(1).size(), 1U);
    EXPECT_EQ(end_all(flag), Code::ok);
    ASSERT_EQ(link_->taken().size(), 2U);
    EXPECT_EQ(link_->taken().back().before_count, 0U);
}

}  // namespace
}  // namespace acp::gma::test
