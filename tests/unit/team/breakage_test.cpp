// SPDX-License-Identifier: BSD-3-Clause
// What breaks a team: a member that dies while others wait for it in any call, members that make
// different calls, and failures that a member reports. All other members fail with the same reason,
// which later failures do not replace.
#include "team/breakage.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include <acp/team.h>

#include "support/scoped_watchdog.hpp"
#include "unit/team/team_node.hpp"

namespace acp::team::test {
namespace {

using base::Code;
using base::Status;

const std::vector<std::vector<std::uint32_t>> layouts{
    {0, 0}, {0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 1}, {0, 1, 0, 1, 2}, {0, 0, 1, 1, 2, 2}};

std::vector<std::uint32_t> all_but(std::uint32_t size, std::uint32_t one) {
    std::vector<std::uint32_t> others;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        if (rank != one) others.push_back(rank);
    }
    return others;
}

// A call in which every member waits for every other; of short and long messages.
Part gather_of(std::uint64_t bytes) {
    return call({CollectiveCall::allgather, bytes}, [bytes](Team& team) {
        const std::vector<char> own(bytes);
        std::vector<char> all(bytes * team.members().size());
        return all_gather(team, own.data(), all.data(), bytes);
    });
}

class BreakageTest : public testing::TestWithParam<std::vector<std::uint32_t>> {
protected:
    // Every member but one fails with this code, and a reason that has these words.
    void expect_broken(std::uint32_t but, Code code, const std::string& part) {
        for (const std::uint32_t rank : all_but(node_.size(), but)) {
            EXPECT_EQ(node_.end(rank).code(), code) << "member " << rank << node_.words(rank);
            EXPECT_NE(node_.words(rank).find(part), std::string::npos)
                << "member " << rank << ": " << node_.words(rank);
            EXPECT_TRUE(node_.team(rank).is_broken());
        }
    }

    acp::test::ScopedWatchdog watchdog_{"a broken team"};
    TeamNode node_{GetParam()};
};

TEST_P(BreakageTest, a_death_ends_the_calls_that_wait_for_the_member) {
    const std::uint32_t size = node_.size();
    for (std::uint32_t victim : {std::uint32_t{0}, size - 1}) {
        for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{200'000}}) {
            TeamNode node(GetParam());
            node.run_well(gather_of(bytes));  // channels are open
            for (const std::uint32_t rank : all_but(size, victim))
                node.start(rank, gather_of(bytes));
            for (int i = 0; i < 10; ++i) node.pass();
            node.ranks().die(victim);
            node.finish(all_but(size, victim));
            for (const std::uint32_t rank : all_but(size, victim)) {
                EXPECT_EQ(node.end(rank).code(), Code::peer) << node.words(rank);
                EXPECT_NE(node.words(rank).find("rank " + std::to_string(victim) + " "),
                          std::string::npos)
                    << node.words(rank);
                EXPECT_NE(node.words(rank).find("was killed by signal 9"), std::string::npos);
            }
        }
    }
}

TEST_P(BreakageTest, a_call_after_a_death_fails_at_once) {
    const std::uint32_t victim = node_.size() - 1;
    node_.ranks().die(victim);
    for (const std::uint32_t rank : all_but(node_.size(), victim)) {
        node_.start(rank, barrier());
        EXPECT_TRUE(node_.has_ended(rank)) << "member " << rank;
    }
    expect_broken(victim, Code::peer, "was killed by signal 9");
}

TEST_P(BreakageTest, the_first_death_is_the_reason_when_several_members_are_gone) {
    if (node_.size() == 2) GTEST_SKIP() << "no member would be left";
    node_.ranks().die(0);
    node_.ranks().die(1);
    const std::uint32_t last = node_.size() - 1;
    node_.start(last, barrier());
    EXPECT_NE(node_.words(last).find("rank 0 "), std::string::npos) << node_.words(last);
}

TEST_P(BreakageTest, the_death_of_a_process_that_is_no_member_breaks_nothing) {
    Telling telling(*node_.ranks()[0].gma);
    Breakage breakage(*node_.ranks()[0].gma, telling);
    const std::vector<std::uint32_t> members{0, node_.size() - 1};
    node_.ranks().die(1);
    const bool is_member = node_.size() == 2;
    EXPECT_EQ(breakage.look(members, nullptr),
              is_member ? Breakage::News::death : Breakage::News::none);
    EXPECT_EQ(breakage.is_broken(), is_member);
}

TEST_P(BreakageTest, a_record_is_read_only_if_the_process_has_one) {
    Telling telling(*node_.ranks()[0].gma);
    Breakage breakage(*node_.ranks()[0].gma, telling);
    Trouble own;
    EXPECT_EQ(breakage.look({}, &own), Breakage::News::none);
    own.tell(static_cast<std::uint64_t>(Code::memory), "its reason");
    EXPECT_EQ(breakage.look({}, nullptr), Breakage::News::none);
    EXPECT_EQ(breakage.look({}, &own), Breakage::News::told);
    EXPECT_EQ(breakage.failure().code(), Code::memory);
    EXPECT_EQ(breakage.failure().message(), "its reason");
}

TEST_P(BreakageTest, a_failure_that_a_member_reports_reaches_all_with_its_reason) {
    const std::uint32_t reporter = node_.size() / 2;
    for (const std::uint32_t rank : all_but(node_.size(), reporter)) node_.start(rank, barrier());
    const Status why(Code::memory, "no memory is left for 70 elements");
    EXPECT_FALSE(node_.team(reporter).fail(why));
    node_.finish(all_but(node_.size(), reporter));
    expect_broken(reporter, Code::memory, "no memory is left for 70 elements");
    // The first reason stays, for each member and in all later calls.
    EXPECT_FALSE(node_.team(reporter).fail(Status(Code::system, "another")));
    node_.ranks().die(0);
    for (std::uint32_t rank = 1; rank < node_.size(); ++rank) {
        node_.start(rank, gather_of(8));
        EXPECT_EQ(node_.end(rank).code(), Code::memory);
        EXPECT_EQ(node_.words(rank), "no memory is left for 70 elements");
    }
}

TEST_P(BreakageTest, a_long_reason_is_cut_and_a_missing_one_is_that_of_its_code) {
    const std::string longest(trouble_text_bytes - 1, 'y');
    for (const auto& [given, told] : {std::pair<std::string, std::string>(longest, longest),
                                      {longest + "z", longest},
                                      {"", std::string(Status::bare(Code::limit).message())}}) {
        TeamNode node(GetParam());
        const std::uint32_t reporter = node.size() - 1;
        const Status why = given.empty() ? Status::bare(Code::limit) : Status(Code::limit, given);
        EXPECT_FALSE(node.team(reporter).fail(why));
        for (const std::uint32_t rank : all_but(node.size(), reporter)) {
            node.start(rank, barrier());
            node.finish({rank});
            EXPECT_EQ(node.end(rank).code(), Code::limit);
            EXPECT_EQ(node.words(rank), told);
        }
    }
}

TEST_P(BreakageTest, the_end_of_an_epoch_breaks_the_team_for_the_caller_alone) {
    node_.team(0).end_epoch();
    EXPECT_EQ(node_.team(0).failure().code(), Code::state);
    node_.start(0, barrier());
    EXPECT_EQ(node_.end(0).code(), Code::state);
    node_.start(1, barrier());
    for (int i = 0; i < 10; ++i) node_.pass();
    EXPECT_FALSE(node_.has_ended(1)) << "member 1 was told of it";
}

// Two calls that members make instead of one.
struct Pair {
    const char* name;
    Signature first;
    Signature second;
};

Part any_call(const Signature& signature) {
    return call(signature, [signature](Team& team) {
        const std::uint64_t bytes = signature.bytes;
        const std::uint32_t size = team.members().size();
        std::vector<char> one(bytes);
        std::vector<char> all(bytes * size);
        switch (signature.call()) {
            case CollectiveCall::broadcast:
                return broadcast(team, one.data(), bytes, signature.root());
            case CollectiveCall::allreduce: {
                std::vector<char> sums(bytes);
                const Reduction sum{one.data(), sums.data(), bytes / 8,
                                    Combiner::of(ACP_INT64, signature.combination().operation)};
                return all_reduce(team, sum);
            }
            case CollectiveCall::allgather:
                return all_gather(team, one.data(), all.data(), bytes);
            default:
                return synchronize(team);
        }
    });
}

const std::vector<Pair> pairs{
    {"another_call", {CollectiveCall::allgather, 8}, {CollectiveCall::sync, 0}},
    {"another_length", {CollectiveCall::allgather, 8}, {CollectiveCall::allgather, 16}},
    {"a_short_and_a_long_message",
     {CollectiveCall::allgather, 960},
     {CollectiveCall::allgather, 968}},
    {"another_operation",
     {CollectiveCall::allreduce, 80, 0, {ACP_INT64, ACP_SUM}},
     {CollectiveCall::allreduce, 80, 0, {ACP_INT64, ACP_MAX}}},
    {"another_length_of_rounds",
     {CollectiveCall::allreduce, 80'000, 0, {ACP_INT64, ACP_SUM}},
     {CollectiveCall::allreduce, 40'000, 0, {ACP_INT64, ACP_SUM}}},
};

TEST_P(BreakageTest, members_that_make_different_calls_fail_with_the_names_of_both) {
    for (const Pair& pair : pairs) {
        SCOPED_TRACE(pair.name);
        for (const std::uint32_t odd : {std::uint32_t{0}, node_.size() - 1}) {
            TeamNode node(GetParam());
            std::vector<std::uint32_t> all;
            for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
                node.start(rank, any_call(rank == odd ? pair.second : pair.first));
                all.push_back(rank);
            }
            node.finish(all);
            // A member that waited for none has succeeded, and fails in its next call.
            node.run(barrier());
            for (const std::uint32_t rank : all) {
                const std::string words = node.words(rank);
                EXPECT_EQ(node.end(rank).code(), Code::mismatch) << words;
                for (const Signature& each : {pair.first, pair.second}) {
                    EXPECT_NE(words.find(describe(each.non_blocking())), std::string::npos)
                        << words;
                }
                EXPECT_NE(words.find("member " + std::to_string(odd) + " (rank "),
                          std::string::npos)
                    << words;
            }
        }
    }
}

// The member of the barrier and those that send to it exchange nothing: each waits for another.
TEST_P(BreakageTest, calls_that_exchange_nothing_are_compared_by_the_members_of_a_node) {
    for (const std::uint32_t odd : {std::uint32_t{0}, node_.size() - 1}) {
        TeamNode node(GetParam());
        const Part alltoall = call({CollectiveCall::alltoallv, 0}, [](Team& team) {
            std::vector<char> sent(team.members().size());
            std::vector<char> received(sent.size());
            const std::vector<std::size_t> sizes(sent.size(), 1);
            std::vector<std::size_t> offsets(sent.size());
            for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = i;
            return all_to_all(team, sent.data(), {sizes, offsets}, received.data(),
                              {sizes, offsets});
        });
        std::vector<std::uint32_t> all;
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            node.start(rank, rank == odd ? barrier() : alltoall);
            all.push_back(rank);
        }
        node.finish(all);
        for (const std::uint32_t rank : all) {
            const std::string words = node.words(rank);
            EXPECT_EQ(node.end(rank).code(), Code::mismatch) << words;
            EXPECT_NE(words.find("alltoallv_team"), std::string::npos) << words;
            EXPECT_NE(words.find("acp_nbsync_team"), std::string::npos) << words;
        }
    }
}

TEST_P(BreakageTest, a_root_that_has_gone_on_is_compared_in_the_call_it_has_left) {
    if (GetParam().size() == 2)
        return;  // no member has left the call while another one of its node waits
    TeamNode node(GetParam());
    const std::uint32_t last = node.size() - 1;
    // The first member believes that it is the root, and so does the last one.
    const auto gather_to = [](std::uint32_t root) {
        return call({CollectiveCall::gather, 8'000, root}, [=](Team& team) {
            const std::vector<char> own(8'000);
            std::vector<char> parts(own.size() * team.members().size());
            return gather(team, own.data(), parts.data(), own.size(), root);
        });
    };
    std::vector<std::uint32_t> all;
    for (std::uint32_t rank = 0; rank <= last; ++rank) {
        node.start(rank, gather_to(rank == 0 ? 0 : last));
        all.push_back(rank);
    }
    for (int i = 0; i < 50; ++i) node.pass();
    for (const std::uint32_t rank : all) {
        if (node.has_ended(rank)) node.start(rank, barrier());
    }
    node.finish(all);
    for (const std::uint32_t rank : all) {
        const std::string words = node.words(rank);
        EXPECT_EQ(node.end(rank).code(), Code::mismatch) << words;
        EXPECT_NE(words.find("to member 0"), std::string::npos) << words;
        EXPECT_NE(words.find("to member " + std::to_string(last)), std::string::npos) << words;
    }
}

TEST_P(BreakageTest, no_receive_writes_into_its_buffer_after_the_team_is_broken) {
    std::vector<char> target(100'000, 'a');
    const std::uint32_t sender = node_.size() - 1;
    node_.start(0, call({CollectiveCall::gather, target.size()}, [&](Team& team) {
                    std::vector<FarMessage> one(1);
                    return team.begin_receive(one[0], sender, target.data(), target.size()) &&
                           team.settle(one);
                }));
    node_.team(0).end_epoch();
    node_.finish({0});
    const std::vector<char> source(target.size(), 'b');
    node_.start(sender, call({CollectiveCall::gather, source.size()}, [&](Team& team) {
                    std::vector<FarMessage> one(1);
                    return team.begin_send(one[0], 0, source.data(), source.size()) &&
                           team.settle(one);
                }));
    for (int i = 0; i < 50; ++i) node_.pass();
    EXPECT_EQ(target, std::vector<char>(target.size(), 'a'));
}

std::string name_of(const testing::TestParamInfo<std::vector<std::uint32_t>>& layout) {
    std::string name = "nodes";
    for (const std::uint32_t node : layout.param) name += "_" + std::to_string(node);
    return name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, BreakageTest, testing::ValuesIn(layouts), name_of);

}  // namespace
}  // namespace acp::team::test
