// SPDX-License-Identifier: BSD-3-Clause
// Global memory access of several ranks in one process, on one mapping of the node: routes, order,
// failures, timeouts, the service thread, and threads beyond the hazard lines. The test's thread
// issues for any rank; the ranks' service threads do the rest.
#include "gma/gma.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <ctime>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "node/awaited.hpp"
#include "node/death.hpp"
#include "os/clock.hpp"
#include "os/kernel_features.hpp"
#include "os/process.hpp"

#include "ranks_in_process.hpp"
#include "support/watchdog.hpp"

namespace acp::gma::test {
namespace {

using base::Code;
using base::IntraNode;
using memory::GlobalAddress;
using memory::Operation;

Command add(GlobalAddress result, GlobalAddress word, std::uint64_t value) {
    return {.operation = Operation::add,
            .width = 8,
            .target = result,
            .source = word,
            .bytes = 8,
            .operand = value};
}

class GmaTest : public testing::TestWithParam<IntraNode> {
protected:
    void SetUp() override { acp::test::arm_watchdog(240, "unit_gma"); }

    void TearDown() override { acp::test::arm_watchdog(0, ""); }
};

TEST_P(GmaTest, the_service_thread_holds_the_word_of_its_process_while_memory_is_registered) {
    Ranks ranks(GetParam(), 2, 2);
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
        const node::SharedU32& word = ranks.node().slot(slot).service_hold;
        const std::uint32_t holder = word.load(std::memory_order_acquire);
        if (holder == 0) GTEST_SKIP() << "an emulator without robust lists";
        EXPECT_FALSE(node::may_be_replaced(ranks.node(), slot));
        ranks[slot].gma.reset();
        EXPECT_EQ(word.load(std::memory_order_acquire), 0U) << "it was let go in order";
    }
}

TEST_P(GmaTest, copies_of_all_sizes_arrive_between_shared_and_private_memory) {
    Ranks ranks(GetParam(), 2, 2);
    for (std::uint64_t i = 0; i < private_bytes; ++i) {
        ranks.starter(0)[i] = static_cast<char>(i * 7 + i / 256);
    }
    for (const std::uint64_t bytes : {0U, 1U, 3U, 8U, 17U, 4096U, 70'001U, 500'000U}) {
        // shared of 0 -> private of 1 -> private of 0 -> shared of 1, all issued by 0, each after
        // the one before
        Gma& gma = *ranks[0].gma;
        const Handle first =
            gma.issue(copy(ranks[1].own + 5, ranks[0].starter + 3, bytes), handle_null);
        const Handle second = gma.issue(copy(ranks[0].own + 9, ranks[1].own + 5, bytes), first);
        const Handle third = gma.issue(copy(ranks[1].starter + 1, ranks[0].own + 9, bytes), second);
        const base::Status status = finish(ranks[0], third);
        ASSERT_TRUE(status.is_ok()) << status.message();
        EXPECT_EQ(std::memcmp(ranks.starter(1) + 1, ranks.starter(0) + 3, bytes), 0) << bytes;
    }
}

// Calls for layers above: they run at once where a program's calls would, else as queued commands.
TEST_P(GmaTest,
       copies_and_fetches_of_layers_are_done_at_once_on_mapped_memory_and_issued_elsewhere) {
    Ranks ranks(GetParam(), 2, 2);
    Gma& gma = *ranks[0].gma;
    const bool is_at_once = GetParam() == IntraNode::automatic && ranks[0].hazards.has_membarrier();
    for (const GlobalAddress there : {ranks[1].starter, ranks[1].own}) {
        const bool is_shared = there == ranks[1].starter;
        const Handle zeroed = gma.copy(there, ranks[0].starter + 64, 16, handle_null);
        if (is_at_once && is_shared) {
            EXPECT_NE(zeroed % 2, 0U) << "it was queued";
        }
        ASSERT_TRUE(finish(ranks[0], zeroed).is_ok());
        for (std::uint64_t i = 0; i < 5; ++i) {
            const auto old = gma.fetch<std::uint64_t, Operation::add>(there, {3, 0});
            ASSERT_TRUE(old.is_ok()) << old.failure().message();
            EXPECT_EQ(old.value(), 3 * i);
        }
        const auto swapped = gma.fetch<std::uint32_t, Operation::compare_swap>(there, {77, 15});
        ASSERT_TRUE(swapped.is_ok());
        EXPECT_EQ(swapped.value(), 15U);
        const auto last = gma.fetch<std::uint64_t, Operation::bit_or>(there, {0, 0});
        ASSERT_TRUE(last.is_ok());
        EXPECT_EQ(last.value(), 77U);
    }
    const auto wild = gma.fetch<std::uint64_t, Operation::add>(~0ULL >> 8, {1, 0});
    EXPECT_EQ(wild.failure().code(), Code::address);
    const Handle bad = gma.copy(0, ranks[0].starter, 8, handle_null);
    EXPECT_EQ(finish(ranks[0], bad).code(), Code::address);
    const memory::HazardLine* line = ranks[0].hazards.own_line();
    ASSERT_NE(line, nullptr);
    EXPECT_EQ(line->target.load(), 0U) << "left";
}

// Registered memory of two ranks, between which the kernel or the owner moves a long copy.
struct LongCopy {
    static constexpr std::uint64_t bytes = 96ULL * 1024 * 1024 + 123;

    explicit LongCopy(Ranks& ranks) : ranks_(ranks), from_(bytes), to_(bytes) {
        for (std::uint64_t i = 0; i < bytes; i += 61) from_[i] = static_cast<char>(i / 61);
    }

    Handle issue() {
        source_ = key_of(0, from_);
        target_ = key_of(1, to_);
        return ranks_[0].gma->issue(copy(target_, source_, bytes), handle_null);
    }

    [[nodiscard]] bool has_arrived() const { return from_ == to_; }

private:
    [[nodiscard]] GlobalAddress key_of(std::size_t rank, std::vector<char>& memory) {
        const auto key = ranks_[rank].gma->register_memory(memory.data(), memory.size(), 0);
        EXPECT_TRUE(key.is_ok());
        return key.value();
    }

    Ranks& ranks_;
    std::vector<char> from_;
    std::vector<char> to_;
    GlobalAddress source_ = 0;
    GlobalAddress target_ = 0;
};

std::uint64_t own_cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

TEST_P(GmaTest, a_long_copy_moves_every_byte_and_counts_as_one_command) {
    Ranks ranks(GetParam(), 2, 2);
    LongCopy whole(ranks);
    ASSERT_TRUE(finish(ranks[0], whole.issue()).is_ok());
    EXPECT_TRUE(whole.has_arrived());
    const Traffic traffic = ranks[0].gma->traffic();
    EXPECT_EQ(traffic.attach_commands + traffic.direct_commands + traffic.forwarded_commands, 1U);
    EXPECT_EQ(traffic.attach_bytes + traffic.direct_bytes + traffic.forwarded_bytes,
              LongCopy::bytes);
}

// The copy would take tens of milliseconds of the caller's time.
TEST_P(GmaTest, a_thread_that_only_polls_does_not_run_a_long_copy) {
    constexpr std::uint64_t look_ns_max = 5'000'000;
    Ranks ranks(GetParam(), 2, 2);
    LongCopy whole(ranks);
    const Handle handle = whole.issue();
    for (bool is_over = false; !is_over;) {
        const std::uint64_t before = own_cpu_ns();
        const base::Code code = ranks[0].gma->wait(handle, 0, false).code();
        const bool is_complete = ranks[0].gma->is_complete(handle);
        EXPECT_LT(own_cpu_ns() - before, look_ns_max);
        ASSERT_TRUE(code == Code::ok || code == Code::timeout);
        is_over = is_complete && code == Code::ok;
        std::this_thread::yield();
    }
    EXPECT_TRUE(whole.has_arrived());
}

TEST_P(GmaTest, atomics_of_two_ranks_on_one_word_all_count) {
    constexpr std::uint64_t rounds = 500;
    Ranks ranks(GetParam(), 2, 2);
    for (const GlobalAddress word : {ranks[1].own, ranks[1].starter}) {
        const auto count = [&](std::size_t rank) {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                ranks[rank].gma->issue(add(ranks[rank].starter + 64, word, 1), handle_null);
            }
            EXPECT_TRUE(finish(ranks[rank], handle_all).is_ok());
        };
        std::thread other([&] { count(1); });
        count(0);
        other.join();
        const Handle read = ranks[0].gma->issue(add(ranks[0].starter + 128, word, 0), handle_null);
        ASSERT_TRUE(finish(ranks[0], read).is_ok());
        std::uint64_t seen = 0;
        std::memcpy(&seen, ranks.starter(0) + 128, sizeof seen);
        EXPECT_EQ(seen, 2 * rounds);
    }
}

TEST_P(GmaTest, a_failure_is_reported_once_and_stops_what_is_ordered_after_it) {
    Ranks ranks(GetParam(), 2, 2);
    Gma& gma = *ranks[0].gma;
    std::memset(ranks.starter(0), 1, 64);
    const Handle bad =
        gma.issue(copy(ranks[1].own + private_bytes, ranks[0].starter, 8), handle_null);
    const Handle after = gma.issue(copy(ranks[1].own, ranks[0].starter, 8), bad);
    const Handle chained = gma.issue(copy(ranks[1].own, ranks[0].starter, 8), handle_cont);
    const Handle free = gma.issue(copy(ranks[1].own + 64, ranks[0].starter, 8), handle_null);
    EXPECT_EQ(finish(ranks[0], bad).code(), Code::address);
    EXPECT_EQ(finish(ranks[0], after).code(), Code::order);
    EXPECT_EQ(finish(ranks[0], chained).code(), Code::order);
    EXPECT_EQ(finish(ranks[0], free).code(), Code::ok);
    EXPECT_EQ(finish(ranks[0], handle_all).code(), Code::ok);
    EXPECT_EQ(ranks[1].memory[0], 0);
    EXPECT_EQ(ranks[1].memory[64], 1);
}

// A program that never completes a handle. The last report has the number of all failures, though
// the oldest ones share one message.
TEST_P(GmaTest, the_report_at_the_end_counts_every_failure_and_has_the_first_message) {
    Ranks ranks(GetParam(), 2, 2);
    Gma& gma = *ranks[0].gma;
    constexpr std::uint64_t count = failures_apart_max + 10;
    for (std::uint64_t i = 1; i <= count; ++i)
        (void)gma.issue(copy(0x1000 * i, ranks[0].own, 8), handle_null);
    const node::Unreported all = gma.finish_all();
    EXPECT_EQ(all.count, count);
    EXPECT_NE(all.first.find("global address 0x1000:"), std::string::npos) << all.first;
    EXPECT_TRUE(gma.wait(handle_all, 0, false).is_ok()) << "they count as reported";
    EXPECT_EQ(gma.finish_all().count, 0U);
}

TEST_P(GmaTest, the_service_thread_finishes_commands_without_waiters) {
    Ranks ranks(GetParam(), 2, 2);
    constexpr std::uint64_t steps = 50;
    Gma& gma = *ranks[0].gma;
    // A token goes to and fro between private memories; the last step raises a flag in shared
    // memory.
    ranks[0].memory[0] = 1;
    Handle last = handle_null;
    for (std::uint64_t i = 0; i < steps; ++i) {
        last = gma.issue(copy(ranks[1].own + i, ranks[0].own + i, 1), last);
        last = gma.issue(copy(ranks[0].own + i + 1, ranks[1].own + i, 1), handle_cont);
    }
    gma.issue(copy(ranks[0].starter, ranks[0].own + steps, 1), last);
    std::atomic_ref<char> flag(*ranks.starter(0));
    while (flag.load(std::memory_order_acquire) == 0) {
        std::this_thread::yield();
    }
    EXPECT_TRUE(finish(ranks[0], handle_all).is_ok());
}

TEST_P(GmaTest, a_thread_without_a_hazard_line_of_its_own_may_issue) {
    Ranks ranks(GetParam(), 2, 2);
    std::thread([&] {
        for (memory::HazardLine& line : ranks.node().hazards(0)) {
            // makes the lines look as if 64 other threads had claimed them
            line.claims.store(1, std::memory_order_relaxed);
        }
        for (int i = 0; i < 100; ++i) {
            const Handle put =
                ranks[0].gma->issue(copy(ranks[1].own, ranks[0].own, 100), handle_null);
            ranks[0].gma->issue(copy(ranks[0].own + 200, ranks[1].own, 100), put);
        }
        EXPECT_TRUE(finish(ranks[0], handle_all).is_ok());
    }).join();
}

TEST_P(GmaTest, memory_may_be_unregistered_while_others_copy_to_it) {
    Ranks ranks(GetParam(), 2, 2);
    std::atomic<GlobalAddress> posted{0};
    std::atomic<bool> is_over{false};
    std::thread owner([&] {
        std::vector<char> memory(512);
        for (int round = 0; round < 100; ++round) {
            const auto key = ranks[1].gma->register_memory(memory.data(), memory.size(), 0);
            ASSERT_TRUE(key.is_ok());
            posted.store(key.value());
            std::this_thread::yield();
            EXPECT_TRUE(ranks[1].gma->registry().remove(key.value()).is_ok());
            std::memset(memory.data(), 2, memory.size());  // no other thread may access it
        }
        is_over.store(true);
    });
    while (!is_over.load()) {
        const Handle handle =
            ranks[0].gma->issue(copy(posted.load(), ranks[0].own, 512), handle_null);
        const base::Status status = finish(ranks[0], handle);
        const Code code = status.code();
        EXPECT_TRUE(code == Code::ok || code == Code::stale || code == Code::address)
            << status.message();
    }
    owner.join();
}

std::string name_of(const testing::TestParamInfo<IntraNode>& route) {
    return route.param == IntraNode::automatic ? "automatic"
           : route.param == IntraNode::attach  ? "attach"
                                               : "mailbox";
}

INSTANTIATE_TEST_SUITE_P(Routes,
                         GmaTest,
                         testing::Values(IntraNode::automatic,
                                         IntraNode::attach,
                                         IntraNode::mailbox),
                         name_of);

TEST(GmaPathTest, names_the_path_each_configuration_takes) {
    const auto path = [](IntraNode intranode) {
        Ranks ranks(intranode, 2, 2);
        return std::string(ranks[0].gma->path(ranks[1].own, ranks[0].starter).name) + " " +
               ranks[0].gma->path(ranks[1].starter, ranks[0].starter).name;
    };
    const bool can_attach = os::probe_attach() == 0;  // an emulator cannot
    EXPECT_EQ(path(IntraNode::automatic), can_attach ? "attach direct" : "mailbox direct");
    EXPECT_EQ(path(IntraNode::direct), "none direct");
    EXPECT_EQ(path(IntraNode::mailbox), "mailbox mailbox");
}

// The program then polls memory and makes no further call: no copy may wait for its next call, or
// for the service thread's timer.
TEST(GmaAwayTest, the_copies_of_a_rank_that_never_waits_are_run_by_its_issuing_calls) {
    if (os::probe_attach() != 0) GTEST_SKIP() << "no attach";
    acp::test::arm_watchdog(240, "unit_gma");
    Ranks ranks(IntraNode::automatic, 2, 2);
    constexpr int rounds = 500;
    int made_by_the_call = 0;
    auto& seen = reinterpret_cast<std::atomic<std::uint64_t>&>(*ranks[1].memory.data());
    for (std::uint64_t i = 1; i <= rounds; ++i) {
        // another word each time: a sanitizer does not see that the kernel's copy of the last one
        // has ended
        const std::uint64_t offset = i * sizeof i;
        std::memcpy(ranks.starter(0) + offset, &i, sizeof i);
        (void)ranks[0].gma->issue(copy(ranks[1].own, ranks[0].starter + offset, sizeof i),
                                  handle_null);
        if (seen.load(std::memory_order_acquire) == i) ++made_by_the_call;
        while (seen.load(std::memory_order_acquire) != i) os::yield_cpu();
    }
    EXPECT_GT(made_by_the_call, rounds / 2);
    acp::test::arm_watchdog(0, "");
}

// MEM-18: starter memory belongs to the node.
TEST(GmaDeathTest, the_starter_memory_of_a_dead_rank_stays_readable_and_writable) {
    acp::test::arm_watchdog(240, "unit_gma");
    Ranks left(IntraNode::automatic, 2, 1);
    local::Space dying;
    ASSERT_TRUE(
        dying.open(left.node(), 1, {.is_shared_direct = true, .is_own_direct = true}, nullptr)
            .is_ok());
    dying.publish_shared();
    std::memcpy(left.starter(1), "left by the dead", 16);
    node::mark_dead(left.node(), 1, 9);
    const GlobalAddress theirs = left[0].gma->space().starter_address(1);
    const Handle read = left[0].gma->issue(copy(left[0].starter, theirs, 16), handle_null);
    ASSERT_TRUE(finish(left[0], read).is_ok());
    EXPECT_EQ(std::memcmp(left.starter(0), "left by the dead", 16), 0);
    const Handle written = left[0].gma->issue(copy(theirs + 64, left[0].starter, 16), handle_null);
    ASSERT_TRUE(finish(left[0], written).is_ok());
    EXPECT_EQ(std::memcmp(left.starter(1) + 64, "left by the dead", 16), 0);
    acp::test::arm_watchdog(0, "");
}

// Rank 0 copies between the private memory of two other ranks. The death of one is published, so
// the copy fails without waiting for the watcher.
TEST(GmaDeathTest, a_copy_between_two_others_names_the_one_that_died) {
    if (os::probe_attach() != 0) GTEST_SKIP() << "no attach";
    acp::test::arm_watchdog(240, "unit_gma");
    Ranks ranks(IntraNode::automatic, 3, 3);
    ranks.node().control().watcher_pid.store(1);  // a watcher, which could still publish a death
    node::mark_dead(ranks.node(), 2, 9);
    for (const bool is_target : {true, false}) {
        const Command between =
            is_target ? copy(ranks[2].own, ranks[1].own, 8) : copy(ranks[1].own, ranks[2].own, 8);
        const base::Status told = finish(ranks[0], ranks[0].gma->issue(between, handle_null));
        EXPECT_EQ(told.code(), Code::peer);
        EXPECT_NE(told.message().find(": rank 2 (process "), std::string::npos) << told.message();
    }
    acp::test::arm_watchdog(0, "");
}

TEST(GmaDeathTest, a_wait_for_a_rank_that_does_not_serve_times_out_and_ends_with_its_death) {
    acp::test::arm_watchdog(240, "unit_gma");
    // Rank 1 has published its memory and serves no request, like a stopped process.
    Ranks lonely(IntraNode::mailbox, 2, 1);
    lonely.node().slot(1).pid.store(static_cast<std::uint32_t>(os::own_pid()),
                                    std::memory_order_relaxed);
    lonely.node().slot(1).state.store(static_cast<std::uint32_t>(node::SlotState::joined),
                                      std::memory_order_relaxed);
    local::Space absent;
    ASSERT_TRUE(
        absent.open(lonely.node(), 1, {.is_shared_direct = false, .is_own_direct = true}, nullptr)
            .is_ok());
    absent.publish_shared();
    Gma& gma = *lonely[0].gma;
    const Handle handle =
        gma.issue(copy(gma.space().starter_address(1), lonely[0].own, 8), handle_null);
    const Handle after = gma.issue(copy(lonely[0].own + 8, lonely[0].own, 8), handle);
    EXPECT_EQ(gma.wait(handle, 0, false).code(), Code::timeout);
    EXPECT_EQ(gma.wait(handle, 2'000'000, false).code(), Code::timeout);
    EXPECT_FALSE(gma.is_complete(handle));
    const Handle free = gma.issue(copy(lonely[0].own + 16, lonely[0].own, 8), handle_null);
    EXPECT_NE(free, handle_null);
    node::mark_dead(lonely.node(), 1, 9);
    EXPECT_EQ(gma.wait(handle, node::for_ever, false).code(), Code::peer);
    EXPECT_EQ(gma.wait(after, node::for_ever, false).code(), Code::order);
    EXPECT_TRUE(gma.wait(handle_all, node::for_ever, false).is_ok());
    acp::test::arm_watchdog(0, "");
}

TEST(GmaDeathTest, an_atomic_that_waits_for_itself_waits_for_nothing_else) {
    acp::test::arm_watchdog(240, "unit_gma");
    // Rank 2 serves no request, so commands on its memory do not complete.
    Ranks ranks(IntraNode::mailbox, 3, 2);
    ranks.node().slot(2).pid.store(static_cast<std::uint32_t>(os::own_pid()),
                                   std::memory_order_relaxed);
    ranks.node().slot(2).state.store(static_cast<std::uint32_t>(node::SlotState::joined),
                                     std::memory_order_relaxed);
    local::Space absent;
    ASSERT_TRUE(
        absent.open(ranks.node(), 2, {.is_shared_direct = false, .is_own_direct = true}, nullptr)
            .is_ok());
    absent.publish_shared();
    Gma& gma = *ranks[0].gma;
    const Handle handle =
        gma.issue(copy(gma.space().starter_address(2), ranks[0].own, 8), handle_null);
    const auto add_to = [&](GlobalAddress word) {
        return gma.fetch(
            {.operation = Operation::add, .width = 8, .source = word, .bytes = 8, .operand = 5});
    };
    for (const std::uint64_t old : {0U, 5U, 10U}) {
        const auto fetched = add_to(gma.space().starter_address(1));
        ASSERT_TRUE(fetched.is_ok()) << fetched.failure().message();
        EXPECT_EQ(fetched.value(), old);
    }
    EXPECT_EQ(gma.wait(handle, 0, false).code(), Code::timeout);
    EXPECT_EQ(add_to(gma.space().starter_address(1) + 4).failure().code(), Code::alignment);
    std::thread waiting(
        [&] { EXPECT_EQ(add_to(gma.space().starter_address(2)).failure().code(), Code::peer); });
    node::Doing doing;
    while (doing.what == node::WaitFor::nothing) {
        std::this_thread::yield();
        doing = node::look_at(ranks.node(), 0, os::now_ns());
    }
    EXPECT_EQ(doing.what, node::WaitFor::result);
    EXPECT_EQ(doing.command.operation, Operation::add) << "not the copy before it";
    node::mark_dead(ranks.node(), 2, 9);
    waiting.join();
    EXPECT_EQ(gma.wait(handle, node::for_ever, false).code(), Code::peer)
        << "the waiting call returns the failure";
    EXPECT_EQ(gma.registry().live(), 1U) << "no word stays registered";
    acp::test::arm_watchdog(0, "");
}

}  // namespace
}  // namespace acp::gma::test
