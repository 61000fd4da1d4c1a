// SPDX-License-Identifier: BSD-3-Clause
// Losses of nodes and processes: commands that involve them fail once with Code::peer, others are
// not affected, every node gets a report, and nodes of overdue commands are watched.
#include <algorithm>
#include <gtest/gtest.h>

#include "router/frames.hpp"

#include "unit/router/fake_node.hpp"

namespace acp::router::test {
namespace {

constexpr Time second = 1'000'000'000;

// ORD-20, ORD-22
TEST(RouterFailureTest, fails_the_commands_of_a_severed_node_and_no_others) {
    NetworkSettings slow;
    slow.deliver_percent = 0;
    FakeJob job({1, 1, 1}, 1, slow);
    ASSERT_TRUE(job.copy(0, 2, job.shared(1), job.shared(0), 8));
    ASSERT_TRUE(job.copy(0, 4, job.shared(0), job.shared(1), 8));
    ASSERT_TRUE(job.copy(0, 6, job.shared(2), job.shared(1), 8));
    ASSERT_TRUE(job.copy(0, 8, job.shared(2), job.shared(0), 8));
    job.network.endpoint(0).sever(1);
    const std::vector<CommandEnd>& ended = job.nodes[0]->ends.ended;
    ASSERT_EQ(ended.size(), 3U);
    for (const CommandEnd& end : ended) {
        EXPECT_EQ(end.code, Code::peer);
        EXPECT_EQ(end.process, 1U);
        EXPECT_EQ(end.blamed, end.token == 2 ? BlamedAddress::target : BlamedAddress::source);
    }
    EXPECT_EQ(job.nodes[0]->router.outstanding(), 1U);
    // A later command fails at once.
    ASSERT_TRUE(job.copy(0, 10, job.shared(1), job.shared(0), 8));
    EXPECT_EQ(ended.back().token, 10U);
    EXPECT_EQ(ended.back().code, Code::peer);
}

// ORD-25
TEST(RouterFailureTest, notifies_every_node_of_a_node_that_one_has_lost) {
    FakeJob job(std::vector<std::uint32_t>(9, 1));
    job.network.cut(2, 7);
    ASSERT_TRUE(job.copy(2, 2, job.shared(7), job.shared(2), 8));
    ASSERT_TRUE(job.run());
    for (NodeId node = 0; node < 9; ++node) {
        if (node == 7) continue;
        const std::vector<NodeId>& dead = job.nodes[node]->ends.dead_nodes;
        EXPECT_EQ(std::count(dead.begin(), dead.end(), 7U), 1) << node;
        EXPECT_TRUE(job.network.endpoint(node).is_severed(7)) << node;
    }
    EXPECT_EQ(job.nodes[2]->ends.ended.at(0).code, Code::peer);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterFailureTest, notifies_no_node_of_one_that_has_left) {
    FakeJob job({1, 1, 1});
    job.network.endpoint(0).sever(2, datagram::SeverReason::gave_up);
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.nodes[0]->ends.dead_nodes, std::vector<NodeId>{2});
    EXPECT_TRUE(job.nodes[1]->ends.dead_nodes.empty());
}

// ORD-24, ORD-25
TEST(RouterFailureTest, notifies_every_node_once_of_a_dead_process_and_its_end) {
    FakeJob job({2, 1, 3, 1, 1, 1});
    const base::ProcessEnd end{139, base::ProcessEnd::process_number_max, 2};
    job.node_of(4).router.note_death(4, end);
    ASSERT_TRUE(job.run());
    for (NodeId node = 0; node < 6; ++node) {
        const auto& dead = job.nodes[node]->ends.dead;
        if (node == 2) {
            EXPECT_TRUE(dead.empty())
                << "this node has sent the death, and gets no notification of it";
            continue;
        }
        ASSERT_EQ(dead.size(), 1U) << node;
        EXPECT_EQ(dead[0], std::make_pair(4U, end));
    }
}

// ORD-22: its node's placement knows which of its memory remains.
TEST(RouterFailureTest, still_accesses_memory_of_a_dead_process_whose_node_lives) {
    FakeJob job({1, 2, 1});
    ASSERT_TRUE(job.run());
    job.node_of(1).router.note_death(1, {9});
    ASSERT_TRUE(job.run());
    job.at<std::uint64_t>(job.shared(0)) = 77;
    ASSERT_TRUE(job.copy(0, 2, job.shared(1), job.shared(0), 8));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1)), 77U);
    ASSERT_TRUE(job.add(0, 4, job.shared(0), job.shared(1), 1));
    ASSERT_TRUE(job.copy(3, 6, job.shared(3), job.shared(1), 8));
    ASSERT_TRUE(job.nodes[0]->router.invoke(job.now, {8, 0, 1, 1}, {}));
    ASSERT_TRUE(job.run());
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 3U);
    for (const CommandEnd& end : job.nodes[0]->ends.ended) EXPECT_EQ(end.code, Code::ok);
    EXPECT_EQ(job.nodes[0]->ends.results.size(), 1U);
    EXPECT_EQ(job.nodes[1]->memory.runs(), 1U);
    EXPECT_GE(job.at<std::uint64_t>(job.shared(3)), 77U);
}

// A put is in flight when its target's process dies.
TEST(RouterFailureTest, places_a_piece_that_comes_for_a_process_already_dead) {
    FakeJob job({1, 1});
    job.at<std::uint64_t>(job.shared(0)) = 77;
    ASSERT_TRUE(job.copy(0, 2, job.shared(1), job.shared(0), 8));
    job.node_of(1).router.note_death(1, {9});
    ASSERT_TRUE(job.run());
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].code, Code::ok);
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1)), 77U);
}

TEST(RouterFailureTest, completes_the_commands_of_a_dead_initiator_too) {
    FakeJob job({1, 1});
    ASSERT_TRUE(job.copy(0, 2, job.shared(1), job.shared(0), 40'000));
    ASSERT_TRUE(job.add(0, 4, job.shared(0), job.shared(1), 1));
    job.node_of(0).router.note_death(0, {9});
    EXPECT_EQ(job.nodes[0]->router.outstanding(), 0U);
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 2U);
    EXPECT_TRUE(job.is_idle());
}

// ORD-24. Work is in flight when its initiator dies, and arrives after the report of the death:
// processes that know of the death may have freed the memory.
TEST(RouterFailureTest, starts_no_work_for_an_initiator_that_is_known_to_be_dead) {
    std::uint64_t late = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        FakeJob job({1, 1}, seed);
        const Router& other = job.nodes[1]->router;
        ASSERT_TRUE(job.nodes[0]->router.invoke(job.now, {2, 0, 1, 0}, {}));
        ASSERT_TRUE(job.add(0, 4, job.shared(0), job.shared(1), 1));
        (void)job.nodes[0]->router.poll(job.now);
        (void)job.network.step();
        job.nodes[0]->router.note_death(0, {9});
        for (int i = 0; i < 1'000 && job.nodes[1]->ends.dead.empty(); ++i) (void)job.step();
        ASSERT_EQ(job.nodes[1]->ends.dead.size(), 1U);
        const std::uint64_t runs = other.counters().runs + job.nodes[1]->memory.runs();
        ASSERT_TRUE(job.run());
        EXPECT_EQ(other.counters().runs + job.nodes[1]->memory.runs(), runs) << seed;
        late += other.counters().late_puts;
    }
    EXPECT_GT(late, 0U);
}

// ORD-31
TEST(RouterFailureTest, watches_the_nodes_of_a_command_that_takes_longer_than_a_second) {
    NetworkSettings still;
    still.deliver_percent = 0;
    FakeJob job({1, 1, 1, 1}, 1, still);
    Router& router = job.nodes[0]->router;
    ASSERT_TRUE(job.copy(0, 2, job.shared(2), job.shared(1), 8));
    const Time start = job.now;
    for (Time at = start; at < start + second; at += second / 10) router.poll(at);
    EXPECT_EQ(job.network.endpoint(0).watches(1), 0U);
    for (Time at = start + second; at <= start + 3 * second; at += second / 10) router.poll(at);
    EXPECT_EQ(job.network.endpoint(0).watches(1), 1U);
    EXPECT_EQ(job.network.endpoint(0).watches(2), 1U);
    EXPECT_EQ(job.network.endpoint(0).watches(3), 0U);
    EXPECT_LE(router.deadline(), start + 4 * second);
    job.network.endpoint(0).sever(1);
    for (Time at = start + 3 * second; at <= start + 5 * second; at += second / 10) router.poll(at);
    EXPECT_EQ(job.network.endpoint(0).watches(1), 0U);
    EXPECT_EQ(job.network.endpoint(0).watches(2), 0U);
    EXPECT_EQ(router.deadline(), datagram::never);
}

TEST(RouterFailureTest, watches_a_node_for_as_long_as_its_process_asked) {
    FakeJob job({1, 1, 1}, 1, {});
    Router& router = job.nodes[0]->router;
    const Time start = job.now;
    auto poll_until = [&, at = start](Time end) mutable {
        for (; at < end; at += second / 10) router.poll(at);
    };
    router.set_now(start);
    router.watch(2, 5 * second);
    poll_until(start + 4 * second);
    EXPECT_EQ(job.network.endpoint(0).watches(2), 1U);
    router.watch(2, 5 * second);
    poll_until(start + 9 * second);
    EXPECT_EQ(job.network.endpoint(0).watches(2), 1U) << "it asked again";
    poll_until(start + 12 * second);
    EXPECT_EQ(job.network.endpoint(0).watches(2), 0U);
}

// ORD-33
TEST(RouterFailureTest, asks_the_node_of_the_source_to_watch_the_node_of_the_target) {
    MemorySettings full;
    full.refuse_percent = 100;
    FakeJob job({1, 1, 1}, 1, {}, full);
    ASSERT_TRUE(job.copy(0, 2, job.private_at(2), job.shared(1), 8));
    const auto pass = [&job](Time span) {
        for (const Time end = job.now + span; job.now < end; job.now += second / 500) job.step();
    };
    pass(second / 2);
    EXPECT_EQ(job.network.endpoint(1).watches(2), 0U);
    pass(4 * second);
    EXPECT_EQ(job.network.endpoint(1).watches(2), 1U);
    pass(10 * second);
    EXPECT_EQ(job.network.endpoint(1).watches(2), 1U);
    EXPECT_EQ(job.network.endpoint(1).watches(0), 0U);
    job.nodes[2]->memory.settings().refuse_percent = 0;
    pass(5 * second);
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.network.endpoint(1).watches(2), 0U);
    EXPECT_TRUE(job.run());
}

// ORD-33: the source's node has lost the target's, and the report of it did not reach the
// initiator's node.
TEST(RouterFailureTest, is_notified_by_the_source_node_that_the_target_node_is_lost) {
    MemorySettings full;
    full.refuse_percent = 100;
    FakeJob job({1, 1, 1}, 1, {}, full);
    ASSERT_TRUE(job.copy(0, 2, job.private_at(2), job.shared(1), 8));
    for (int i = 0; i < 100; ++i) job.step();
    job.network.endpoint(1).sever(2, datagram::SeverReason::gave_up);
    for (int i = 0; i < 2000 && job.nodes[0]->ends.ended.empty(); ++i) {
        job.step();
        job.now += second / 500;
    }
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].code, Code::peer);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].process, 2U);
}

TEST(RouterFailureTest, severs_a_silent_node_that_has_a_command) {
    FakeJob job({1, 1, 1});
    // Operation 3 never settles: the command has arrived and was acknowledged.
    ASSERT_TRUE(job.nodes[0]->router.invoke(job.now, {2, 0, 3, 1}, {}));
    for (int i = 0; i < 200; ++i) job.step();
    EXPECT_EQ(job.nodes[0]->router.outstanding(), 1U);
    job.network.cut_off(1);
    for (int i = 0; i < 100'000 && job.nodes[0]->router.outstanding() != 0; ++i) {
        job.step();
        job.now += second / 1000;
    }
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].code, Code::peer);
}

// ORD-32
TEST(RouterFailureTest, discards_a_stopped_copy_when_its_initiator_answers_over) {
    FakeJob job({1, 1});
    PutFrame frame;
    frame.bytes = 4;
    frame.total = 8;
    frame.token = 2;
    frame.target = job.shared(1);
    std::vector<std::byte> bytes(sizeof frame + 4);
    write(bytes.data(), frame);
    job.network.inject(0, 1, bytes);
    EXPECT_FALSE(job.is_idle());
    ASSERT_TRUE(job.run());
    EXPECT_TRUE(job.is_idle());
    EXPECT_EQ(job.nodes[1]->router.counters().forgotten, 1U);
}

TEST(RouterFailureTest, keeps_a_stopped_copy_that_is_not_over) {
    FakeJob job({1, 1, 1});
    // The second half never arrives; the command is outstanding at its initiator.
    ASSERT_TRUE(job.nodes[0]->router.invoke(job.now, {2, 0, 3, 2}, {}));
    PutFrame frame;
    frame.bytes = 4;
    frame.total = 8;
    frame.token = 2;
    frame.target = job.shared(1);
    std::vector<std::byte> bytes(sizeof frame + 4);
    write(bytes.data(), frame);
    job.network.inject(0, 1, bytes);
    for (int i = 0; i < 30; ++i) {
        job.now += second / 2;
        job.step();
    }
    EXPECT_FALSE(job.nodes[1]->router.is_idle());
    EXPECT_EQ(job.nodes[1]->router.counters().forgotten, 0U);
}

// ORD-26
TEST(RouterFailureTest, fails_a_meeting_when_a_node_is_lost) {
    FakeJob job({1, 1, 1});
    job.network.cut_off(2);
    job.nodes[0]->router.start_barrier(0, {});
    job.nodes[1]->router.start_barrier(0, {});
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.nodes[0]->ends.dead_nodes, std::vector<NodeId>{2});
    EXPECT_EQ(job.nodes[1]->ends.dead_nodes, std::vector<NodeId>{2});
    EXPECT_TRUE(job.nodes[0]->ends.met.empty());
    EXPECT_TRUE(job.nodes[0]->router.is_idle());
}

TEST(RouterMeetingTest, meets_and_gathers_a_table_over_the_network) {
    NetworkSettings small;
    small.datagram_bytes = 40;
    FakeJob job({3, 1, 7, 2, 2}, 3, small);
    for (std::uint32_t number = 0; number < 3; ++number) {
        const bool has_table = number == 1;
        for (NodeId node = 0; node < 5; ++node) {
            std::vector<std::uint32_t> wanted;
            for (std::uint32_t process = job.map.first_process(node);
                 has_table && process < job.map.first_process(node + 1); ++process) {
                wanted.push_back(100 - process);
            }
            job.nodes[node]->router.start_barrier(number, wanted);
        }
        ASSERT_TRUE(job.run());
        for (NodeId node = 0; node < 5; ++node) {
            const auto& met = job.nodes[node]->ends.met;
            ASSERT_EQ(met.size(), number + 1);
            EXPECT_EQ(met[number].first, number);
            ASSERT_EQ(met[number].second.size(), has_table ? 15U : 0U);
            for (std::uint32_t process = 0; process < met[number].second.size(); ++process) {
                EXPECT_EQ(met[number].second[process], 100 - process);
            }
        }
    }
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterMeetingTest, learns_the_least_of_words_over_the_network) {
    NetworkSettings small;
    small.datagram_bytes = 40;
    FakeJob job({3, 1, 7, 2, 2}, 3, small);
    for (std::uint32_t number = 0; number < 3; ++number) {
        for (NodeId node = 0; node < 5; ++node) {
            job.nodes[node]->router.start_min_reduction(number, {100 - node, 7 + number, node});
        }
        ASSERT_TRUE(job.run());
        for (NodeId node = 0; node < 5; ++node) {
            const auto& met = job.nodes[node]->ends.met;
            ASSERT_EQ(met.size(), number + 1);
            EXPECT_EQ(met[number].second, (std::vector<std::uint32_t>{96, 7 + number, 0}));
        }
    }
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterMeetingTest, is_over_at_once_on_a_single_node) {
    FakeJob job({4});
    job.nodes[0]->router.start_barrier(0, {});
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.nodes[0]->ends.met.size(), 1U);
}

// No endpoint would report that the node cannot be reached.
TEST(RouterFailureTest, severs_a_node_for_which_there_is_no_memory_for_too_long) {
    RouterSettings settings;
    settings.no_memory_max_ns = 5 * second;
    for (const bool is_for_good : {false, true}) {
        FakeJob job({1, 1}, 1, {}, {}, settings);
        job.network.endpoint(0).set_memory_refused(true);
        ASSERT_TRUE(job.copy(0, 2, job.shared(1), job.shared(0), 8));
        const Time start = job.now;
        const std::vector<CommandEnd>& ended = job.nodes[0]->ends.ended;
        while (job.now < start + (is_for_good ? 7 : 3) * second && ended.empty()) {
            job.now += second / 10;
            job.step();
        }
        job.network.endpoint(0).set_memory_refused(false);
        ASSERT_TRUE(job.run());
        ASSERT_EQ(ended.size(), 1U);
        EXPECT_EQ(ended[0].code, is_for_good ? Code::peer : Code::ok);
        EXPECT_EQ(job.nodes[0]->router.counters().no_memory > 1, true);
    }
}

// The time of a refusal is the time of the frames that it answers, not of a poll long ago.
TEST(RouterFailureTest, a_first_refusal_after_a_silence_severs_no_node) {
    RouterSettings settings;
    settings.no_memory_max_ns = 5 * second;
    FakeJob job({1, 1}, 1, {}, {}, settings);
    ASSERT_TRUE(job.copy(0, 2, job.shared(1), job.shared(0), 8));
    ASSERT_TRUE(job.run());
    job.now += 60 * second;
    job.network.endpoint(1).set_memory_refused(true);  // refuses memory for the answer
    ASSERT_TRUE(job.copy(0, 4, job.shared(0), job.shared(1), 8));
    job.nodes[0]->router.poll(job.now);
    job.nodes[1]->router.set_now(job.now);  // its last poll was long ago
    job.network.step();
    const Time start = job.now;
    while (job.now < start + 2 * second) {
        job.now += second / 10;
        job.step();
    }
    EXPECT_GT(job.nodes[1]->router.counters().no_memory, 0U);
    job.network.endpoint(1).set_memory_refused(false);
    ASSERT_TRUE(job.run());
    const std::vector<CommandEnd>& ended = job.nodes[0]->ends.ended;
    ASSERT_EQ(ended.size(), 2U);
    EXPECT_EQ(ended[1].code, Code::ok);
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
