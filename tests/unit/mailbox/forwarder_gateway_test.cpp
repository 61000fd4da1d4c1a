// SPDX-License-Identifier: BSD-3-Clause
// The calls of a process without global addresses (the node's gateway) through its forwarder, over
// every port: puts from its buffers, gets into its own memory, atomics for their old value. One
// thread polls all objects in turn.
#include <cstring>

#include "mailbox/forwarder.hpp"
#include "node/death.hpp"

#include "support/random.hpp"
#include "support/watchdog.hpp"
#include "unit/mailbox/test_rank.hpp"

namespace acp::mailbox::test {
namespace {

using local::test::all_kinds;
using local::test::Kind;
using local::test::make_segment;
using local::test::name_of;

constexpr std::uint32_t procs = 3;
constexpr std::uint32_t datagram_bytes = 1408;
constexpr std::uint32_t asker = 2;

class ForwarderGatewayTest : public testing::TestWithParam<Kind> {
protected:
    ForwarderGatewayTest() : segment_(make_segment(GetParam(), procs, datagram_bytes)) {
        acp::test::arm_watchdog(120, "a forwarder test");
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            ranks_.push_back(std::make_unique<Rank>(segment_, slot, true, false));
        }
        gateway_ = std::make_unique<Forwarder>(ranks_[asker]->space, ranks_[asker]->hazards,
                                               *ranks_[asker]->port, any_epoch);
    }

    ~ForwarderGatewayTest() override { acp::test::arm_watchdog(0, ""); }

    // Polls in turn until all commands of the gateway have completed.
    std::vector<ForwardedEnd> finish() {
        std::vector<ForwardedEnd> ended;
        while (gateway_->outstanding() > 0) {
            gateway_->poll();
            if (!is_owner_stopped_) ranks_[0]->forwarder->poll();
            take_ended(*gateway_, ended);
        }
        take_ended(*gateway_, ended);
        return ended;
    }

    ForwardedEnd only_end() {
        const std::vector<ForwardedEnd> ended = finish();
        EXPECT_EQ(ended.size(), 1U);
        return ended.empty() ? ForwardedEnd{} : ended.front();
    }

    node::Segment segment_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    std::unique_ptr<Forwarder> gateway_;
    bool is_owner_stopped_ = false;
    acp::test::Random random_{42};
};

TEST_P(ForwarderGatewayTest, puts_bytes_it_holds_into_private_memory) {
    const Memory own = ranks_[0]->own;
    for (const std::uint64_t bytes : {1ULL, 8ULL, 100ULL, 1408ULL}) {
        std::vector<char> data(bytes);
        for (char& byte : data) byte = static_cast<char>(random_.next());
        ASSERT_TRUE(gateway_->try_put(5, own.address + 16, data));
        const ForwardedEnd ended = only_end();
        EXPECT_EQ(ended.token, 5U);
        EXPECT_EQ(ended.code, base::Code::ok) << ended.message;
        EXPECT_EQ(std::memcmp(own.bytes + 16, data.data(), bytes), 0);
    }
}

TEST_P(ForwarderGatewayTest, gets_bytes_of_private_memory_into_its_own) {
    const Memory own = ranks_[0]->own;
    for (std::uint64_t i = 0; i < 2000; ++i) own.bytes[i] = static_cast<char>(random_.next());
    for (const std::uint64_t bytes : {1ULL, 8ULL, 100ULL, 1408ULL}) {
        std::vector<char> into(bytes + 1, 'e');
        ASSERT_TRUE(gateway_->try_get(6, own.address + 3, std::span(into).first(bytes)));
        const ForwardedEnd ended = only_end();
        EXPECT_EQ(ended.token, 6U);
        EXPECT_EQ(ended.code, base::Code::ok) << ended.message;
        EXPECT_EQ(std::memcmp(own.bytes + 3, into.data(), bytes), 0);
        EXPECT_EQ(into[bytes], 'e');
    }
}

TEST_P(ForwarderGatewayTest, an_atomic_gives_its_old_value) {
    const Memory own = ranks_[0]->own;
    std::uint64_t word = 40;
    std::memcpy(own.bytes + 64, &word, 8);
    memory::Command command;
    command.operation = memory::Operation::add;
    command.width = 8;
    command.source = own.address + 64;
    command.operand = 2;
    (void)gateway_->submit_for_value(7, command);
    const ForwardedEnd ended = only_end();
    EXPECT_EQ(ended.code, base::Code::ok) << ended.message;
    EXPECT_EQ(ended.value, 40U);
    std::memcpy(&word, own.bytes + 64, 8);
    EXPECT_EQ(word, 42U);
    command.source = own.address + 65;
    (void)gateway_->submit_for_value(8, command);
    EXPECT_EQ(only_end().code, base::Code::alignment);
}

TEST_P(ForwarderGatewayTest, refuses_when_the_owner_takes_nothing_and_loses_nothing) {
    const Memory own = ranks_[0]->own;
    std::uint64_t taken = 0;
    std::vector<char> data(datagram_bytes);
    for (;; ++taken) {
        std::memcpy(data.data(), &taken, sizeof taken);
        if (!gateway_->try_put(taken, own.address + taken * datagram_bytes, data)) break;
        ASSERT_LE(taken, commands_in_flight_max);
    }
    ASSERT_GT(taken, 0U);
    std::vector<char> into(8);
    EXPECT_FALSE(gateway_->try_get(99, own.address, into));
    EXPECT_EQ(gateway_->outstanding(), taken);
    EXPECT_EQ(finish().size(), taken);
    for (std::uint64_t i = 0; i < taken; ++i) {
        std::uint64_t number = ~0ULL;
        std::memcpy(&number, own.bytes + i * datagram_bytes, sizeof number);
        EXPECT_EQ(number, i);
    }
    EXPECT_TRUE(gateway_->try_get(99, own.address, into));
    EXPECT_EQ(only_end().code, base::Code::ok);
}

TEST_P(ForwarderGatewayTest, bad_addresses_and_vanished_memory_end_with_their_codes) {
    std::vector<char> data(8);
    ASSERT_TRUE(gateway_->try_put(1, ranks_[0]->own.address + private_bytes, data));
    EXPECT_EQ(only_end().code, base::Code::address);
    ASSERT_TRUE(gateway_->try_get(2, 0, data));
    EXPECT_EQ(only_end().code, base::Code::address);
    ASSERT_TRUE(gateway_->try_get(3, ranks_[0]->own.address, data));
    ASSERT_TRUE(ranks_[0]->registry->remove(ranks_[0]->own.address).is_ok());
    EXPECT_EQ(only_end().code, base::Code::stale);
}

TEST_P(ForwarderGatewayTest, the_death_of_the_owner_ends_what_it_was_asked) {
    std::vector<char> data(8);
    is_owner_stopped_ = true;
    ASSERT_TRUE(gateway_->try_put(1, ranks_[0]->own.address, data));
    ASSERT_TRUE(gateway_->try_get(2, ranks_[0]->own.address, data));
    node::mark_dead(segment_, 0, 9);
    gateway_->on_death(0);
    const std::vector<ForwardedEnd> ended = finish();
    ASSERT_EQ(ended.size(), 2U);
    EXPECT_EQ(ended[0].code, base::Code::peer);
    EXPECT_EQ(ended[1].code, base::Code::peer);
    ASSERT_TRUE(gateway_->try_get(3, ranks_[0]->own.address, data));
    EXPECT_EQ(only_end().code, base::Code::peer);
}

INSTANTIATE_TEST_SUITE_P(over, ForwarderGatewayTest, testing::ValuesIn(all_kinds), name_of);

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
