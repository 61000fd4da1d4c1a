// SPDX-License-Identifier: BSD-3-Clause
// Numbered operations of a caller: where they run, their order with other commands, their results
// and failures, in all modes of waiting. Ranks 0 and 1 are on a node, 2 and 3 on another, whose
// gateway is a thread of the test.
#include "gma/invokes.hpp"

#include <algorithm>

#include "node/death.hpp"

#include "support/operation_library.hpp"
#include "support/refuse_memory.hpp"
#include "support/watchdog.hpp"
#include "unit/gma/test_network.hpp"

namespace acp::gma::test {
namespace {

using acp::test::add_below_number;
using acp::test::AddBelow;
using acp::test::AddedBelow;
using acp::test::Append;
using acp::test::append_number;
using acp::test::bytes_of;
using acp::test::Log;
using acp::test::room_in;
using base::Code;

struct Mode {
    const char* name;
    base::IntraNode intranode = base::IntraNode::automatic;
    base::MailboxKind mailbox = base::MailboxKind::mpsc;
    bool is_bypass_on = true;
};

class InvokesTest : public testing::TestWithParam<Mode> {
protected:
    InvokesTest() {
        acp::test::arm_watchdog(120, "an invoke test");
        config_.starter_bytes = starter_bytes;
        config_.intranode = GetParam().intranode;
        config_.mailbox = GetParam().mailbox;
        config_.is_bypass_on = GetParam().is_bypass_on;
        for (std::uint32_t slot = 0; slot < procs_per_node; ++slot) {
            const node::Segment& segment = network_.segment(0);
            ranks_.push_back(std::make_unique<RemoteRank>(
                segment, slot, config_, std::make_unique<remote::RingLink>(segment, slot)));
        }
    }

    ~InvokesTest() override { acp::test::arm_watchdog(0, ""); }

    Gma& gma() { return *ranks_[0]->gma; }

    [[nodiscard]] GlobalAddress starter(std::uint32_t process, std::uint64_t offset = 0) const {
        return ranks_[0]->starter(process, offset);
    }

    template <typename Arguments, typename Result>
    Handle invoke(std::uint32_t process,
                  std::uint32_t number,
                  const Arguments& arguments,
                  Result& result,
                  Handle order = handle_null) {
        return gma().issue_invoke({process, number, bytes_of(arguments), room_in(result)}, order);
    }

    base::Status wait(Handle handle) { return gma().wait(handle, node::for_ever, false); }

    std::uint64_t& word(std::uint32_t process, std::uint64_t offset = 0) {
        return *reinterpret_cast<std::uint64_t*>(network_.starter(process) + offset);
    }

    base::Config config_;
    Network network_{GetParam().intranode, GetParam().mailbox};
    std::vector<std::unique_ptr<RemoteRank>> ranks_;
};

TEST_P(InvokesTest, runs_on_the_memory_of_the_process_it_names_wherever_that_is) {
    network_.start();
    for (std::uint32_t process = 0; process < procs; ++process) {
        const AddBelow asked{starter(process, 64), 4, 10};
        for (std::uint64_t round = 0; round < 4; ++round) {
            AddedBelow result;
            std::uint32_t bytes = 0;
            const Handle handle = gma().issue_invoke(
                {process, add_below_number, bytes_of(asked), room_in(result), &bytes}, handle_null);
            EXPECT_TRUE(wait(handle).is_ok());
            EXPECT_EQ(bytes, sizeof result);
            EXPECT_EQ(result.old, std::min(4 * round, std::uint64_t{8})) << process;
            EXPECT_EQ(result.is_added, round < 2 ? 1U : 0U);
        }
        EXPECT_EQ(word(process, 64), 8U);
    }
}

// Arguments and result may each be in two pieces of the caller's memory.
TEST_P(InvokesTest, takes_arguments_and_returns_results_in_parts) {
    network_.start();
    for (std::uint32_t process = 0; process < procs; ++process) {
        const AddBelow asked{starter(process, 64), 4, 10};
        const auto arguments = bytes_of(asked);
        for (const std::size_t first : {std::size_t{0}, std::size_t{5}, sizeof asked}) {
            for (const std::size_t head : {std::size_t{0}, std::size_t{8}, sizeof(AddedBelow)}) {
                word(process, 64) = 3;
                AddedBelow result;
                const auto room = room_in(result);
                std::uint32_t bytes = 0;
                const auto rest = arguments.subspan(first);
                const std::size_t middle = rest.size() / 2;
                const Handle handle =
                    gma().issue_invoke({process,
                                        add_below_number,
                                        arguments.first(first),
                                        room.first(head),
                                        &bytes,
                                        room.subspan(head),
                                        {rest.first(middle), {}, rest.subspan(middle)}},
                                       handle_null);
                EXPECT_TRUE(wait(handle).is_ok());
                EXPECT_EQ(bytes, sizeof result);
                EXPECT_EQ(result.old, 3U) << first << ' ' << head;
                EXPECT_EQ(result.is_added, 1U);
                EXPECT_EQ(word(process, 64), 7U);
            }
        }
    }
}

// Each step reads what the one before wrote: copies and operations, near and far.
TEST_P(InvokesTest, is_ordered_with_copies_and_other_operations_as_any_command) {
    network_.start();
    word(0, 8) = 5;
    for (std::uint64_t round = 0; round < 20; ++round) {
        std::array<AddedBelow, 3> results;
        Handle last = gma().issue({.target = starter(2), .source = starter(0, 8), .bytes = 8}, 0);
        last = invoke(2, add_below_number, AddBelow{starter(2), 1, 100}, results[0], last);
        last = gma().issue({.target = starter(1), .source = starter(2), .bytes = 8}, last);
        last = invoke(1, add_below_number, AddBelow{starter(1), 1, 100}, results[1], last);
        last = gma().issue({.target = starter(3), .source = starter(1), .bytes = 8},
                           round % 2 == 0 ? last : handle_cont);
        last = invoke(3, add_below_number, AddBelow{starter(3), 1, 100}, results[2], last);
        ASSERT_TRUE(wait(last).is_ok());
        EXPECT_EQ(results[0].old, 5U);
        EXPECT_EQ(results[1].old, 6U);
        EXPECT_EQ(results[2].old, 7U);
        EXPECT_EQ(word(3), 8U);
    }
}

TEST_P(InvokesTest, more_of_them_than_are_kept_all_run_once_and_each_brings_its_result) {
    network_.start();
    constexpr std::uint64_t calls = 10ULL * Invokes::kept_max;
    std::vector<std::uint64_t> places(calls);
    for (std::uint64_t i = 0; i < calls; ++i) {
        ASSERT_NE(invoke(2, append_number, Append{starter(2), i + 1}, places[i]), handle_null);
        if (i % 3 == 0) {
            gma().issue({.target = starter(3), .source = starter(0), .bytes = 8}, handle_null);
        }
    }
    ASSERT_TRUE(wait(handle_all).is_ok());
    const Log& log = *reinterpret_cast<const Log*>(network_.starter(2));
    EXPECT_EQ(log.count, calls);
    for (std::uint64_t i = 0; i < calls; ++i) {
        ASSERT_LT(places[i], calls);
        EXPECT_EQ(log.records[places[i]], i + 1);
    }
}

TEST_P(InvokesTest, what_cannot_run_fails_and_names_operation_and_owner) {
    network_.start();
    AddedBelow result;
    const auto text = [](const base::Status& status) { return std::string(status.message()); };
    const AddBelow good{starter(3), 1, 10};

    base::Status status = wait(invoke(3, 40, good, result));
    EXPECT_EQ(status.code(), Code::unsupported);
    EXPECT_NE(text(status).find("operation 40 (unknown) on memory of rank 3 on node 1"),
              std::string::npos)
        << text(status);
    status = wait(invoke(procs, add_below_number, good, result));
    EXPECT_EQ(status.code(), Code::argument);
    EXPECT_NE(text(status).find("no process 4 in a job of 4"), std::string::npos) << text(status);
    std::uint32_t small = 0;
    status = wait(invoke(3, add_below_number, good, small));
    EXPECT_EQ(status.code(), Code::argument);
    EXPECT_NE(text(status).find("room for 16 bytes of result, not 24 and 4"), std::string::npos)
        << text(status);
    for (const std::uint32_t process : {1U, 3U}) {
        const GlobalAddress wild = gma().space().layout().segment_start(process, 77, 1);
        status = wait(invoke(process, add_below_number, AddBelow{wild, 1, 10}, result));
        EXPECT_EQ(status.code(), Code::address);
        EXPECT_NE(text(status).find("add_below on memory of rank " + std::to_string(process)),
                  std::string::npos)
            << text(status);
        status = wait(invoke(process, append_number, Append{starter(process), 0}, result));
        EXPECT_EQ(status.code(), Code::argument);
    }
    EXPECT_TRUE(wait(invoke(3, add_below_number, good, result)).is_ok());
}

TEST_P(InvokesTest, private_memory_is_reached_by_its_own_process_and_by_no_other) {
    network_.start();
    std::uint64_t own = 0;
    std::uint64_t others = 0;
    const auto mine = gma().register_memory(&own, sizeof own, 0);
    const auto theirs = ranks_[1]->gma->register_memory(&others, sizeof others, 0);
    ASSERT_TRUE(mine.is_ok() && theirs.is_ok());
    AddedBelow result;
    EXPECT_TRUE(wait(invoke(0, add_below_number, AddBelow{mine.value(), 3, 10}, result)).is_ok());
    EXPECT_EQ(own, 3U);
    const base::Status status =
        wait(invoke(1, add_below_number, AddBelow{theirs.value(), 3, 10}, result));
    EXPECT_EQ(status.code(), Code::unsupported);
    EXPECT_NE(std::string(status.message()).find("it reaches memory that is private to that rank"),
              std::string::npos)
        << status.message();
    EXPECT_EQ(others, 0U);
}

// A failure in the middle of the queue: commands that are ordered after it do not run, others do.
TEST_P(InvokesTest, an_operation_ordered_after_a_failed_one_does_not_run) {
    network_.start();
    AddedBelow first;
    AddedBelow second;
    const GlobalAddress wild = gma().space().layout().segment_start(3, 77, 1);
    const Handle failed = invoke(3, add_below_number, AddBelow{wild, 1, 10}, first);
    const Handle behind = invoke(2, add_below_number, AddBelow{starter(2), 1, 10}, second, failed);
    EXPECT_EQ(wait(failed).code(), Code::address);
    EXPECT_EQ(wait(behind).code(), Code::order);
    EXPECT_EQ(word(2), 0U);
}

TEST_P(InvokesTest, the_gateways_death_ends_it_and_nothing_is_written_afterwards) {
    std::array<std::uint64_t, 4> places;
    places.fill(77);
    std::array<Handle, 4> handles{};
    for (std::uint64_t i = 0; i < places.size(); ++i) {
        handles[i] = invoke(2, append_number, Append{starter(2), i + 1}, places[i]);
    }
    node::mark_dead(network_.segment(0), network_.segment(0).gateway_slot(), 9);
    EXPECT_EQ(wait(handles[3]).code(), Code::peer);
    gma().drop_failures(handle_all);
    while (network_.poll() != 0) {
    }  // it was alive all the time
    for (int i = 0; i < 100; ++i) (void)gma().is_complete(handle_all);
    EXPECT_EQ(wait(invoke(2, append_number, Append{starter(2), 9}, places[0])).code(), Code::peer);
    for (const std::uint64_t place : places) EXPECT_EQ(place, 77U);
    const AddBelow near{starter(1), 1, 10};
    AddedBelow result;
    EXPECT_TRUE(wait(invoke(1, add_below_number, near, result)).is_ok());
}

TEST_P(InvokesTest, without_memory_to_keep_it_the_handle_fails_and_later_ones_do_not) {
    network_.start();
    std::uint64_t place = 77;
    // The first far copy allocates what lasts: the service thread, the first pages of the ring.
    ASSERT_TRUE(
        wait(gma().issue({.target = starter(2, 40'000), .source = starter(0), .bytes = 8}, 0))
            .is_ok());
    Handle handle = handle_null;
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        handle = invoke(2, append_number, Append{starter(2), 1}, place);
    }
    EXPECT_EQ(wait(handle).code(), Code::memory);
    EXPECT_EQ(place, 77U);
    EXPECT_TRUE(wait(invoke(2, append_number, Append{starter(2), 1}, place)).is_ok());
    EXPECT_EQ(place, 0U);
}

const Mode modes[] = {
    {.name = "automatic"},
    {.name = "no_bypass", .is_bypass_on = false},
    {.name = "mailbox", .intranode = base::IntraNode::mailbox},
    {.name = "pairs", .intranode = base::IntraNode::mailbox, .mailbox = base::MailboxKind::pairs},
    {.name = "udp", .intranode = base::IntraNode::udp, .is_bypass_on = false},
};

std::string name_of_mode(const testing::TestParamInfo<Mode>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(modes, InvokesTest, testing::ValuesIn(modes), name_of_mode);

}  // namespace
}  // namespace acp::gma::test
