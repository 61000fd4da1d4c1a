// SPDX-License-Identifier: BSD-3-Clause
// Functions that stop and are resumed, also by other threads, and that leak nothing.
#include "os/fiber.hpp"

#include <array>
#include <cfenv>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "os/thread.hpp"

namespace acp::os {
namespace {

std::unique_ptr<Fiber> made() {
    auto fiber = Fiber::make();
    EXPECT_TRUE(fiber.is_ok());
    return std::move(fiber).value();
}

TEST(Fiber, continues_where_it_stopped) {
    const auto fiber = made();
    std::vector<int> steps;
    fiber->start([&] {
        for (int i = 0; i < 3; ++i) {
            steps.push_back(i);
            fiber->stop();
        }
        steps.push_back(3);
    });
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(fiber->is_under_way());
        EXPECT_EQ(steps.size(), static_cast<std::size_t>(i) + 1);
        fiber->resume();
    }
    EXPECT_FALSE(fiber->is_under_way());
    EXPECT_EQ(steps, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Fiber, runs_one_function_after_another) {
    const auto fiber = made();
    int runs = 0;
    for (int i = 0; i < 100; ++i) {
        fiber->start([&] {
            if (i % 2 == 0) fiber->stop();
            ++runs;
        });
        if (fiber->is_under_way()) fiber->resume();
        ASSERT_FALSE(fiber->is_under_way());
        ASSERT_EQ(runs, i + 1);
    }
}

TEST(Fiber, rounds_as_the_thread_that_resumes_it) {
    const auto fiber = made();
    std::vector<int> seen;
    const auto note = [&] { seen.push_back(std::fegetround()); };
    const auto function = [&] {
        note();
        fiber->stop();
        note();
    };
    for (const int way : {FE_UPWARD, FE_DOWNWARD}) {
        ASSERT_EQ(std::fesetround(way), 0);
        fiber->start(function);
        ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
        fiber->resume();
        note();
    }
    const std::vector<int> expected{FE_UPWARD,   FE_TONEAREST, FE_TONEAREST,
                                    FE_DOWNWARD, FE_TONEAREST, FE_TONEAREST};
    EXPECT_EQ(seen, expected);
}

TEST(Fiber, drops_the_function_when_it_has_ended) {
    const auto fiber = made();
    const auto held = std::make_shared<int>(1);
    fiber->start([&fiber, held] { fiber->stop(); });
    EXPECT_EQ(held.use_count(), 2);
    fiber->resume();
    EXPECT_EQ(held.use_count(), 1);
}

TEST(Fiber, is_resumed_by_any_thread) {
    const auto fiber = made();
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint64_t resumer = 0;
    fiber->start([&] {
        first = own_thread();
        fiber->stop();
        second = own_thread();
    });
    std::thread other([&] {
        resumer = own_thread();
        fiber->resume();
    });
    other.join();
    EXPECT_FALSE(fiber->is_under_way());
    EXPECT_EQ(first, own_thread());
    EXPECT_EQ(second, resumer);
}

TEST(Fiber, throws_and_catches_on_its_own_stack) {
    const auto fiber = made();
    std::string caught;
    fiber->start([&] {
        try {
            fiber->stop();
            throw std::runtime_error("thrown");
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
    });
    fiber->resume();
    EXPECT_EQ(caught, "thrown");
}

TEST(Fiber, has_most_of_its_stack_for_the_function) {
    const auto fiber = made();
    std::uint64_t sum = 0;
    fiber->start([&] {
        std::array<volatile char, 200 * 1024> room;
        for (std::size_t i = 0; i < room.size(); ++i) room[i] = static_cast<char>(i);
        for (const volatile char& each : room) sum += static_cast<unsigned char>(each);
    });
    EXPECT_EQ(sum, 200U * 1024 / 256 * (255 * 128));
}

TEST(Fiber, two_of_them_take_turns) {
    const auto first = made();
    const auto second = made();
    std::string order;
    first->start([&] {
        order += 'a';
        second->start([&] {
            order += 'b';
            second->stop();
            order += 'd';
        });
        order += 'c';
        first->stop();
        order += 'e';
    });
    second->resume();
    first->resume();
    EXPECT_EQ(order, "abcde");
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
