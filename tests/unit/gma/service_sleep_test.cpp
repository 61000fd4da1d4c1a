// SPDX-License-Identifier: BSD-3-Clause
// When the service thread listens to a gateway in its process, and when other threads stand in for
// it.
#include "gma/service_sleep.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <optional>
#include <thread>
#include <vector>

#include "os/clock.hpp"
#include "os/event.hpp"

#include "support/poll_sets.hpp"
#include "test_network.hpp"

namespace acp::gma {
namespace {

using Kind = ServiceSleep::Stay::Kind;

constexpr std::int64_t for_ever = -1;

// A gateway that is due at the time that the test sets, and has work while its event is readable.
class QuietLink final : public remote::Link {
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

    bool poll(std::vector<remote::Ended>& /*ended*/) override { return false; }

    [[nodiscard]] bool has_news() const noexcept override { return false; }

    [[nodiscard]] remote::LinkTraits traits() const noexcept override {
        return {.is_polled_here = true,
                .is_peer_served = true,
                .look_cost = node::LookCost::dear,
                .wait_fds = {&fd_, 1}};
    }

    [[nodiscard]] std::uint64_t deadline_ns() const noexcept override { return due_at_ns_; }

    void set_service_wanted(bool /*is_wanted*/) noexcept override {}

    os::Event event_ = std::move(os::Event::create()).value();
    std::atomic<std::uint64_t> due_at_ns_{~0ULL};

private:
    int fd_ = event_.fd();
};

class ServiceSleepTest : public testing::Test {
protected:
    static constexpr std::int64_t nap_max_ns = 4'000'000;

    // Sleeps as the service thread. True: it must poll all sources.
    bool sleep(std::int64_t timeout_ns = for_ever, bool is_polled_now = false) {
        return sleep_.wait([] { return true; }, timeout_ns, ServiceSleep::Depth::deep,
                           is_polled_now);
    }

    // Makes ServiceSleep expect that the program is back at once.
    void make_trusted() { const ServiceSleep::Stay stay(sleep_, Kind::busy); }

    node::Segment segment_ = test::make_node_of_two(0);
    std::unique_ptr<mailbox::Port> port_ = std::move(mailbox::Port::open(segment_, 0)).value();
    QuietLink link_;
    ServiceSleep sleep_{*port_, std::move(os::ArmedWait::create(link_.traits().wait_fds)).value(),
                        &link_, nap_max_ns};
};

TEST_F(ServiceSleepTest, listens_to_the_gateway_while_no_thread_polls) {
    link_.event_.signal();
    EXPECT_TRUE(sleep());
}

TEST_F(ServiceSleepTest, leaves_the_gateway_to_a_polling_thread) {
    const ServiceSleep::Stay stay(sleep_, Kind::wait);
    link_.event_.signal();
    for (int nap = 0; nap < 5; ++nap) {
        sleep_.note_poll(false);
        EXPECT_FALSE(sleep()) << nap;
    }
    EXPECT_TRUE(sleep());  // the other thread is in the library and does not poll the gateway
}

TEST_F(ServiceSleepTest, naps_longer_from_time_to_time_and_at_last_as_long_as_it_may) {
    const ServiceSleep::Stay stay(sleep_, Kind::wait);
    const auto nap_ns = [this] {
        sleep_.note_poll(false);
        const std::uint64_t begin_ns = os::now_ns();
        EXPECT_FALSE(sleep());
        return os::now_ns() - begin_ns;
    };
    EXPECT_GE(nap_ns(), std::uint64_t{ServiceSleep::nap_min_ns});
    for (std::int64_t ns = ServiceSleep::nap_min_ns; ns < nap_max_ns; ns *= 2) (void)nap_ns();
    EXPECT_GE(nap_ns(), std::uint64_t{nap_max_ns});
}

TEST_F(ServiceSleepTest, datagrams_are_not_noted_for_it_while_others_do_the_work_for_long) {
    const int fd = link_.event_.fd();
    {
        const ServiceSleep::Stay stay(sleep_, Kind::wait);
        for (int nap = 0; nap < 3; ++nap) {
            sleep_.note_poll(false);
            EXPECT_FALSE(sleep());
        }
        EXPECT_EQ(acp::test::poll_sets_with(fd), 0U);
    }
    link_.event_.signal();
    EXPECT_TRUE(sleep()) << "no thread is in the library: the service thread watches the gateway";
    EXPECT_EQ(acp::test::poll_sets_with(fd), 1U);
}

TEST_F(ServiceSleepTest, datagrams_are_not_noted_for_it_while_it_is_awake_for_long) {
    const int fd = link_.event_.fd();
    for (int round = 0; round < 3; ++round) {
        link_.event_.signal();
        EXPECT_TRUE(sleep());
        EXPECT_EQ(acp::test::poll_sets_with(fd), 1U);
        for (int work = 0; work < 100; ++work) sleep_.note_work();
        EXPECT_EQ(acp::test::poll_sets_with(fd), 0U);
    }
}

TEST_F(ServiceSleepTest, leaves_the_gateway_to_the_current_thread) {
    const ServiceSleep::Stay stay(sleep_, Kind::wait);
    link_.event_.signal();
    EXPECT_FALSE(sleep(for_ever, true));
}

TEST_F(ServiceSleepTest, listens_to_the_gateway_after_the_last_thread_leaves) {
    link_.event_.signal();
    for (int round = 0; round < 200; ++round) {
        std::optional<ServiceSleep::Stay> stay;
        stay.emplace(sleep_, Kind::wait);
        sleep_.note_poll(false);
        std::atomic<bool> is_needed{false};
        std::thread service([&] {
            while (!is_needed) {
                is_needed = sleep();
            }
        });
        if (round % 2 == 0) std::this_thread::yield();
        stay.reset();
        service.join();
    }
}

TEST_F(ServiceSleepTest, listens_to_the_gateway_after_the_last_thread_sleeps) {
    make_trusted();
    link_.event_.signal();
    ServiceSleep::Stay stay(sleep_, Kind::wait);
    sleep_.note_poll(false);
    std::thread service([&] {
        while (!sleep()) {
        }
    });
    stay.rest();
    service.join();
}

TEST_F(ServiceSleepTest, listens_to_the_gateway_after_a_nap_without_the_expected_thread) {
    make_trusted();
    link_.event_.signal();
    {
        const ServiceSleep::Stay stay(sleep_, Kind::wait);
        sleep_.note_poll(false);
    }
    EXPECT_TRUE(sleep_.presence().is_anybody_there());
    (void)sleep();  // a nap
    EXPECT_FALSE(sleep_.presence().is_anybody_there());
    EXPECT_TRUE(sleep());
    sleep_.note_work();
    EXPECT_TRUE(sleep_.presence().is_service_needed());  // the next time it listens at once
}

TEST_F(ServiceSleepTest, is_woken_when_the_gateway_is_due_before_it_would_look) {
    std::atomic<int> sleeps{0};
    std::thread service([&] {
        EXPECT_TRUE(sleep());  // no limit: the gateway is not due
        ++sleeps;
    });
    while (sleeps == 0) {
        link_.due_at_ns_ = os::now_ns() + 1'000;
        sleep_.note_poll(true);
    }
    service.join();
}

TEST_F(ServiceSleepTest, sleeps_on_where_the_timer_was_set_for_an_earlier_sleep) {
    link_.due_at_ns_ = os::now_ns() + 2'000'000;
    link_.event_.signal();
    EXPECT_TRUE(sleep());  // wakes for the gateway's event, and leaves the timer as it is
    EXPECT_TRUE(link_.event_.drain());
    const std::uint64_t due_ns = os::now_ns() + 20'000'000;
    link_.due_at_ns_ = due_ns;
    EXPECT_TRUE(sleep());
    EXPECT_GE(os::now_ns(), due_ns);
}

// Repeats until a round in which the service thread sleeps before the other thread arrives.
TEST_F(ServiceSleepTest, a_new_waiter_takes_the_gateway_over_at_once) {
    std::atomic<bool> is_left_to_it{false};
    for (int round = 0; round < 10'000 && !is_left_to_it; ++round) {
        std::thread service([&] { is_left_to_it = !sleep(); });
        std::this_thread::yield();
        const ServiceSleep::Stay stay(sleep_, Kind::wait);
        link_.event_.signal();
        service.join();
        EXPECT_TRUE(link_.event_.drain());
    }
    EXPECT_TRUE(is_left_to_it);
}

TEST_F(ServiceSleepTest, does_not_sleep_when_the_gateway_is_due) {
    link_.due_at_ns_ = 0;
    EXPECT_TRUE(sleep());
}

TEST_F(ServiceSleepTest, wake_ends_every_sleep) {
    for (const bool is_stood_in_for : {false, true}) {
        std::optional<ServiceSleep::Stay> stay;
        if (is_stood_in_for) {
            stay.emplace(sleep_, Kind::wait);
            sleep_.note_poll(false);
        }
        std::atomic<bool> is_over{false};
        std::thread service([&] {
            (void)sleep();
            is_over = true;
        });
        while (!is_over) sleep_.wake();
        service.join();
    }
}

}  // namespace
}  // namespace acp::gma
