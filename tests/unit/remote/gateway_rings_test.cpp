// SPDX-License-Identifier: BSD-3-Clause
// The gateway's end of the rings: fair between processes, robust against invalid records, and
// ringing the right bells. Processes are links of this thread.
#include "remote/gateway_rings.hpp"

#include <algorithm>

#include "node/death.hpp"
#include "node/wait.hpp"

#include "unit/remote/test_gateway.hpp"

namespace acp::remote::test {
namespace {

constexpr std::uint32_t procs = 3;

class GatewayRingsTest : public testing::Test {
protected:
    void SetUp() override {
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            links_.push_back(std::make_unique<RingLink>(segment_, slot));
        }
    }

    void submit(std::uint32_t slot, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            ASSERT_TRUE(links_[slot]->submit(2 * ++tokens_[slot], copy_to(segment_, procs)));
        }
        links_[slot]->flush();
    }

    // Takes commands and notes their slots.
    std::uint32_t take(std::uint32_t commands_max) {
        return rings_.take(
            [this](std::uint32_t slot, std::uint64_t token, const memory::Command& command) {
                if (slot == refused_slot_) return false;
                EXPECT_EQ(command.bytes, 8U);
                EXPECT_EQ(command.target, copy_to(segment_, procs).target);
                last_token_ = token;
                slots_.push_back(slot);
                return true;
            },
            commands_max);
    }

    std::vector<Ended> poll(std::uint32_t slot) {
        std::vector<Ended> ended;
        (void)links_[slot]->poll(ended);
        return ended;
    }

    node::Segment segment_ = make_segment(procs);
    GatewayRings rings_{segment_};
    std::vector<std::unique_ptr<RingLink>> links_;
    std::uint64_t tokens_[procs] = {};
    std::vector<std::uint32_t> slots_;
    std::uint64_t last_token_ = 0;
    std::uint32_t refused_slot_ = procs;
};

TEST_F(GatewayRingsTest, sees_a_command_only_after_it_was_flushed) {
    EXPECT_FALSE(rings_.has_commands());
    ASSERT_TRUE(links_[1]->submit(2, copy_to(segment_, procs)));
    EXPECT_FALSE(rings_.has_commands());
    links_[1]->flush();
    EXPECT_TRUE(rings_.has_commands());
    EXPECT_EQ(take(10), 1U);
    EXPECT_FALSE(rings_.has_commands());
    EXPECT_EQ(rings_.outstanding(1), 1U);
}

TEST_F(GatewayRingsTest, takes_from_each_process_in_turn) {
    submit(0, 1000);
    submit(1, 5);
    submit(2, 40);
    constexpr std::uint32_t each = GatewayRings::commands_per_poll;
    EXPECT_EQ(take(each + 5 + each), each + 5 + each);
    EXPECT_EQ(std::count(slots_.begin(), slots_.end(), 1U), 5);
    EXPECT_EQ(std::count(slots_.begin(), slots_.end(), 2U), each);
    EXPECT_TRUE(rings_.has_commands());
    EXPECT_EQ(take(10'000), 1000 - each + 8);
    EXPECT_FALSE(rings_.has_commands());
}

TEST_F(GatewayRingsTest, a_command_without_room_delays_no_other_and_is_offered_again) {
    submit(0, 3);
    submit(1, 3);
    refused_slot_ = 0;
    EXPECT_EQ(take(100), 3U);
    EXPECT_FALSE(rings_.has_commands()) << "or the gateway would never sleep";
    EXPECT_EQ(rings_.outstanding(0), 0U);
    EXPECT_EQ(take(100), 0U);
    submit(1, 1);
    EXPECT_TRUE(rings_.has_commands());
    EXPECT_EQ(take(100), 1U);
    refused_slot_ = procs;
    EXPECT_EQ(take(100), 3U);
    EXPECT_EQ(last_token_, 6U);
}

TEST_F(GatewayRingsTest, a_record_that_makes_no_sense_ends_with_an_error_and_is_not_offered) {
    submit(0, 4);
    RingPair& pair = ring_pair(segment_, 0);
    pair.commands[0].command.operation = static_cast<memory::Operation>(memory::operation_count);
    pair.commands[1].command.operation = memory::Operation::add;  // an atomic without a width
    pair.commands[2].command.operation = memory::Operation::bit_and;
    pair.commands[2].command.width = 4;  // an atomic of width 4 with 8 bytes
    EXPECT_EQ(take(100), 1U);
    rings_.flush();
    const auto ended = poll(0);
    ASSERT_EQ(ended.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(ended[i].token, 2 * (i + 1));
        EXPECT_EQ(ended[i].code, base::Code::argument);
    }
    EXPECT_EQ(last_token_, 8U);
    EXPECT_FALSE(rings_.is_closed(0));
}

TEST_F(GatewayRingsTest, a_counter_that_makes_no_sense_closes_that_ring_alone) {
    submit(0, 1);
    submit(1, 1);
    ring_pair(segment_, 0)
        .commands_published.store(node::ring_records + 1, std::memory_order_relaxed);
    EXPECT_EQ(take(100), 1U);
    EXPECT_TRUE(rings_.is_closed(0));
    EXPECT_FALSE(rings_.is_closed(1));
    segment_.control().commands_rung.set(0);
    EXPECT_EQ(take(100), 0U);
    EXPECT_FALSE(rings_.has_commands());
}

TEST_F(GatewayRingsTest, a_process_that_hands_over_more_than_can_end_is_closed) {
    submit(0, node::ring_records);
    EXPECT_EQ(take(10'000), node::ring_records);
    RingPair& pair = ring_pair(segment_, 0);
    pair.commands_published.fetch_add(1, std::memory_order_relaxed);
    segment_.control().commands_rung.set(0);
    EXPECT_EQ(take(10), 0U);
    EXPECT_TRUE(rings_.is_closed(0));
    EXPECT_EQ(rings_.outstanding(0), 0U);
}

TEST_F(GatewayRingsTest, ends_of_what_was_never_taken_are_ignored) {
    rings_.complete(0, {.token = 2});
    rings_.complete(procs, {.token = 2});
    submit(0, 2);
    EXPECT_EQ(take(10), 2U);
    rings_.complete(0, {.token = 2, .count = 9});
    rings_.complete(0, {.token = 2});
    rings_.flush();
    const auto ended = poll(0);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].count, 2U);
}

TEST_F(GatewayRingsTest, a_dead_process_is_polled_no_longer) {
    submit(0, 5);
    submit(1, 1);
    rings_.forget(0);
    EXPECT_EQ(take(10), 1U);
    rings_.complete(0, {.token = 2});
    rings_.flush();
    EXPECT_TRUE(poll(0).empty());
}

TEST_F(GatewayRingsTest, rings_a_waiter_or_else_the_service_thread_if_it_is_needed) {
    node::Door& door = segment_.slot(1).door;
    const auto is_rung = [](sync::Bell<>& bell, std::uint32_t value) {
        return bell.word().load(std::memory_order_relaxed) != value;
    };
    const auto end_one = [&] {
        submit(1, 1);
        EXPECT_EQ(take(1), 1U);
        rings_.complete(1, {.token = 2 * tokens_[1]});
        rings_.flush();
        EXPECT_EQ(poll(1).size(), 1U);
    };
    std::uint32_t service = door.service_bell.announce();
    end_one();
    EXPECT_FALSE(is_rung(door.service_bell, service)) << "no service thread wants this completion";
    links_[1]->set_service_wanted(true);
    end_one();
    EXPECT_TRUE(is_rung(door.service_bell, service));
    service = door.service_bell.announce();
    std::uint32_t waiter = door.waiter_bell.announce();
    door.attendants.store(1, std::memory_order_seq_cst);
    end_one();
    EXPECT_TRUE(is_rung(door.waiter_bell, waiter));
    EXPECT_FALSE(is_rung(door.service_bell, service));
    waiter = door.waiter_bell.announce();
    door.attendants.store(1 - node::doubt, std::memory_order_seq_cst);
    end_one();
    EXPECT_TRUE(is_rung(door.waiter_bell, waiter)) << "it may sleep, though it is doubted";
    EXPECT_TRUE(is_rung(door.service_bell, service)) << "it may be held up";
    service = door.service_bell.announce();
    door.attendants.store(0, std::memory_order_seq_cst);
    links_[1]->set_service_wanted(false);
    end_one();
    EXPECT_FALSE(is_rung(door.service_bell, service));
}

TEST_F(GatewayRingsTest, a_command_wakes_the_gateway_only_when_it_sleeps) {
    auto event = std::move(os::Event::create()).value();
    node::GatewayPort port(segment_);
    port.open(event.fd());
    ASSERT_TRUE(segment_.open_gateway_event().is_ok());
    submit(0, 1);
    EXPECT_FALSE(event.drain());
    EXPECT_EQ(take(1), 1U);
    port.announce_sleep();
    EXPECT_FALSE(port.has_work());
    submit(2, 1);
    EXPECT_TRUE(port.has_work());
    EXPECT_TRUE(event.drain());
    port.end_sleep();
    submit(1, 1);
    EXPECT_FALSE(event.drain());
}

TEST_F(GatewayRingsTest, nonsense_in_what_ended_is_made_harmless_at_the_process) {
    submit(0, 3);
    EXPECT_EQ(take(3), 3U);
    rings_.complete(0, {.token = 2});
    rings_.flush();
    EndedRecord& record = ring_pair(segment_, 0).ended[0];
    record.count = ~0U;
    record.code = base::code_count;  // one past the last
    record.blamed = 3;
    record.process = ~0U;
    const auto ended = poll(0);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].count, 3U) << "one for each command in flight";
    EXPECT_EQ(ended[0].code, base::Code::system);
    EXPECT_EQ(ended[0].blamed, BlamedAddress::none);
    EXPECT_EQ(ended[0].process, procs) << "the last of the job";
}

TEST_F(GatewayRingsTest, a_gateway_that_spoils_its_counter_is_taken_for_dead) {
    ring_pair(segment_, 0).ended_published.store(~0ULL, std::memory_order_relaxed);
    EXPECT_TRUE(links_[0]->has_news());
    EXPECT_TRUE(poll(0).empty());
    EXPECT_TRUE(node::is_dead(segment_, segment_.gateway_slot()));
    EXPECT_FALSE(links_[0]->has_news());
}

// namespace acp::remote::test
}  // namespace
}  // namespace acp::remote::test
