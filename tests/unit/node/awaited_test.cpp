// SPDX-License-Identifier: BSD-3-Clause
// A thread records in its slot what it waits for before it sleeps; other processes read the same
// record, and it is printed as text.
#include "node/awaited.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "memory/ga_layout.hpp"
#include "node/public_call.hpp"
#include "node/shared_text.hpp"

namespace acp::node {
namespace {

Segment made(std::uint32_t procs) {
    Shape shape;
    shape.procs = procs;
    shape.local_procs = procs;
    shape.machine_procs = procs;
    shape.starter_bytes = 4096;
    shape.datagram_bytes = 1024;
    auto segment = Segment::create(shape);
    if (!segment.is_ok()) ADD_FAILURE() << segment.failure().message();
    return std::move(segment).value();
}

void join(const Segment& segment, std::uint32_t slot) {
    segment.slot(slot).state.store(static_cast<std::uint32_t>(SlotState::joined),
                                   std::memory_order_release);
}

// A process in no wait.
Doing idle(std::uint32_t rank, SlotState state, std::uint32_t arrived) {
    Doing one;
    one.rank = rank;
    one.state = state;
    one.arrived = arrived;
    return one;
}

// A joined process that waits in a call.
Doing waiting(std::uint32_t rank, WaitFor what, const char* call, std::uint32_t arrived = 0) {
    Doing one = idle(rank, SlotState::joined, arrived);
    one.what = what;
    one.call = call;
    one.waited_ns = 1'500'000'000;
    return one;
}

using Lines = std::vector<std::string>;

TEST(AwaitedTest, an_entry_is_read_as_it_was_written_and_vanishes_with_the_wait) {
    const Segment segment = made(3);
    join(segment, 1);
    const memory::GaLayout addresses(3);
    const memory::Command command{memory::Operation::add,
                                  8,
                                  addresses.segment_start(2, 0, 1),
                                  addresses.segment_start(0, 0, 1),
                                  8,
                                  1,
                                  0};
    {
        AwaitedEntry entry(segment.slot(1));
        EXPECT_EQ(look_at(segment, 1, 5000).what, WaitFor::nothing) << "nothing before a sleep";
        const PublicCall call("acp_wait");
        entry.tell(WaitFor::command, 1000, &command);
        const Doing seen = look_at(segment, 1, 5000);
        EXPECT_EQ(seen.what, WaitFor::command);
        EXPECT_EQ(seen.call, "acp_wait");
        EXPECT_EQ(seen.waited_ns, 4000U);
        EXPECT_EQ(seen.command.target, command.target);
        EXPECT_EQ(seen.command.source, command.source);
        EXPECT_EQ(seen.target_rank, 2U);
        EXPECT_EQ(seen.source_rank, 0U);
        EXPECT_EQ(memory::call_name(seen.command.operation, seen.command.width), "acp_add8");
        EXPECT_EQ(doing_from(to_words(seen)), seen);
    }
    EXPECT_EQ(look_at(segment, 1, 5000).what, WaitFor::nothing);
}

TEST(AwaitedTest, an_entry_names_the_call_of_the_program_and_not_the_step_that_waits) {
    const Segment segment = made(3);
    join(segment, 1);
    const memory::GlobalAddress word = memory::GaLayout(3).segment_start(2, 0, 1);
    const memory::Command step{memory::Operation::add, 8, word, word, 8, 1, 0};
    AwaitedEntry entry(segment.slot(1));
    const auto shown = [&] {
        entry.tell(WaitFor::result, 1'000'000'000, &step);
        return describe({look_at(segment, 1, 2'500'000'000)}).at(0);
    };
    const std::string rest = " for 1.5 s: a word on rank 2 (" + base::hex(word) + ")";
    EXPECT_EQ(shown(), "rank 1 waits in a call" + rest) << "of a thread that is in no call";
    const PublicCall outer("acp_create_map");
    EXPECT_EQ(shown(), "rank 1 waits in acp_create_map" + rest);
    {
        const PublicCall of_signal_handler("acp_fetch_add8");
        EXPECT_EQ(shown(), "rank 1 waits in acp_fetch_add8" + rest);
    }
    EXPECT_EQ(shown(), "rank 1 waits in acp_create_map" + rest);
}

TEST(AwaitedTest, long_and_unprintable_texts_are_shown_in_part) {
    SharedText<2> text{};
    EXPECT_EQ(text.load(), "");
    text.store("acp_a_name_that_is_long");
    EXPECT_EQ(text.load(), "acp_a_name_that_");
    text.store(
        "a\n\x1b"
        "b");
    EXPECT_EQ(text.load(), "ab");
    text.store({});
    EXPECT_EQ(text.load(), "");
}

TEST(AwaitedTest, a_blocking_atomic_is_shown_as_the_program_s_call) {
    const Segment segment = made(3);
    join(segment, 1);
    const memory::GaLayout addresses(3);
    const memory::GlobalAddress word = addresses.segment_start(2, 0, 1);
    const memory::Command command{
        memory::Operation::compare_swap, 4, addresses.segment_start(1, 0, 1), word, 4, 1, 0};
    AwaitedEntry entry(segment.slot(1));
    const PublicCall call("acp_fetch_cas4");
    entry.tell(WaitFor::result, 1'000'000'000, &command);
    const Doing seen = look_at(segment, 1, 2'500'000'000);
    EXPECT_EQ(seen.command.target, 0U) << "the address of the library's own old value is not shown";
    EXPECT_EQ(doing_from(to_words(seen)), seen);
    EXPECT_EQ(describe({seen}),
              (Lines{"rank 1 waits in acp_fetch_cas4 for 1.5 s: a word on rank 2 (" +
                     base::hex(word) + ")"}));
}

TEST(AwaitedTest, a_wait_for_a_word_is_shown_with_its_address_and_comparison) {
    const Segment segment = made(3);
    join(segment, 1);
    memory::Command command;
    command.operation = static_cast<memory::Operation>(WordComparison::greater_equal);
    command.width = 4;
    command.source = 0x7fff12345678;
    command.target = 7;
    command.bytes = 2;
    AwaitedEntry entry(segment.slot(1));
    const PublicCall call("acp_wait_word");
    entry.tell(WaitFor::word, 1'000'000'000, &command);
    const Doing seen = look_at(segment, 1, 2'500'000'000);
    EXPECT_EQ(doing_from(to_words(seen)), seen);
    EXPECT_EQ(describe({seen}),
              (Lines{"rank 1 waits in acp_wait_word for 1.5 s: until its word of 4 bytes at "
                     "0x7fff12345678 is at least 7 (it held 2)"}));
}

TEST(AwaitedTest, a_wait_for_an_object_names_the_call_the_object_and_its_holder) {
    const Segment segment = made(3);
    join(segment, 1);
    const memory::GaLayout addresses(3);
    memory::Command command;
    command.source = addresses.segment_start(0, 0, 1) + 64;
    command.target = addresses.segment_start(2, 0, 1);
    AwaitedEntry entry(segment.slot(1));
    const PublicCall call("acp_hold");
    entry.tell(WaitFor::object, 1'000'000'000, &command, "holds the thing");
    const Doing seen = look_at(segment, 1, 2'500'000'000);
    EXPECT_EQ(doing_from(to_words(seen)), seen);
    EXPECT_EQ(describe({seen}),
              (Lines{"rank 1 waits in acp_hold for 1.5 s: rank 2 holds the thing at rank 0 (" +
                     base::hex(command.source) + ")"}));
}

TEST(AwaitedTest, a_step_of_a_call_of_several_is_shown_by_its_effect) {
    const Segment segment = made(3);
    join(segment, 1);
    const memory::GaLayout addresses(3);
    const memory::GlobalAddress there = addresses.segment_start(2, 0, 1);
    const memory::GlobalAddress here = addresses.segment_start(1, 0, 1);
    memory::Command command{memory::Operation::copy, 0, there, here, 400, 0, 0};
    AwaitedEntry entry(segment.slot(1));
    const PublicCall call("acp_insert_list");
    entry.tell(WaitFor::result, 1'000'000'000, &command);
    EXPECT_EQ(describe({look_at(segment, 1, 2'500'000'000)}),
              (Lines{"rank 1 waits in acp_insert_list for 1.5 s: acp_copy of 400 bytes from "
                     "rank 1 (" +
                     base::hex(here) + ") to rank 2 (" + base::hex(there) + ")"}));
}

TEST(AwaitedTest, a_numbered_operation_is_shown_by_its_name_and_the_rank_of_its_memory) {
    const Segment segment = made(3);
    join(segment, 1);
    memory::Command command;
    command.operation = memory::invoke_operation;
    command.target = command.source = memory::GaLayout(3).segment_start(2, 0, 1);
    command.operand = 77;
    AwaitedEntry entry(segment.slot(1));
    const PublicCall call("acp_insert_list");
    entry.tell(WaitFor::result, 1'000'000'000, &command);
    const auto sent = doing_from(to_words(look_at(segment, 1, 2'500'000'000)));
    ASSERT_TRUE(sent.has_value());
    const auto name_of_77 = [](std::uint32_t number) -> std::string_view {
        return number == 77 ? "an insertion" : "";
    };
    const std::string start = "rank 1 waits in acp_insert_list for 1.5 s: ";
    EXPECT_EQ(describe({*sent}, name_of_77), (Lines{start + "an insertion on memory of rank 2"}));
    EXPECT_EQ(describe({*sent}), (Lines{start + "operation 77 on memory of rank 2"}));
}

TEST(AwaitedTest, a_command_of_a_plain_pointer_is_shown_by_its_call_and_the_pointer) {
    const Segment segment = made(3);
    join(segment, 1);
    const memory::GlobalAddress there = memory::GaLayout(3).segment_start(2, 0, 1);
    const memory::GlobalAddress pointer = 0x7ffd12345678;
    const std::string far = "rank 2 (" + base::hex(there) + ")";
    const auto told = [&](memory::IssuedBy call, bool is_get) {
        AwaitedEntry entry(segment.slot(1));
        const memory::Command command{memory::Operation::copy,       0,   is_get ? pointer : there,
                                      is_get ? there : pointer,      400, 0,
                                      memory::Command::note(call, 7)};
        const PublicCall public_call("acp_complete");
        entry.tell(WaitFor::command, 1'000'000'000, &command);
        const Doing seen = look_at(segment, 1, 2'500'000'000);
        EXPECT_EQ(doing_from(to_words(seen)), seen);
        return describe({seen}).at(0);
    };
    using Call = memory::IssuedBy;
    const std::string begin = "rank 1 waits in acp_complete for 1.5 s: ";
    EXPECT_EQ(told(Call::put, false),
              begin + "acp_put of 400 bytes from its memory at 0x7ffd12345678 to " + far);
    EXPECT_EQ(told(Call::put_signal, false),
              begin + "acp_put_signal of 400 bytes from its memory at 0x7ffd12345678 to " + far);
    EXPECT_EQ(told(Call::put_copied, false),
              begin + "acp_put_copied of 400 bytes from its memory at 0x7ffd12345678 to " + far);
    EXPECT_EQ(told(Call::get, true),
              begin + "acp_get of 400 bytes from " + far + " to its memory at 0x7ffd12345678");
    EXPECT_EQ(told(Call::fetch, true), begin + "the fetch of a message of 400 bytes from " + far +
                                           " to its memory at 0x7ffd12345678");
}

TEST(AwaitedTest, a_wait_for_a_partner_is_shown_with_the_partner_s_missing_action) {
    const auto told = [](std::uint32_t rank, const char* text) {
        Doing one = waiting(rank, WaitFor::partner, "acp_wait_ch");
        one.source_rank = 1;
        one.target_rank = 2;
        one.text = text;
        EXPECT_EQ(doing_from(to_words(one)), one);
        return describe({one}).at(0);
    };
    const std::string start = " waits in acp_wait_ch for 1.5 s: ";
    EXPECT_EQ(told(1, "to send to rank %"), "rank 1" + start + "to send to rank 2");
    EXPECT_EQ(told(2, "for a message from rank %"), "rank 2" + start + "for a message from rank 1");
    EXPECT_EQ(told(2, "for a message from any rank"),
              "rank 2" + start + "for a message from any rank");
}

TEST(AwaitedTest, a_wait_for_a_member_is_shown_with_the_call_on_the_team_and_the_member) {
    const Segment segment = made(3);
    join(segment, 1);
    memory::Command command;
    command.bytes = 800;
    command.source = awaited_all_ranks;
    command.target = memory::GaLayout(3).segment_start(2, 0, 1);
    AwaitedEntry entry(segment.slot(1));
    const auto shown = [&](const char* call, const char* text) {
        const PublicCall public_call(call);
        entry.tell(WaitFor::member, 1'000'000'000, &command, text);
        const Doing seen = look_at(segment, 1, 2'500'000'000);
        EXPECT_EQ(doing_from(to_words(seen)), seen);
        return describe({seen}).at(0);
    };
    EXPECT_EQ(shown("acp_broadcast_team", "acp_broadcast_team"),
              "rank 1 waits in acp_broadcast_team of 800 bytes on the team of all ranks for 1.5 s: "
              "for rank 2");
    EXPECT_EQ(shown("acp_wait_team", "acp_nbbroadcast_team"),
              "rank 1 waits in acp_wait_team for 1.5 s: acp_nbbroadcast_team of 800 bytes on the "
              "team of all ranks: for rank 2");
    command.bytes = 0;
    command.source = 0x123456789abcdef0;
    EXPECT_EQ(shown("acp_wait_plan", ""),
              "rank 1 waits in acp_wait_plan on team 0xbcdef0 for 1.5 s: for rank 2");
}

TEST(AwaitedTest, a_wait_for_room_is_shown_with_the_oldest_command) {
    Doing one = waiting(0, WaitFor::room, "acp_copy");
    one.command.bytes = 8;
    one.target_rank = 1;
    EXPECT_EQ(describe({one}).at(0),
              "rank 0 waits in acp_copy for 1.5 s: for room for one more command, the oldest is "
              "acp_copy of 8 bytes from rank 0 (0x0) to rank 1 (0x0)");
}

TEST(AwaitedTest, unreported_failures_are_read_and_described) {
    const Segment segment = made(2);
    join(segment, 1);
    UnreportedPlace(segment, 1).write(2, "acp_copy by rank 1 on here: why");
    const Doing seen = look_at(segment, 1, 5000);
    EXPECT_EQ(seen.unreported, (Unreported{2, "acp_copy by rank 1 on here: why"}));
    EXPECT_EQ(doing_from(to_words(seen)), seen);
    EXPECT_EQ(describe({seen}),
              (Lines{"rank 1: no wait in a call of ACP",
                     "rank 1: 2 commands failed that no acp_complete or acp_wait has reported; the "
                     "first: acp_copy by rank 1 on here: why"}));
    std::vector<Doing> many(described_commands_max + 1, seen);
    for (std::uint32_t i = 0; i < many.size(); ++i) many[i].rank = i;
    EXPECT_EQ(describe(many).back(), "1 more ranks have failed commands that no call has reported");
}

TEST(AwaitedTest, of_two_waiting_threads_the_second_is_shown_when_the_first_has_left) {
    const Segment segment = made(1);
    join(segment, 0);
    AwaitedEntry second(segment.slot(0));
    {
        AwaitedEntry first(segment.slot(0));
        first.tell(WaitFor::meeting, 1000, nullptr);
        second.tell(WaitFor::command, 2000, nullptr);
        EXPECT_EQ(look_at(segment, 0, 3000).what, WaitFor::meeting);
    }
    EXPECT_EQ(look_at(segment, 0, 3000).what, WaitFor::nothing);
    second.tell(WaitFor::command, 2000, nullptr);
    EXPECT_EQ(look_at(segment, 0, 3000).what, WaitFor::command);
}

TEST(AwaitedTest, an_entry_whose_writer_died_within_is_not_believed) {
    const Segment segment = made(1);
    join(segment, 0);
    AwaitedEntry entry(segment.slot(0));
    entry.tell(WaitFor::meeting, 1000, nullptr);
    segment.slot(0).awaited.turn.fetch_add(1, std::memory_order_relaxed);
    EXPECT_EQ(look_at(segment, 0, 3000).what, WaitFor::nothing);
    segment.slot(0).awaited.turn.fetch_add(1, std::memory_order_relaxed);
}

TEST(AwaitedTest, words_that_are_no_doing_are_refused) {
    ASSERT_TRUE(doing_from("0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 .||"));
    for (const char* words :
         {"", ".", "1 2 3", "0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 .||",
          "0 1 0 99 0 0 0 0 0 0 0 0 0 0 0 .||", "0 1 0 0 0 99 0 0 0 0 0 0 0 0 0 .||",
          "0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 .",
          "0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 .acp_wait|", "0 1 0 0 0 0 0 0 0 0 0 0 0 99 0 .||",
          "-1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 .||"}) {
        EXPECT_FALSE(doing_from(words)) << words;
    }
}

TEST(AwaitedTest, ranks_in_a_barrier_are_shown_with_the_missing_ranks) {
    EXPECT_EQ(
        describe({waiting(3, WaitFor::meeting, "acp_sync", 5),
                  waiting(0, WaitFor::meeting, "acp_sync", 5),
                  waiting(1, WaitFor::meeting, "acp_finalize", 5), idle(2, SlotState::joined, 4)}),
        (Lines{"rank 1 waits in acp_finalize for 1.5 s; not there yet: rank 2",
               "ranks 0,3 wait in acp_sync for 1.5 s; not there yet: rank 2",
               "rank 2: no wait in a call of ACP"}));
}

TEST(AwaitedTest, stopped_ranks_are_shown_in_any_state) {
    Doing sleeping = waiting(0, WaitFor::meeting, "acp_sync", 5);
    Doing working = idle(1, SlotState::joined, 5);
    sleeping.is_stopped = working.is_stopped = true;
    EXPECT_EQ(doing_from(to_words(working)), working);
    EXPECT_EQ(describe({sleeping, working}).back(),
              "ranks 0-1 are stopped (by a signal, or by a debugger)");
    working.is_stopped = false;
    EXPECT_EQ(describe({sleeping, working}).back(),
              "rank 0 is stopped (by a signal, or by a debugger)");
}

TEST(AwaitedTest, barrier_numbers_may_wrap) {
    EXPECT_EQ(
        describe({waiting(0, WaitFor::meeting, "acp_sync", 0), idle(1, SlotState::joined, ~0U)})
            .front(),
        "rank 0 waits in acp_sync for 1.5 s; not there yet: rank 1");
}

TEST(AwaitedTest, a_job_of_programs_that_never_join_has_no_text) {
    EXPECT_TRUE(describe({idle(0, SlotState::empty, 0)}).empty());
    EXPECT_EQ(
        describe({idle(0, SlotState::empty, 0), idle(1, SlotState::left, 2),
                  idle(2, SlotState::dead, 2)}),
        (Lines{"rank 0: not called acp_init", "rank 1: left by acp_finalize", "rank 2: ended"}));
}

TEST(AwaitedTest, many_waits_for_commands_are_counted) {
    for (const std::uint32_t beyond : {0U, 1U}) {
        std::vector<Doing> all;
        for (std::uint32_t rank = 0; rank < described_commands_max + beyond; ++rank) {
            all.push_back(waiting(rank, WaitFor::command, "acp_complete"));
        }
        const Lines lines = describe(std::move(all));
        ASSERT_EQ(lines.size(), described_commands_max + beyond);
        EXPECT_EQ(lines.back() == "1 more ranks wait for commands", beyond == 1);
    }
}

}  // namespace
}  // namespace acp::node
