// SPDX-License-Identifier: BSD-3-Clause
// How accesses to a simulated process's memory settle: at once, with the flush, later, or refused
// for now; wrong addresses as on a real node. The router is a real one without commands: it counts
// the settled accesses. Main thread only.
#include "sim/placement.hpp"

#include <gtest/gtest.h>

namespace acp::sim {
namespace {

using router::Settlement;
using router::SettlementState;

class Places final : public router::Map {
public:
    [[nodiscard]] NodeId node_of(std::uint32_t process) const noexcept override {
        return process < 4 ? 0 : 1;
    }

    [[nodiscard]] std::uint32_t first_process(NodeId node) const noexcept override {
        return node == 0 ? 0 : node == 1 ? 4 : 5;
    }
};

class NoEnds final : public router::Completions {
public:
    void on_completion(const router::CommandEnd& /*completion*/) override {}

    void on_result(const router::CommandEnd& /*completion*/,
                   std::span<const std::byte> /*result*/) override {}

    void on_process_dead(std::uint32_t /*process*/, const base::ProcessEnd& /*end*/) override {}

    void on_node_dead(NodeId /*node*/) override {}

    void on_met(std::uint32_t /*number*/, std::span<const std::uint32_t> /*table*/) override {}
};

class Count final : public Witness {
public:
    void on_invoked(std::uint32_t process, std::span<const std::byte> /*arguments*/) override {
        invoked.push_back(process);
    }

    std::vector<std::uint32_t> invoked;
};

constexpr std::uint32_t prompt = 0;
constexpr std::uint32_t batched = 1;
constexpr std::uint32_t late = 2;
constexpr std::uint32_t reluctant = 3;

class PlacementTest : public testing::Test {
protected:
    static Plan make() {
        Plan plan;
        plan.first_process = {0, 4, 5};
        plan.manners = {MemoryManner::prompt, MemoryManner::batched, MemoryManner::late,
                        MemoryManner::reluctant, MemoryManner::prompt};
        return plan;
    }

    void SetUp() override { placement_.bind(router_); }

    Settlement put(std::uint32_t process, std::byte value = std::byte{7}) {
        const std::vector<std::byte> bytes(8, value);
        return placement_.put(memory_.address(process, 16), bytes, 1);
    }

    std::byte held(std::uint32_t process) { return memory_.held({process, 16, 1})[0]; }

    // The router knows none of the tickets, so it counts each settled access as a bad ticket.
    [[nodiscard]] std::uint64_t settled() const { return router_.counters().bad_tickets; }

    Plan plan_ = make();
    Memory memory_{1, {64, 64, 64, 64, 64}};
    Agenda agenda_;
    Count witness_;
    std::vector<std::uint8_t> dead_ = std::vector<std::uint8_t>(5);
    ArrayPlacement placement_{{&plan_, &memory_, &agenda_, &witness_, &dead_}, 0, 2};
    Places places_;
    NoEnds ends_;
    router::Router router_{
        {.node = 0, .nodes = 2, .procs = 5}, memory_.layout(), places_, placement_, ends_};
};

TEST_F(PlacementTest, a_prompt_process_settles_in_the_call) {
    EXPECT_EQ(put(prompt).progress, SettlementState::settled);
    EXPECT_EQ(held(prompt), std::byte{7});
    std::vector<std::byte> into(8);
    EXPECT_EQ(placement_.get_now(memory_.address(prompt, 16), into).progress,
              SettlementState::settled);
    EXPECT_EQ(into[0], std::byte{7});
    EXPECT_EQ(placement_.pending(), 0U);
}

TEST_F(PlacementTest, a_batched_process_settles_with_the_flush_from_a_copy_of_the_bytes) {
    const std::byte before = held(batched);
    EXPECT_EQ(put(batched).progress, SettlementState::accepted);
    EXPECT_EQ(held(batched), before);
    EXPECT_EQ(placement_.pending(), 1U);
    placement_.flush();
    EXPECT_EQ(held(batched), std::byte{7});
    EXPECT_EQ(placement_.pending(), 0U);
    EXPECT_EQ(settled(), 1U);
    std::vector<std::byte> into(8);
    EXPECT_EQ(placement_.get_now(memory_.address(batched, 16), into).progress,
              SettlementState::refused);
}

TEST_F(PlacementTest, a_late_process_settles_when_its_event_comes) {
    EXPECT_EQ(put(late).progress, SettlementState::accepted);
    placement_.flush();
    EXPECT_EQ(placement_.pending(), 1U);
    const AgendaEntry event = agenda_.take();
    EXPECT_EQ(event.kind, EventKind::settle);
    EXPECT_GT(event.at, 0U);
    EXPECT_TRUE(placement_.on_event(event));
    EXPECT_EQ(held(late), std::byte{7});
    EXPECT_EQ(settled(), 1U);
}

TEST_F(PlacementTest, an_event_of_a_gateway_that_began_anew_is_not_its) {
    (void)put(late);
    ArrayPlacement next({&plan_, &memory_, &agenda_, &witness_, &dead_}, 0, 3);
    next.bind(router_);
    EXPECT_FALSE(next.on_event(agenda_.take()));
    EXPECT_EQ(settled(), 0U);
}

TEST_F(PlacementTest, a_reluctant_process_refuses_now_and_then_and_not_forever) {
    int refused = 0;
    int accepted = 0;
    for (int i = 0; i < 1000; ++i) {
        put(reluctant).progress == SettlementState::refused ? ++refused : ++accepted;
        agenda_.add(agenda_.now() + 10 * us, EventKind::wake, 0, 0);
        for (bool is_awake = false; !is_awake;) {
            const AgendaEntry event = agenda_.take();
            is_awake = event.kind == EventKind::wake;
            EXPECT_TRUE(is_awake || placement_.on_event(event));
        }
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(accepted, 0);
}

TEST_F(PlacementTest, what_a_process_was_to_do_ends_with_its_death) {
    const std::byte before = held(batched);
    (void)put(batched);
    dead_[batched] = 1;
    placement_.flush();
    EXPECT_EQ(held(batched), before);
    EXPECT_EQ(settled(), 1U);
}

TEST_F(PlacementTest, wrong_addresses_are_refused_as_a_node_refuses_them) {
    std::vector<std::byte> bytes(8);
    EXPECT_EQ(placement_.put(memory_.address(prompt, 60), bytes, 1).code, base::Code::address);
    EXPECT_EQ(placement_.put(memory_.stale_address(late, 0), bytes, 1).code, base::Code::stale);
    EXPECT_EQ(placement_.get(memory_.address(prompt, 57), bytes, 1).code, base::Code::address);
    memory::Command command;
    command.operation = memory::Operation::add;
    command.width = 8;
    command.bytes = 8;
    command.source = memory_.address(prompt, 4);
    std::uint64_t old = 0;
    EXPECT_EQ(placement_.run(command, true, old, 1).code, base::Code::alignment);
    EXPECT_EQ(placement_.pending(), 0U);
}

TEST_F(PlacementTest, an_operation_runs_once_and_returns_the_same_result_each_time) {
    const std::vector<std::byte> arguments(32, std::byte{3});
    std::vector<std::byte> first(64);
    std::vector<std::byte> second(64);
    std::uint32_t bytes = 0;
    ASSERT_EQ(placement_.invoke(operation_echo, prompt, arguments, first, bytes).code,
              base::Code::ok);
    EXPECT_EQ(witness_.invoked, std::vector<std::uint32_t>{prompt});
    EXPECT_EQ(bytes, echo(arguments, second));
    EXPECT_EQ(first, second);
    EXPECT_EQ(placement_.invoke(operation_echo + 1, prompt, arguments, first, bytes).code,
              base::Code::unsupported);
    EXPECT_EQ(witness_.invoked.size(), 1U);
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
