// SPDX-License-Identifier: BSD-3-Clause
// The order of the commands of a call that issues several.
#include <gtest/gtest.h>
#include <utility>

#include "gma/command_queue.hpp"

namespace acp::gma::test {
namespace {

class ListOrderTest : public testing::Test {
protected:
    std::uint64_t admit(Handle order) {
        EXPECT_TRUE(queue_.has_room());
        return queue_.admit({.bytes = 8}, order).number;
    }

    void finish(std::uint64_t number, base::Status status = {}) {
        CommandList ready;
        queue_.finish(number, std::move(status), ready);
    }

    Marks marks_;
    CommandQueue queue_{marks_};
};

TEST_F(ListOrderTest, an_order_stays_what_it_was_when_the_list_began) {
    EXPECT_EQ(queue_.fixed(handle_all), handle_null);
    const std::uint64_t first = admit(handle_null);
    const std::uint64_t second = admit(handle_null);
    EXPECT_EQ(queue_.fixed(handle_null), handle_null);
    EXPECT_EQ(queue_.fixed(handle_all), second);
    EXPECT_EQ(queue_.fixed(handle_cont), second);
    EXPECT_EQ(queue_.fixed(first), first);
    finish(first);
    EXPECT_EQ(queue_.fixed(first), handle_null);
}

TEST_F(ListOrderTest, a_failed_order_is_reported_as_long_as_it_is_used) {
    const std::uint64_t failed = queue_.admit_failed({base::Code::address, "a failure"});
    EXPECT_TRUE(queue_.is_failed(failed));
    EXPECT_TRUE(queue_.is_failed(handle_all));
    EXPECT_TRUE(queue_.is_failed(handle_cont));
    EXPECT_FALSE(queue_.is_failed(handle_null));
    ASSERT_TRUE(queue_.take_failure_of(failed));
    EXPECT_TRUE(queue_.is_failed(failed));
    EXPECT_FALSE(queue_.is_failed(handle_all));
    EXPECT_FALSE(queue_.is_failed(handle_cont));
}

}  // namespace
}  // namespace acp::gma::test
