// SPDX-License-Identifier: BSD-3-Clause
// A thread that sleeps is not woken when the service thread has sent or placed a part of something
// long: it is woken for the end of a command, and by the operation that makes its condition true.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <utility>

#include "node/wait.hpp"
#include "os/clock.hpp"

#include "unit/gma/test_network.hpp"

namespace acp::gma::test {
namespace {

// A gateway in this process that receives a part at each signal, and ends no command.
class PartLink final : public remote::Link {
public:
    bool submit(std::uint64_t /*token*/, const memory::Command& /*command*/) override {
        return false;
    }

    [[nodiscard]] std::byte* arguments_at(std::uint32_t /*place*/) noexcept override {
        return nullptr;
    }

    bool invoke(std::uint64_t /*token*/, const remote::LinkInvocation& /*invocation*/) override {
        return false;
    }

    void flush() override {}

    bool poll(std::vector<remote::Ended>& /*ended*/) override {
        if (!event_.drain()) return false;
        parts_.fetch_add(1, std::memory_order_release);
        return true;
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

    void arrive() { event_.signal(); }

    [[nodiscard]] std::uint64_t parts() const { return parts_.load(std::memory_order_acquire); }

private:
    os::Event event_ = std::move(os::Event::create()).value();
    int event_fd_ = event_.fd();
    std::atomic<std::uint64_t> parts_{0};
};

// Holds after make_true(); counts the polls of the thread that waits.
class CountedCondition final : public Condition {
public:
    LookResult look() override {
        looks_.fetch_add(1, std::memory_order_relaxed);
        return is_true_.load(std::memory_order_acquire) ? LookResult::all : LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        entry.tell(node::WaitFor::partner, since_ns, nullptr);
    }

    void make_true() { is_true_.store(true, std::memory_order_release); }

    [[nodiscard]] std::uint64_t looks() const { return looks_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> looks_{0};
    std::atomic<bool> is_true_{false};
};

void wait_until_still(const CountedCondition& condition) {
    for (std::uint64_t before = ~0ULL; before != condition.looks();) {
        before = condition.looks();
        const std::uint64_t end_ns = os::now_ns() + 20'000'000;
        while (os::now_ns() < end_ns) std::this_thread::yield();
    }
}

TEST(PartsOfWork, wake_no_thread_that_sleeps) {
    constexpr std::uint64_t parts = 200;
    const node::Segment segment = make_node_of_two(0);
    base::Config config;
    config.starter_bytes = starter_bytes;
    auto made = std::make_unique<PartLink>();
    PartLink& link = *made;
    RemoteRank rank(segment, 0, config, std::move(made));
    CountedCondition condition;
    std::thread waiter(
        [&] { EXPECT_EQ(rank.gma->wait_until(condition, node::for_ever), node::Outcome::ready); });
    while (condition.looks() == 0) std::this_thread::yield();
    wait_until_still(condition);
    const std::uint64_t before = condition.looks();
    for (std::uint64_t part = 0; part < parts; ++part) {
        const std::uint64_t received = link.parts();
        link.arrive();
        while (link.parts() == received) std::this_thread::yield();
    }
    // A sleeper looks twice each time it checks for dead processes.
    EXPECT_LT(condition.looks() - before, parts / 4);
    condition.make_true();
    node::ring_bell(segment.slot(0).door.waiter_bell);
    waiter.join();
}

}  // namespace
}  // namespace acp::gma::test
