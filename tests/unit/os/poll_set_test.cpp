// SPDX-License-Identifier: BSD-3-Clause
// Waiting for descriptors, in the order in which they become ready.
#include "os/poll_set.hpp"

#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "os/pipe.hpp"
#include "os/standard_streams.hpp"

namespace acp::os::test {
namespace {

PollSet make_set() {
    auto set = PollSet::create();
    EXPECT_TRUE(set.is_ok());
    return std::move(set).value();
}

TEST(PollSetTest, returns_the_descriptor_that_became_ready_first) {
    PollSet set = make_set();
    std::vector<Pipe> pipes;
    for (std::uint64_t i = 0; i < 4; ++i) {
        pipes.push_back(std::move(make_pipe().value()));
        ASSERT_TRUE(set.add(pipes.back().reading.get(), i).is_ok());
    }
    constexpr std::array<std::uint64_t, 4> order{2, 0, 3, 1};
    for (const std::uint64_t i : order) ASSERT_EQ(write_all(pipes[i].writing.get(), "x"), 0);
    std::array<PollEvent, 8> events;
    ASSERT_EQ(set.wait(events, poll_forever), 4U);
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(events[i].token, order[i]);
}

TEST(PollSetTest, ends_after_its_time_with_nothing) {
    PollSet set = make_set();
    std::array<PollEvent, 1> events;
    EXPECT_EQ(set.wait(events, 0), 0U);
    EXPECT_EQ(set.wait(events, 1), 0U);
}

TEST(PollSetTest, reports_a_hung_up_end_and_room_to_write) {
    PollSet set = make_set();
    Pipe pipe = std::move(make_pipe().value());
    std::array<PollEvent, 2> events;
    ASSERT_TRUE(set.add(pipe.writing.get(), 7, PollFor::writing).is_ok());
    ASSERT_EQ(set.wait(events, poll_forever), 1U);
    EXPECT_FALSE(events[0].is_hung_up);
    pipe.reading.close();
    ASSERT_EQ(set.wait(events, poll_forever), 1U);
    EXPECT_TRUE(events[0].is_hung_up);
}

TEST(PollSetTest, forgets_what_is_removed) {
    PollSet set = make_set();
    Pipe pipe = std::move(make_pipe().value());
    ASSERT_TRUE(set.add(pipe.writing.get(), 7, PollFor::writing).is_ok());
    set.remove(pipe.writing.get());
    set.remove(pipe.writing.get());
    std::array<PollEvent, 1> events;
    EXPECT_EQ(set.wait(events, 0), 0U);
}

TEST(PollSetTest, refuses_a_regular_file) {
    PollSet set = make_set();
    auto file = open_for_writing("/dev/null");
    ASSERT_TRUE(file.is_ok());
    EXPECT_EQ(set.add(file.value().get(), 1).code(), base::Code::unsupported);
}

// namespace acp::os::test
}  // namespace
}  // namespace acp::os::test
