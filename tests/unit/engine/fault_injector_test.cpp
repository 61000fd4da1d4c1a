// SPDX-License-Identifier: BSD-3-Clause
// The effects of the fault injector on datagrams, and their repetition with the same seed. One
// thread.
#include "engine/fault_injector.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace acp::engine {
namespace {

constexpr std::uint32_t datagram_bytes = 100;

// A network that records the datagrams that reach it.
struct Wire {
    std::vector<std::uint32_t> numbers;  // each datagram has one; in order of arrival
    std::uint64_t damaged_bits = 0;
    std::uint64_t calls = 0;
    bool has_room = true;

    bool take(const Transmit& transmit, datagram::MutableBytes bytes) {
        if (!has_room) return false;
        ++calls;
        EXPECT_EQ(bytes.size(), transmit.bytes);
        EXPECT_EQ(bytes.size(), transmit.count * datagram_bytes);
        EXPECT_EQ(transmit.segment_bytes, datagram_bytes);
        for (std::size_t at = 0; at < bytes.size(); at += datagram_bytes) {
            take_one(bytes.subspan(at, datagram_bytes));
        }
        return true;
    }

    void take_one(datagram::MutableBytes bytes) {
        std::uint32_t number = 0;
        std::memcpy(&number, bytes.data(), sizeof number);
        for (std::size_t i = sizeof number; i < bytes.size(); ++i) {
            damaged_bits +=
                static_cast<std::uint64_t>(std::popcount(static_cast<std::uint8_t>(bytes[i])));
        }
        numbers.push_back(number);
    }
};

// Sends `count` numbered datagrams, ten to a burst and a burst each 10 us; returns when the last
// one left.
Time send_all(FaultInjector& injector, Wire& wire, std::uint32_t count, bool is_flushed = true) {
    const FaultInjector::Send send = [&wire](const Transmit& transmit,
                                             datagram::MutableBytes bytes) {
        return wire.take(transmit, bytes);
    };
    Time now = 1000;
    for (std::uint32_t number = 0; number < count; number += 10, now += 10'000) {
        std::array<std::byte, 10 * datagram_bytes> burst{};
        for (std::uint32_t i = 0; i < 10; ++i) {
            const std::uint32_t own = number + i;
            std::memcpy(burst.data() + i * datagram_bytes, &own, sizeof own);
        }
        injector.transmit(now, {{}, burst.size(), datagram_bytes, 10, false}, burst, send);
        if (is_flushed) injector.flush(now, send);
    }
    while (is_flushed && injector.deadline() != datagram::never) {
        now = injector.deadline();
        injector.flush(now, send);
    }
    return now;
}

Wire sent_under(const std::string& plan, std::uint32_t count) {
    FaultInjector injector(*base::parse_fault_plan(plan));
    Wire wire;
    send_all(injector, wire, count);
    return wire;
}

TEST(FaultInjector, a_harmless_plan_changes_nothing) {
    const Wire wire = sent_under("", 1000);
    ASSERT_EQ(wire.numbers.size(), 1000U);
    for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(wire.numbers[i], i);
    EXPECT_EQ(wire.damaged_bits, 0U);
}

// If faults split bursts, they would cost more than the datagrams that they lose.
TEST(FaultInjector, leaves_what_it_does_not_touch_in_bursts) {
    const Wire wire = sent_under("loss=0.01,seed=3", 10'000);
    EXPECT_LT(wire.calls, 1000 + 2 * (10'000 - wire.numbers.size()));
    EXPECT_GE(wire.calls, 1000U);
}

TEST(FaultInjector, loses_the_share_asked_for) {
    const Wire wire = sent_under("loss=0.1,seed=3", 100'000);
    EXPECT_NEAR(static_cast<double>(wire.numbers.size()), 90'000, 600);
}

TEST(FaultInjector, the_same_seed_loses_the_same_datagrams) {
    const std::string plan = "loss=0.2,dup=0.1,reorder=16,corrupt=0.05,seed=";
    EXPECT_EQ(sent_under(plan + "7", 5000).numbers, sent_under(plan + "7", 5000).numbers);
    EXPECT_NE(sent_under(plan + "7", 5000).numbers, sent_under(plan + "8", 5000).numbers);
}

TEST(FaultInjector, losses_of_a_burst_come_in_a_row_at_the_same_share) {
    const Wire wire = sent_under("loss=0.1,burst=50", 100'000);
    EXPECT_NEAR(static_cast<double>(wire.numbers.size()), 90'000, 4000);
    std::uint32_t gaps = 0;
    for (std::size_t i = 1; i < wire.numbers.size(); ++i) {
        const std::uint32_t missing = wire.numbers[i] - wire.numbers[i - 1] - 1;
        if (missing > 0) {
            ++gaps;
            EXPECT_GE(missing, 50U);
        }
    }
    EXPECT_GT(gaps, 100U);
}

TEST(FaultInjector, doubles_the_share_asked_for) {
    const Wire wire = sent_under("dup=0.25", 10'000);
    EXPECT_NEAR(static_cast<double>(wire.numbers.size()), 12'500, 300);
}

TEST(FaultInjector, turns_one_bit_of_the_share_asked_for) {
    FaultInjector injector(*base::parse_fault_plan("corrupt=0.5"));
    Wire wire;
    send_all(injector, wire, 1000);
    ASSERT_EQ(wire.numbers.size(), 1000U);
    EXPECT_NEAR(static_cast<double>(injector.counters().corrupted), 500, 80);
    EXPECT_LE(wire.damaged_bits, injector.counters().corrupted);  // some hit the number
    EXPECT_GE(wire.damaged_bits, injector.counters().corrupted * 8 / 10);
}

TEST(FaultInjector, reorders_by_no_more_than_asked_and_loses_nothing) {
    const Wire wire = sent_under("reorder=16", 10'000);
    ASSERT_EQ(wire.numbers.size(), 10'000U);
    std::vector<bool> seen(10'000);
    std::uint32_t latest = 0;
    std::uint32_t late = 0;
    for (const std::uint32_t number : wire.numbers) {
        EXPECT_FALSE(seen[number]);
        seen[number] = true;
        if (number < latest) {
            ++late;
            EXPECT_LE(latest - number, 16U + 10U);  // and the rest of the burst it came in
        }
        latest = std::max(latest, number);
    }
    EXPECT_NEAR(late, 10'000 / 8, 200);
}

TEST(FaultInjector, a_delay_holds_every_datagram_for_that_long) {
    FaultInjector injector(*base::parse_fault_plan("delay=1ms"));
    Wire wire;
    send_all(injector, wire, 10, false);
    EXPECT_TRUE(wire.numbers.empty());
    EXPECT_EQ(injector.deadline(), 1000U + 1'000'000U);
    const FaultInjector::Send send = [&wire](const Transmit& transmit,
                                             datagram::MutableBytes bytes) {
        return wire.take(transmit, bytes);
    };
    injector.flush(injector.deadline() - 1, send);
    EXPECT_TRUE(wire.numbers.empty());
    injector.flush(injector.deadline(), send);
    EXPECT_EQ(wire.numbers.size(), 10U);
    EXPECT_EQ(injector.deadline(), datagram::never);
}

TEST(FaultInjector, a_blackhole_swallows_its_time_and_no_more) {
    // bursts of ten, one each 10 us
    const Wire wire = sent_under("blackhole=1ms..2ms", 3000);
    EXPECT_EQ(wire.numbers.size(), 2000U);
    for (const std::uint32_t number : wire.numbers) EXPECT_TRUE(number < 1000 || number >= 2000);
}

TEST(FaultInjector, what_the_socket_refuses_is_kept_and_sent_later) {
    FaultInjector injector(*base::parse_fault_plan("dup=0"));
    Wire wire;
    wire.has_room = false;
    send_all(injector, wire, 20, false);
    EXPECT_TRUE(wire.numbers.empty());
    wire.has_room = true;
    const FaultInjector::Send send = [&wire](const Transmit& transmit,
                                             datagram::MutableBytes bytes) {
        return wire.take(transmit, bytes);
    };
    EXPECT_TRUE(injector.flush(1'000'000, send));
    EXPECT_EQ(wire.numbers.size(), 20U);
}

TEST(FaultInjector, holds_no_more_than_its_limit_for_long) {
    constexpr std::uint32_t fitting = held_datagrams_max / 10 * 10;
    FaultInjector injector(*base::parse_fault_plan("delay=10s"));
    Wire wire;
    send_all(injector, wire, fitting, false);
    EXPECT_EQ(wire.numbers.size(), 0U);
    FaultInjector crowded(*base::parse_fault_plan("delay=10s"));
    Wire early;
    send_all(crowded, early, fitting + 10, false);
    EXPECT_EQ(early.numbers.size(), 0U);
    const FaultInjector::Send send = [&early](const Transmit& transmit,
                                              datagram::MutableBytes bytes) {
        return early.take(transmit, bytes);
    };
    crowded.flush(1000, send);
    EXPECT_EQ(early.numbers.size(), fitting + 10);
}

}  // namespace
}  // namespace acp::engine
