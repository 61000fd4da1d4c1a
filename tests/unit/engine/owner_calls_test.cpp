// SPDX-License-Identifier: BSD-3-Clause
// Requests to the owners of private memory: a long copy is cut into messages and has one end, an
// owner that takes nothing keeps no other one waiting, the number of requests is bounded, and a
// failed piece, a death and refused memory each end a request once. One thread polls all.
#include "engine/owner_calls.hpp"

#include <map>

#include "node/death.hpp"

#include "support/refuse_memory.hpp"
#include "unit/engine/gateway_slot.hpp"

namespace acp::engine::test {
namespace {

using base::Code;
using Begun = OwnerCalls::Begun;
using memory::Command;
using memory::Operation;

class OwnerCallsTest : public testing::Test {
protected:
    void poll() {
        (void)calls_.poll();
        for (std::size_t i = 0; i < calls_.ended().size(); ++i) {
            const SettledAccess& end = calls_.ended()[i];
            EXPECT_TRUE(ended_.emplace(end.ticket, end).second) << end.ticket << " ended twice";
        }
        calls_.ended().clear();
    }

    // Polls the gateway's side and these owners until all requests have ended.
    void finish(const std::vector<std::uint32_t>& owners) {
        while (!calls_.is_idle()) {
            for (const std::uint32_t owner : owners) node_.poll_rank(owner);
            poll();
        }
    }

    // Atomics on a word of the rank, until no more are accepted. Returns their number.
    std::uint32_t fill(std::uint32_t rank, Ticket first) {
        std::uint32_t count = 0;
        while (calls_.run_for_value(rank, add_to(rank), first + count) == Begun::yes) ++count;
        return count;
    }

    [[nodiscard]] Command add_to(std::uint32_t rank) const {
        return {Operation::add, 8, 0, node_.own(rank).address + word, 8, 1, 0};
    }

    [[nodiscard]] std::uint64_t word_of(std::uint32_t rank) const {
        std::uint64_t value = 0;
        std::memcpy(&value, node_.own(rank).bytes + word, sizeof value);
        return value;
    }

    static constexpr std::uint64_t word = 3 << 20;

    GatewaySlot node_{{2, 1}};
    OwnerCalls calls_{node_.space, node_.hazards, *node_.port};
    std::size_t piece_ = node_.port->datagram_bytes();
    std::map<Ticket, SettledAccess> ended_;
};

TEST_F(OwnerCallsTest, a_put_of_any_length_arrives_whole_and_ends_once) {
    std::uint32_t seed = 0;
    for (const std::size_t bytes :
         {std::size_t{1}, piece_ - 1, piece_, piece_ + 1, 5 * piece_ + 7, std::size_t{1} << 20}) {
        const std::vector<std::byte> expected = pattern(bytes, ++seed);
        std::vector<std::byte> given = expected;
        ASSERT_EQ(calls_.put(1, node_.own(1).address, given, seed), Begun::yes);
        given.assign(bytes, std::byte{0});  // the caller may reuse its memory at once
        EXPECT_FALSE(calls_.is_idle());
        finish({1});
        ASSERT_EQ(ended_[seed].code, Code::ok) << bytes;
        EXPECT_EQ(bytes_at(node_.own(1).bytes, bytes), expected) << bytes;
    }
    EXPECT_EQ(ended_.size(), seed);
}

TEST_F(OwnerCallsTest, a_get_of_any_length_reads_all_bytes_and_no_more) {
    std::uint32_t seed = 40;
    for (const std::size_t bytes : {std::size_t{1}, piece_, piece_ + 1, 90 * piece_ + 7}) {
        const std::vector<std::byte> expected = pattern(bytes, ++seed);
        std::memcpy(node_.own(0).bytes + 64, expected.data(), bytes);
        std::vector<std::byte> into(bytes + 1, std::byte{0xee});
        ASSERT_EQ(calls_.get(0, node_.own(0).address + 64, std::span(into).first(bytes), seed),
                  Begun::yes);
        finish({0});
        ASSERT_EQ(ended_[seed].code, Code::ok) << bytes;
        EXPECT_EQ(into.back(), std::byte{0xee});
        into.pop_back();
        EXPECT_EQ(into, expected) << bytes;
    }
}

// The mailbox of an owner that takes nothing is full before a long put has left.
TEST_F(OwnerCallsTest, rests_without_room_wait_and_are_no_work_until_there_is_room) {
    const std::vector<std::byte> bytes = pattern(2 << 20, 9);
    ASSERT_EQ(calls_.put(1, node_.own(1).address, bytes, 7), Begun::yes);
    while (calls_.has_work()) poll();  // a gateway may sleep then
    EXPECT_FALSE(calls_.is_idle());
    EXPECT_NE(bytes_at(node_.own(1).bytes, bytes.size()), bytes);
    const std::vector<std::byte> brief = pattern(8, 1);
    EXPECT_EQ(calls_.put(1, node_.own(1).address, brief, 8), Begun::no_room);
    EXPECT_FALSE(calls_.has_work());
    ASSERT_EQ(calls_.put(0, node_.own(0).address, brief, 9), Begun::yes)
        << "one owner keeps another one waiting";
    while (!ended_.contains(9)) {
        node_.poll_rank(0);
        poll();
    }
    EXPECT_FALSE(ended_.contains(7));
    node_.poll_rank(1);
    EXPECT_TRUE(calls_.has_work());
    finish({1});
    EXPECT_EQ(ended_[7].code, Code::ok);
    EXPECT_FALSE(ended_.contains(8)) << "a refused request has no end";
    EXPECT_EQ(bytes_at(node_.own(1).bytes, bytes.size()), bytes);
}

TEST_F(OwnerCallsTest, requests_to_one_process_are_bounded_and_those_to_another_one_are_not) {
    EXPECT_EQ(fill(1, 100), calls_max);
    std::vector<std::byte> one(1);
    EXPECT_EQ(calls_.put(1, node_.own(1).address, one, 1), Begun::no_room);
    EXPECT_EQ(calls_.get(1, node_.own(1).address, one, 2), Begun::no_room);
    EXPECT_EQ(calls_.run(1, add_to(1), 3), Begun::no_room);
    EXPECT_EQ(fill(0, 300), calls_max);
    finish({0, 1});
    EXPECT_EQ(ended_.size(), std::size_t{2} * calls_max);
    EXPECT_EQ(word_of(1), calls_max);
    // The old values of the additions are all numbers below calls_max.
    std::vector<bool> has_come(calls_max);
    for (Ticket ticket = 100; ticket < 100 + calls_max; ++ticket)
        has_come[ended_[ticket].value] = true;
    EXPECT_EQ(std::count(has_come.begin(), has_come.end(), true), calls_max);
    EXPECT_EQ(calls_.put(1, node_.own(1).address, one, 1), Begun::yes) << "room has come back";
    finish({1});
}

TEST_F(OwnerCallsTest, a_piece_that_fails_ends_the_whole_copy_with_its_error) {
    const std::uint64_t at = mailbox::test::private_bytes - piece_;
    std::vector<std::byte> bytes = pattern(40 * piece_, 5);
    ASSERT_EQ(calls_.put(1, node_.own(1).address + at, bytes, 1), Begun::yes);
    finish({1});
    EXPECT_EQ(ended_[1].code, Code::address);
    ASSERT_EQ(calls_.get(1, node_.own(1).address + at, bytes, 2), Begun::yes);
    finish({1});
    EXPECT_EQ(ended_[2].code, Code::address);
    EXPECT_EQ(ended_.size(), 2U);
    EXPECT_EQ(fill(1, 100), calls_max) << "a failed request has kept its place";
    finish({1});
}

TEST_F(OwnerCallsTest, a_death_ends_the_requests_to_that_process_and_no_others) {
    const std::vector<std::byte> bytes = pattern(2 << 20, 3);
    ASSERT_EQ(calls_.put(1, node_.own(1).address, bytes, 1), Begun::yes);
    std::vector<std::byte> into(8);
    ASSERT_EQ(calls_.get(0, node_.own(0).address, into, 2), Begun::yes);
    EXPECT_EQ(fill(0, 300), calls_max - 1);
    node::mark_dead(node_.segment, 1, 9);
    calls_.on_death(1);
    finish({0});
    EXPECT_EQ(ended_[1].code, Code::peer);
    EXPECT_EQ(ended_[2].code, Code::ok);
    EXPECT_EQ(word_of(0), calls_max - 1);
    EXPECT_EQ(ended_.size(), calls_max + 1);
}

// The first calls_max requests need no memory of the requests' own.
TEST_F(OwnerCallsTest, without_memory_nothing_is_begun_and_the_next_request_runs) {
    EXPECT_EQ(fill(0, 300), calls_max);
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        EXPECT_EQ(calls_.run(1, add_to(1), 1), Begun::no_memory);
        std::byte one{1};
        EXPECT_EQ(calls_.put(1, node_.own(1).address, {&one, 1}, 2), Begun::no_memory);
        EXPECT_EQ(calls_.get(1, node_.own(1).address, {&one, 1}, 3), Begun::no_memory);
    }
    EXPECT_EQ(word_of(1), 0U);
    EXPECT_EQ(calls_.run_for_value(1, add_to(1), 4), Begun::yes);
    finish({0, 1});
    EXPECT_EQ(ended_[4].code, Code::ok);
    EXPECT_EQ(word_of(1), 1U);
    EXPECT_EQ(ended_.size(), calls_max + 1);
}

// Completions that the gateway has not taken yet keep their places.
TEST_F(OwnerCallsTest, without_memory_for_its_completion_nothing_is_begun) {
    EXPECT_EQ(fill(0, 300), calls_max);
    while (!calls_.is_idle()) {
        node_.poll_rank(0);
        (void)calls_.poll();
    }
    ASSERT_EQ(calls_.ended().size(), calls_max);
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        EXPECT_EQ(calls_.run(1, add_to(1), 1), Begun::no_memory);
    }
    EXPECT_EQ(calls_.run(1, add_to(1), 1), Begun::yes);
    finish({1});
    EXPECT_EQ(ended_.size(), calls_max + 1);
}

TEST_F(OwnerCallsTest, each_refused_allocation_of_a_long_put_is_reported) {
    const std::vector<std::byte> bytes = pattern(1 << 20, 3);
    Begun begun = Begun::no_memory;
    std::uint64_t refused = 0;
    while (begun == Begun::no_memory) {
        ASSERT_LT(++refused, 100U);
        const acp::test::Refusal refusal(refused);
        begun = calls_.put(1, node_.own(1).address, bytes, refused);
        EXPECT_EQ(calls_.is_idle(), begun == Begun::no_memory);
    }
    EXPECT_GT(refused, 1U) << "no allocation was refused";
    ASSERT_EQ(begun, Begun::yes);
    finish({1});
    EXPECT_EQ(ended_.size(), 1U);
    EXPECT_EQ(bytes_at(node_.own(1).bytes, bytes.size()), bytes);
}

}  // namespace
}  // namespace acp::engine::test
