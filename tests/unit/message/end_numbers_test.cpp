// SPDX-License-Identifier: BSD-3-Clause
// The numbers of channel ends.
#include "message/end_numbers.hpp"

#include <gtest/gtest.h>
#include <latch>
#include <new>
#include <thread>
#include <vector>

namespace acp::message {
namespace {

TEST(EndNumbers, count_what_was_made_for_each_two_processes) {
    EndNumbers numbers;
    std::vector<std::uint64_t> seen;
    const auto made = [&](std::uint64_t number) {
        seen.push_back(number);
        return base::Status();
    };
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(numbers.make_next(1, 2, made).is_ok());
    EXPECT_TRUE(numbers.make_next(2, 1, made).is_ok());
    EXPECT_TRUE(numbers.make_next(1, 2, made).is_ok());
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 0, 3}));
}

TEST(EndNumbers, give_the_number_of_an_end_that_could_not_be_made_to_the_next) {
    EndNumbers numbers;
    const auto refused = [](std::uint64_t number) {
        EXPECT_EQ(number, 0U);
        return base::Status(base::Code::limit, "no");
    };
    EXPECT_EQ(numbers.make_next(1, 2, refused).code(), base::Code::limit);
    const auto thrown = [](std::uint64_t /*number*/) -> base::Status { throw std::bad_alloc(); };
    EXPECT_EQ(numbers.make_next(1, 2, thrown).code(), base::Code::memory);
    EXPECT_TRUE(numbers
                    .make_next(1, 2,
                               [](std::uint64_t number) {
                                   EXPECT_EQ(number, 0U);
                                   return base::Status();
                               })
                    .is_ok());
}

// With one lock for all numbers this would wait for ever.
TEST(EndNumbers, refuse_a_wait_for_an_end_of_another_process) {
    EndNumbers numbers;
    std::latch begun(1);
    std::latch made_another(1);
    std::thread slow([&] {
        (void)numbers.make_next(1, 2, [&](std::uint64_t /*number*/) {
            begun.count_down();
            made_another.wait();
            return base::Status();
        });
    });
    begun.wait();
    EXPECT_TRUE(
        numbers.make_next(1, 3, [](std::uint64_t /*number*/) { return base::Status(); }).is_ok());
    made_another.count_down();
    slow.join();
}

}  // namespace
}  // namespace acp::message
