// SPDX-License-Identifier: BSD-3-Clause
// Answers to other nodes that the last poll of a wait has left unsent (remote::Link::let_answers_wait)
// are sent before the thread returns to a program that may stay away. The test's gateway answers
// each completion.
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <utility>
#include <vector>

#include "unit/gma/test_network.hpp"

namespace acp::gma::test {
namespace {

class AnsweringLink final : public remote::Link {
public:
    bool submit(std::uint64_t token, const memory::Command& /*command*/) override {
        const std::scoped_lock lock(mutex_);
        tokens_.push_back(token);
        return true;
    }

    [[nodiscard]] std::byte* arguments_at(std::uint32_t /*place*/) noexcept override {
        return nullptr;
    }

    bool invoke(std::uint64_t /*token*/, const remote::LinkInvocation& /*invocation*/) override {
        return false;
    }

    void flush() override { due_at_ns_.store(never, std::memory_order_relaxed); }

    // Each command completes at the first poll after it was submitted.
    bool poll(std::vector<remote::Ended>& ended) override {
        event_.drain();
        const std::scoped_lock lock(mutex_);
        const bool may_wait = std::exchange(may_answers_wait_, false) && !tokens_.empty();
        if (may_wait) ++answers_left_;
        due_at_ns_.store(may_wait ? 0 : never, std::memory_order_relaxed);
        for (const std::uint64_t token : tokens_) ended.push_back({.token = token});
        return !std::exchange(tokens_, {}).empty();
    }

    void let_answers_wait() noexcept override { may_answers_wait_ = true; }

    [[nodiscard]] bool has_news() const noexcept override { return false; }

    [[nodiscard]] remote::LinkTraits traits() const noexcept override {
        return {.is_polled_here = true,
                .is_peer_served = true,
                .look_cost = node::LookCost::dear,
                .wait_fds = {&event_fd_, 1}};
    }

    [[nodiscard]] std::uint64_t deadline_ns() const noexcept override {
        return due_at_ns_.load(std::memory_order_relaxed);
    }

    void set_service_wanted(bool /*is_wanted*/) noexcept override {}

    [[nodiscard]] int answers_left() {
        const std::scoped_lock lock(mutex_);
        return answers_left_;
    }

private:
    static constexpr std::uint64_t never = ~0ULL;

    os::Event event_ = std::move(os::Event::create()).value();
    int event_fd_ = event_.fd();
    std::mutex mutex_;
    std::vector<std::uint64_t> tokens_;
    bool may_answers_wait_ = false;  // guarded by gma's driver role
    int answers_left_ = 0;           // polls that left answers unsent
    std::atomic<std::uint64_t> due_at_ns_{never};
};

// The first absences of a program are taken for long ones.
TEST(AnswersThatWait, are_sent_before_a_wait_ends_if_the_program_may_stay_away) {
    const node::Segment segment = make_node_of_two(0);
    base::Config config;
    config.starter_bytes = starter_bytes;
    auto made = std::make_unique<AnsweringLink>();
    AnsweringLink& link = *made;
    RemoteRank rank(segment, 0, config, std::move(made));
    const memory::Command command{.target = rank.starter(2), .source = rank.starter(0), .bytes = 8};
    for (int round = 0; round < 8; ++round) {
        const Handle handle = rank.gma->issue(command, handle_null);
        EXPECT_TRUE(rank.gma->wait(handle, node::for_ever, false).is_ok());
        EXPECT_NE(link.deadline_ns(), 0U) << "round " << round;
    }
    EXPECT_GT(link.answers_left(), 0) << "polls of waiters let answers wait";
}

}  // namespace
}  // namespace acp::gma::test
