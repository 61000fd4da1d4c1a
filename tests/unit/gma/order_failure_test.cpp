// SPDX-License-Identifier: BSD-3-Clause
// The message about a command that did not run because a command before it in its order failed.
// command_queue_test.cpp tests when that happens.
#include <gtest/gtest.h>
#include <string>

#include "gma/command_queue.hpp"

namespace acp::gma::test {
namespace {

// The message of a command that did not run: its call, its initiator, and the handle that it was
// ordered after.
TEST(OrderFailureTest, a_command_that_does_not_run_names_its_call_and_the_failed_handle) {
    Marks marks;
    CommandQueue queue(marks, " by rank 3 on host");
    const memory::Command add{.operation = memory::Operation::add,
                              .width = 8,
                              .target = 0x10,
                              .source = 0x20,
                              .bytes = 8};
    const memory::Command copy{.bytes = 8};
    const auto message = [&](std::uint64_t number) {
        const auto failure = queue.take_failure(number);
        return failure ? std::string(failure->message()) : std::string();
    };
    const std::uint64_t first = queue.admit(copy, handle_null).number;
    const std::uint64_t waits = queue.admit(add, first).number;
    const std::uint64_t follows = queue.admit(copy, handle_cont).number;
    CommandList ready;
    queue.finish(first, {base::Code::peer, "the failure of 2"}, ready);
    const std::uint64_t late = queue.admit(add, handle_all).number;
    EXPECT_EQ(message(first), "the failure of 2");
    EXPECT_EQ(message(waits),
              "acp_add8 by rank 3 on host: not run (target 0x10, source 0x20): the command of "
              "handle 2, which it was ordered after, failed");
    EXPECT_EQ(message(follows).rfind("acp_copy by rank 3 on host: not run", 0), 0U);
    EXPECT_NE(message(late).find("the command of handle 2,"), std::string::npos);
    const std::uint64_t again = queue.admit(add, waits).number;
    EXPECT_NE(message(again).find("the command of handle 4,"), std::string::npos);
    const std::uint64_t behind = queue.admit_failed({base::Code::address, "the failure of 12"});
    EXPECT_EQ(behind, queue.admit(add, handle_cont).number - 2);
    (void)message(behind);
    EXPECT_NE(message(behind + 2).find("the command of handle 12,"), std::string::npos);
}

}  // namespace
}  // namespace acp::gma::test
