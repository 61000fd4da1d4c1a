// SPDX-License-Identifier: BSD-3-Clause
// Gateways of two and three nodes over real sockets on loopback: copies between all kinds of
// memory, third-party copies, atomics, meetings, deaths of processes and nodes, refusals. One
// thread polls all gateways and ranks.
#include "gateway/gateway.hpp"

#include <array>
#include <set>

#include "node/loss.hpp"

#include "unit/gateway/test_job.hpp"

namespace acp::gateway::test {
namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;

// The settings of a job, and how its gateways reach private memory.
struct Shape {
    const char* name;
    std::vector<std::uint32_t> counts;
    Kind kind;
    base::AttachMode attach;
    bool is_own;
};

const Shape all_shapes[] = {
    {"alone", {1, 1, 1}, automatic_kind, base::AttachMode::automatic, true},
    {"attach", {2, 1, 2}, automatic_kind, base::AttachMode::automatic, false},
    {"owner", {2, 1, 2}, automatic_kind, base::AttachMode::off, false},
    {"mailbox",
     {2, 1, 2},
     {"mailbox", base::IntraNode::mailbox, base::MailboxKind::mpsc},
     base::AttachMode::off,
     false},
    {"mixed", {1, 2, 1}, automatic_kind, base::AttachMode::automatic, true},
};

void PrintTo(const Shape& shape, std::ostream* out) {
    *out << shape.name;
}

JobOptions options_of(const Shape& shape) {
    JobOptions options;
    options.counts = shape.counts;
    options.kind = shape.kind;
    options.is_own = shape.is_own;
    options.config.attach = shape.attach;
    return options;
}

class GatewayTest : public testing::TestWithParam<Shape> {
protected:
    GatewayTest() : job_(options_of(GetParam())) {}

    [[nodiscard]] bool is_remote(std::uint32_t initiator, std::uint32_t from, std::uint32_t to) {
        const std::uint32_t node = job_.process(initiator).node;
        return job_.process(from).node != node || job_.process(to).node != node;
    }

    Job job_;
};

// Jobs in which agents run all gateways.
using MeetingTest = GatewayTest;

TEST_P(GatewayTest, copies_between_any_two_processes_for_any_third_and_all_kinds_of_memory) {
    const std::uint32_t n = job_.procs();
    for (std::uint32_t which = 0; which < n * n * n * 4; ++which) {
        const std::uint32_t initiator = which % n;
        const std::uint32_t from = which / n % n;
        const std::uint32_t to = which / n / n % n;
        if (!is_remote(initiator, from, to)) continue;
        const Memory source = job_.memory(from, (which / n / n / n & 1) != 0);
        const Memory target = job_.memory(to, (which / n / n / n & 2) != 0);
        for (const std::uint64_t bytes : {0ULL, 1ULL, 8ULL, 24ULL, 1409ULL, 20'000ULL}) {
            const std::uint64_t at = 2 * mebibyte;
            job_.fill(source.bytes, bytes);
            target.bytes[at - 1] = target.bytes[at + bytes] = 'e';
            ASSERT_EQ(job_.copy(initiator, target.address + at, source.address, bytes), Code::ok);
            ASSERT_EQ(std::memcmp(target.bytes + at, source.bytes, bytes), 0)
                << bytes << " bytes by " << initiator << " from " << from << " to " << to;
            ASSERT_EQ(target.bytes[at - 1], 'e');
            ASSERT_EQ(target.bytes[at + bytes], 'e');
        }
    }
}

TEST_P(GatewayTest, long_copies_arrive_whole_in_both_directions_at_once) {
    const std::uint32_t last = job_.procs() - 1;
    const std::uint64_t bytes = mebibyte + 4321;
    for (const bool is_private : {false, true}) {
        const Memory here = job_.memory(0, is_private);
        const Memory there = job_.memory(last, is_private);
        job_.fill(here.bytes, bytes);
        job_.fill(there.bytes, bytes);
        const std::uint64_t at = 2 * mebibyte;
        job_.submit(0, {Operation::copy, 0, there.address + at, here.address, bytes, 0, 0});
        job_.submit(last, {Operation::copy, 0, here.address + at, there.address, bytes, 0, 0});
        job_.submit(0, {Operation::copy, 0, there.address + at, here.address, bytes, 0, 0});
        job_.poll_until([&] {
            return job_.process(0).ended.size() == 2 && job_.process(last).ended.size() == 1;
        });
        EXPECT_EQ(std::memcmp(there.bytes + at, here.bytes, bytes), 0);
        EXPECT_EQ(std::memcmp(here.bytes + at, there.bytes, bytes), 0);
        job_.process(0).ended.clear();
        job_.process(last).ended.clear();
    }
}

TEST_P(GatewayTest, atomics_run_once_and_give_their_old_value_to_any_process) {
    const std::uint32_t n = job_.procs();
    std::uint64_t sum = 1000;
    for (const bool is_private : {false, true}) {
        const Memory word = job_.memory(n - 1, is_private);
        std::uint64_t value = sum;
        std::memcpy(word.bytes + 64, &value, 8);
        for (std::uint32_t initiator = 0; initiator < n; ++initiator) {
            for (std::uint32_t to = 0; to < n; ++to) {
                if (!is_remote(initiator, n - 1, to)) continue;
                const Memory target = job_.memory(to, is_private);
                const Command command{
                    Operation::add, 8, target.address + 128, word.address + 64, 8, 3, 0};
                ASSERT_EQ(job_.run(initiator, command).code, Code::ok);
                std::memcpy(&value, target.bytes + 128, 8);
                EXPECT_EQ(value, sum);
                sum += 3;
            }
        }
        std::memcpy(&value, word.bytes + 64, 8);
        EXPECT_EQ(value, sum);
    }
}

TEST_P(GatewayTest, many_commands_of_all_processes_are_in_flight_at_once) {
    const std::uint32_t n = job_.procs();
    constexpr std::uint32_t each = 300;
    std::vector<std::uint32_t> expected(n);
    for (std::uint32_t i = 0; i < each; ++i) {
        for (std::uint32_t p = 0; p < n; ++p) {
            const std::uint32_t to = (p + 1 + i % (n - 1)) % n;
            if (job_.process(p).node == job_.process(to).node) continue;
            const std::uint64_t at = 4096ULL * p + 8ULL * i;
            std::memcpy(job_.memory(p, false).bytes + 8ULL * i, &i, sizeof i);
            job_.submit(p, {Operation::copy, 0, job_.memory(to, i % 2 != 0).address + 65536 + at,
                            job_.memory(p, false).address + 8ULL * i, 8, 0, 0});
            ++expected[p];
        }
    }
    for (std::uint32_t p = 0; p < n; ++p) {
        job_.poll_until([&] { return job_.process(p).ended.size() == expected[p]; });
        std::set<std::uint64_t> tokens;
        for (const Ended& one : job_.process(p).ended) {
            EXPECT_EQ(one.code, Code::ok);
            EXPECT_TRUE(tokens.insert(one.token).second);
        }
    }
    for (std::uint32_t i = 0; i < each; ++i) {
        for (std::uint32_t p = 0; p < n; ++p) {
            const std::uint32_t to = (p + 1 + i % (n - 1)) % n;
            if (job_.process(p).node == job_.process(to).node) continue;
            std::uint32_t value = ~0U;
            std::memcpy(&value, job_.memory(to, i % 2 != 0).bytes + 65536 + 4096ULL * p + 8ULL * i,
                        sizeof value);
            EXPECT_EQ(value, i);
        }
    }
}

TEST_P(GatewayTest, the_error_of_a_command_is_returned_to_its_initiator) {
    const std::uint32_t last = job_.procs() - 1;
    const Memory here = job_.memory(0, false);
    const Memory there = job_.memory(last, true);
    Ended ended = job_.run(0, {Operation::copy, 0, there.address + mailbox::test::private_bytes - 4,
                               here.address, 8, 0, 0});
    EXPECT_EQ(ended.code, Code::address);
    EXPECT_EQ(ended.blamed, memory::BlamedAddress::target);
    EXPECT_EQ(ended.process, last);
    ended = job_.run(0, {Operation::copy, 0, here.address,
                         there.address + mailbox::test::private_bytes - 4, 8, 0, 0});
    EXPECT_EQ(ended.code, Code::address);
    EXPECT_EQ(ended.blamed, memory::BlamedAddress::source);
    ended = job_.run(0, {Operation::add, 8, here.address, there.address + 4, 8, 1, 0});
    EXPECT_EQ(ended.code, Code::alignment);
    ASSERT_TRUE(job_.process(last).rank->registry->remove(there.address).is_ok());
    ended = job_.run(0, {Operation::copy, 0, there.address, here.address, 8, 0, 0});
    EXPECT_EQ(ended.code, Code::stale);
}

TEST_P(MeetingTest, the_nodes_meet_when_all_their_processes_have_asked_to) {
    const auto nodes = static_cast<std::uint32_t>(GetParam().counts.size());
    for (std::uint32_t number = 1; number <= 5; ++number) {
        for (std::uint32_t node = 0; node < nodes; ++node) {
            const node::ControlBlock& control = job_.segment(node).control();
            for (int i = 0; i < 50; ++i) job_.poll();
            EXPECT_FALSE(control.barrier_released.reached(control.barrier_released.load(), number))
                << "a node has not come yet";
            job_.segment(node).control().meeting_asked.exchange(number, std::memory_order_seq_cst);
            job_.segment(node).wake_gateway();
        }
        job_.poll_until([&] {
            for (std::uint32_t node = 0; node < nodes; ++node) {
                const auto& released = job_.segment(node).control().barrier_released;
                if (!released.reached(released.load(), number)) {
                    return false;
                }
            }
            return true;
        });
    }
}

TEST_P(MeetingTest, a_death_is_sent_to_all_nodes_and_ends_commands_that_need_the_dead) {
    const std::uint32_t last = job_.procs() - 1;
    ASSERT_EQ(job_.copy(0, job_.memory(last, true).address, job_.memory(0, false).address, 8),
              Code::ok);
    job_.kill(last);
    job_.poll_until([&] { return node::is_lost(job_.segment(0), last); });
    job_.poll_until([&] { return node::is_lost(job_.segment(1), last); });
    const Ended ended = job_.run(0, {Operation::copy, 0, job_.memory(last, true).address,
                                     job_.memory(0, false).address, 8, 0, 0});
    EXPECT_EQ(ended.code, Code::peer);
    EXPECT_EQ(ended.process, last);
    EXPECT_EQ(job_.copy(0, job_.memory(last - 1, true).address, job_.memory(0, false).address, 8),
              Code::ok);
}

// A second process of the node is killed, and the first one leaves because of that, before the
// gateway polls.
TEST(GatewayDeaths, other_nodes_are_notified_first_of_the_first_death) {
    JobOptions options;
    options.counts = {2, 2};
    Job job(options);
    ASSERT_EQ(job.copy(0, job.memory(2, true).address, job.memory(0, false).address, 8), Code::ok);
    node::mark_dead(job.segment(1), 1, 9);
    node::mark_dead(job.segment(1), 0, node::gave_up_status);
    job.poll_until([&] { return node::is_lost(job.segment(0), 2); });
    EXPECT_TRUE(node::is_lost(job.segment(0), 3));
    const std::string told = node::first_fate(job.segment(0));
    EXPECT_NE(told.find("rank 3 "), std::string::npos) << told;
}

// A process of node 1 finds rank 3 gone and leaves because of that, before the agent has waited for
// the dead process.
TEST(GatewayDeaths, other_nodes_are_notified_of_how_a_process_ended_that_its_node_found_gone) {
    JobOptions options;
    options.counts = {2, 2};
    Job job(options);
    ASSERT_EQ(job.copy(0, job.memory(2, true).address, job.memory(0, false).address, 8), Code::ok);
    const node::Segment& segment = job.segment(1);
    segment.control().watcher_pid.store(1);
    segment.slot(1).pid.store(4711);
    node::mark_dead(segment, 1, node::unseen_status);
    node::mark_dead(segment, 0, node::departed_status);
    for (int polls = 0; polls < 20; ++polls) job.poll();
    EXPECT_FALSE(node::is_lost(job.segment(0), 2));
    node::mark_dead(segment, 1, 11);
    job.poll_until([&] { return node::is_lost(job.segment(0), 2); });
    const std::string told = node::first_fate(job.segment(0));
    EXPECT_TRUE(told.starts_with("rank 3 (process 4711) on node 1 (")) << told;
    EXPECT_TRUE(told.ends_with("was killed by signal 11 (SIGSEGV) without acp_finalize")) << told;
}

// The only process of a node closes the socket of its gateway and leaves the broken job before its
// agent polls.
TEST(GatewayDeaths, other_nodes_are_notified_first_of_the_cause_of_a_lost_socket) {
    JobOptions options;
    options.counts = {2, 1};
    Job job(options);
    ASSERT_EQ(job.copy(0, job.memory(2, true).address, job.memory(0, false).address, 8), Code::ok);
    job.segment(1).control().is_unreachable.store(1);
    node::mark_dead(job.segment(1), 0, node::departed_status);
    job.poll_until([&] { return node::is_lost(job.segment(0), 2); });
    const std::string told = node::fate_of_process(job.segment(0), 2);
    EXPECT_NE(told.find("closed the descriptor of its own UDP socket"), std::string::npos) << told;
}

// Two processes leave by acp_finalize and end.
//   statuses  their exit statuses
void leave(const node::Segment& segment, const std::array<std::uint32_t, 2>& statuses) {
    for (std::uint32_t slot = 0; slot < statuses.size(); ++slot) {
        segment.slot(slot).state.store(static_cast<std::uint32_t>(node::SlotState::left));
        node::mark_dead(segment, slot, statuses[slot]);
    }
}

// After a death the ranks leave one by one. The departure of a rank that leaves by acp_finalize is
// reported only where a rank waits for it.
TEST(GatewayDeaths, other_nodes_are_notified_of_a_rank_that_left_a_broken_job) {
    JobOptions options;
    options.counts = {2, 2};
    Job job(options);
    ASSERT_EQ(job.copy(0, job.memory(2, true).address, job.memory(0, false).address, 8), Code::ok);
    leave(job.segment(1), {node::departed_status, 0U});
    job.poll_until([&] { return node::is_lost(job.segment(0), 2); });
    EXPECT_NE(node::fate_of_process(job.segment(0), 2).find("has left the job"), std::string::npos);
    for (int polls = 0; polls < 20; ++polls) job.poll();
    EXPECT_FALSE(node::is_lost(job.segment(0), 3));
}

// A rank that has made fewer collective calls leaves; another rank finds that out and leaves too.
TEST(GatewayDeaths, other_nodes_are_notified_first_of_the_rank_that_others_could_not_meet) {
    JobOptions options;
    options.counts = {2, 2};
    Job job(options);
    ASSERT_EQ(job.copy(0, job.memory(2, true).address, job.memory(0, false).address, 8), Code::ok);
    leave(job.segment(1), {0U, node::departed_status});
    job.poll_until([&] { return node::is_lost(job.segment(0), 3); });
    EXPECT_TRUE(node::has_first_finished(job.segment(0))) << node::first_fate(job.segment(0));
}

TEST_P(GatewayTest, it_counts_what_it_does_where_others_can_read_it) {
    const std::uint32_t last = job_.procs() - 1;
    ASSERT_EQ(job_.copy(0, job_.memory(last, false).address, job_.memory(0, false).address, 8000),
              Code::ok);
    const gateway::StatsValues values = job_.stats(0);
    ASSERT_GT(values.peer_count, 0U);
    EXPECT_EQ(values.node, 0U);
    EXPECT_EQ(values.nodes, 3U);
    EXPECT_GT(values.tables.transport[0], 0U);
    EXPECT_EQ(values.receive_drops, 0U);
    EXPECT_LT(values.peers[0].node, 3U);
}

std::string name_of(const testing::TestParamInfo<Shape>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(of, GatewayTest, testing::ValuesIn(all_shapes), name_of);
INSTANTIATE_TEST_SUITE_P(of,
                         MeetingTest,
                         testing::Values(all_shapes[1], all_shapes[2], all_shapes[3]),
                         name_of);

JobOptions impatient() {
    JobOptions options;
    options.counts = {1, 1, 1};
    options.config.peer_timeout_ns = 1'500'000'000;
    options.connect_timeout_ns = 300'000'000;
    return options;
}

TEST(GatewayLosses, a_lost_node_ends_the_commands_in_flight_to_it_and_no_others) {
    Job job(impatient());
    ASSERT_EQ(job.copy(0, job.memory(1, false).address, job.memory(0, false).address, 8), Code::ok);
    job.stop_node(1);
    const Ended ended = job.run(0, {Operation::copy, 0, job.memory(1, false).address,
                                    job.memory(0, false).address, 8, 0, 0});
    EXPECT_EQ(ended.code, Code::peer);
    EXPECT_TRUE(node::is_node_lost(job.segment(0), 1));
    EXPECT_EQ(job.copy(0, job.memory(2, false).address, job.memory(0, false).address, 8), Code::ok);
    job.poll_until([&] { return node::is_node_lost(job.segment(2), 1); });
}

TEST(GatewayLosses, a_node_that_never_answers_is_unreachable) {
    Job job(impatient());
    job.stop_node(2);
    const Ended ended = job.run(0, {Operation::copy, 0, job.memory(2, false).address,
                                    job.memory(0, false).address, 8, 0, 0});
    EXPECT_EQ(ended.code, Code::peer);
    EXPECT_TRUE(node::is_node_lost(job.segment(0), 2));
}

TEST(GatewayLosses, a_node_that_leaves_notifies_the_others) {
    Job job(impatient());
    ASSERT_EQ(job.copy(0, job.memory(1, false).address, job.memory(0, false).address, 8), Code::ok);
    job.gateway(1).leave(50'000'000);
    job.stop_node(1);
    job.poll_until([&] { return node::is_node_lost(job.segment(0), 1); });
    EXPECT_EQ(job.copy(0, job.memory(1, false).address, job.memory(0, false).address, 8),
              Code::peer);
}

}  // namespace
}  // namespace acp::gateway::test
