// SPDX-License-Identifier: BSD-3-Clause
// Losses on other nodes: their order and their texts, and queries that allocate nothing before the
// first loss. One thread.
#include "node/loss.hpp"

#include <array>
#include <atomic>
#include <sys/stat.h>
#include <thread>

#include "node/death.hpp"
#include "os/futex.hpp"

#include "unit/node/test_nodes.hpp"

namespace acp::node {
namespace {

using test::make_nodes;

TEST(LossTest, a_process_is_lost_alone_and_with_its_node) {
    const std::vector<Segment> segments = make_nodes({2, 3, 2});
    const Segment& here = segments[0];
    EXPECT_TRUE(note_lost_process(here, 3, {9}));
    EXPECT_FALSE(note_lost_process(here, 3, {0})) << "known already";
    EXPECT_TRUE(note_lost_node(here, 2, {NodeFate::unreachable}));
    EXPECT_FALSE(note_lost_node(here, 2, {NodeFate::silent}));
    for (std::uint32_t process = 0; process < 7; ++process) {
        EXPECT_EQ(is_lost(here, process), process == 3 || process >= 5) << process;
    }
    EXPECT_TRUE(is_node_lost(here, 2));
    EXPECT_FALSE(is_node_lost(here, 1));
    EXPECT_FALSE(note_lost_process(here, 7, {9})) << "one past the last";
    EXPECT_FALSE(note_lost_node(here, 3, {NodeFate::told}));
    EXPECT_EQ(fate_of_process(here, 3),
              "rank 3 on node 1 (10.0.0.1) was killed by signal 9 (SIGKILL)");
    EXPECT_EQ(fate_of_process(here, 6),
              "rank 6 is on node 2 (10.0.0.2), which could not be reached at any of its addresses "
              "within the 10 s of ACP_PEER_TIMEOUT (UDP to "
              "10.0.0.2:4711; a firewall may drop it, there or on the way, or the process that "
              "should answer there may be stopped)");
    EXPECT_EQ(told_loss(here, 0), fate_of_process(here, 3));
    EXPECT_EQ(
        told_loss(here, 1),
        "rank 5 and 1 more are on node 2 (10.0.0.2), which could not be reached at any of its "
        "addresses within the 10 s of ACP_PEER_TIMEOUT (UDP to 10.0.0.2:4711; a firewall may drop "
        "it, there or on the way, or the "
        "process that should answer there may be stopped)");
    EXPECT_EQ(fate_of_process(here, 4, {NodeFate::silent}),
              "rank 4 is on node 1 (10.0.0.1), which has not answered for the 10 s of "
              "ACP_PEER_TIMEOUT (UDP to "
              "10.0.0.1:4711; its machine may be down, its agent or a rank that is its own "
              "gateway (ACP_GATEWAY) may be stopped, or a firewall may have begun to drop it)");
    EXPECT_TRUE(
        note_lost_process(here, 2, {0, 4711, static_cast<std::uint8_t>(SlotState::joined)}));
    EXPECT_EQ(fate_of_process(here, 2),
              "rank 2 (process 4711) on node 1 (10.0.0.1) exited with code 0 without acp_finalize");
    EXPECT_EQ(end_of_lost(here, 2).value_or(base::ProcessEnd{}).process_number, 4711U);
    EXPECT_EQ(told_loss(here, 3), "");
    EXPECT_FALSE(is_lost(segments[1], 3)) << "each node gets the loss from its own gateway";
}

TEST(LossTest, the_host_of_a_lost_process_or_node_is_named) {
    const Segment here = std::move(make_nodes({1, 1, 1})[0]);
    NodeAddress address;
    address.family = 4;
    address.ip = {10, 0, 0, 1};
    ASSERT_TRUE(NodeTable(here).set(1, 1, {{address}}, 0, "alpha").is_ok());
    EXPECT_TRUE(note_lost_process(here, 1, {9, 4711, static_cast<std::uint8_t>(SlotState::left)}));
    EXPECT_EQ(first_fate(here),
              "rank 1 (process 4711) on node 1 (alpha, 10.0.0.1) was killed by signal 9 (SIGKILL) "
              "after acp_finalize");
    EXPECT_EQ(node_name(here, 1), "node 1 (alpha, 10.0.0.1)");
    EXPECT_EQ(node_name(here, 2), "node 2 (10.0.0.2)");
}

TEST(LossTest, a_node_that_another_gateway_has_given_up_names_the_usual_reasons) {
    const Segment here = std::move(make_nodes({1, 1, 1})[0]);
    EXPECT_TRUE(note_lost_node(here, 2, {NodeFate::told}));
    const std::string text = fate_of_process(here, 2);
    for (const char* const part :
         {"rank 2 is on node 2 (10.0.0.2), which was given up, ",
          "the errors on the other ranks say why", "the 10 s of ACP_PEER_TIMEOUT",
          "(ACP_GATEWAY) stopped", "other collective calls"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(LossTest, an_unreachable_node_names_how_many_of_its_addresses_are_not_tried) {
    const Segment here = std::move(make_nodes({1, 1})[0]);
    const NodeAddress address{{10, 0, 0, 1}, 4711, 4};
    for (const std::uint8_t left_out : {std::uint8_t{1}, std::uint8_t{3}}) {
        ASSERT_TRUE(NodeTable(here).set(1, 1, {{address}}, left_out).is_ok());
        EXPECT_EQ(NodeTable(here).left_out(1), left_out);
        const std::string text = fate_of_process(here, 1, {NodeFate::unreachable});
        const std::string wanted =
            left_out == 1
                ? "(UDP to 10.0.0.1:4711; 1 more address of that machine is not tried, for "
                  "a node has at most 8: acprun --net chooses; a firewall"
                : "; 3 more addresses of that machine are not tried, ";
        EXPECT_NE(text.find(wanted), std::string::npos) << text;
    }
}

TEST(LossTest, a_process_is_gone_when_it_is_dead_here_or_lost_elsewhere) {
    const std::vector<Segment> segments = make_nodes({2, 3, 2});
    const Segment& here = segments[1];
    mark_dead(here, 1, 9);
    EXPECT_TRUE(note_lost_process(here, 1, {9}));
    EXPECT_TRUE(note_lost_node(here, 2, {NodeFate::silent}));
    for (std::uint32_t process = 0; process < 7; ++process)
        EXPECT_EQ(is_gone(here, process), process == 1 || process == 3 || process >= 5) << process;
}

// The node's gateway and a process that is its own gateway record the same losses at one moment, in
// opposite order.
TEST(LossTest, two_writers_record_every_loss_and_no_other) {
    constexpr std::uint32_t far = 2 * losses_told;
    for (int trial = 0; trial < 50; ++trial) {
        const std::vector<Segment> segments = make_nodes({1, far});
        const Segment& here = segments[0];
        std::atomic<int> ready{0};
        std::array<std::uint32_t, 2> news{};
        const auto write = [&](std::uint32_t writer) {
            ready.fetch_add(1);
            while (ready.load() < 2) std::this_thread::yield();
            for (std::uint32_t i = 0; i < far; ++i) {
                const std::uint32_t process = 1 + (writer == 0 ? i : far - 1 - i);
                if (note_lost_process(here, process, {9})) ++news[writer];
            }
        };
        std::thread other(write, 1);
        write(0);
        other.join();
        EXPECT_EQ(news[0] + news[1], far) << "each loss is reported by exactly one writer";
        for (std::uint32_t process = 1; process <= far; ++process)
            EXPECT_TRUE(is_lost(here, process)) << process;
        for (std::uint32_t i = 0; i < losses_told; ++i) {
            EXPECT_TRUE(told_loss(here, i).ends_with("was killed by signal 9 (SIGKILL)"))
                << i << ": " << told_loss(here, i);
        }
    }
}

// Node 1 has an address on each of three rails.
TEST(LossTest, a_node_lost_on_one_of_several_rails_is_reported_with_rail_and_address) {
    const std::vector<Segment> segments = make_nodes({1, 1, 1});
    std::array<NodeAddress, 3> addresses;
    for (std::uint8_t rail = 0; rail < 3; ++rail) {
        addresses[rail].family = 4;
        addresses[rail].ip = {10, rail, 0, 1};
        addresses[rail].port = static_cast<std::uint16_t>(4711 + rail);
    }
    ASSERT_TRUE(NodeTable(segments[0]).set(1, 1, addresses).is_ok());
    EXPECT_EQ(fate_of_process(segments[0], 1, {NodeFate::unreachable, 1}),
              "rank 1 is on node 1 (10.0.0.1), which could not be reached on rail 1 within the 10 "
              "s of ACP_PEER_TIMEOUT (UDP to "
              "10.1.0.1:4712; a firewall may drop it, there or on the way, or the process that "
              "should answer there may be stopped)");
    EXPECT_TRUE(note_lost_node(segments[0], 1, {NodeFate::silent, 2}));
    EXPECT_EQ(fate_of_process(segments[0], 1),
              "rank 1 is on node 1 (10.0.0.1), which has not answered for the 10 s of "
              "ACP_PEER_TIMEOUT on rail 2 (UDP "
              "to 10.2.0.1:4713; that network or its machine may be down, its agent or a rank "
              "that is its own gateway (ACP_GATEWAY) may be stopped, or a firewall may have begun "
              "to drop it)");
    EXPECT_EQ(told_loss(segments[0], 0), fate_of_process(segments[0], 1));
    const std::string given_up = fate_of_process(segments[0], 2, {NodeFate::gave_up, 0});
    EXPECT_NE(given_up.find("given this node up, which it does when it gets no answer by one of "
                            "the rails"),
              std::string::npos)
        << given_up;
    EXPECT_EQ(fate_of_process(segments[0], 2, {NodeFate::left, 0}),
              "rank 2 is on node 2 (10.0.0.2), which has left the job");
    EXPECT_TRUE(note_lost_node(segments[0], 2, {NodeFate::stalled, 1, 1472}));
    EXPECT_EQ(
        told_loss(segments[0], 1),
        "rank 2 is on node 2 (10.0.0.2), which answers, but nothing that was sent to it in "
        "datagrams of 1472 bytes on rail 1 has arrived for the 10 s of ACP_PEER_TIMEOUT (UDP to "
        "10.0.0.2:4711; the path does not carry packets of that length, whole or in "
        "fragments: compare the MTU of the interfaces, tunnels and bridges on the way)");
}

TEST(LossTest, the_first_sixteen_are_described_and_later_ones_are_only_gone) {
    const std::vector<Segment> segments = make_nodes({1, 40});
    for (std::uint32_t i = 0; i <= losses_told; ++i) {
        EXPECT_TRUE(note_lost_process(segments[0], 1 + i, {i << 8U}));
    }
    EXPECT_EQ(fate_of_process(segments[0], losses_told),
              "rank 16 on node 1 (10.0.0.1) exited with code 15");
    EXPECT_EQ(fate_of_process(segments[0], losses_told + 1),
              "rank 17 on node 1 (10.0.0.1) is gone");
    EXPECT_TRUE(is_lost(segments[0], losses_told + 1));
    EXPECT_FALSE(is_lost(segments[0], losses_told + 2));
    EXPECT_NE(told_loss(segments[0], losses_told - 1), "");
    EXPECT_EQ(told_loss(segments[0], losses_told), "");
}

TEST(LossTest, the_first_loss_is_reported_first_on_any_node) {
    const std::vector<Segment> segments = make_nodes({2, 2});
    mark_dead(segments[0], 1, 9);
    EXPECT_TRUE(note_lost_process(segments[0], 2, {9}));
    count_loss(segments[0]);
    EXPECT_EQ(first_fate(segments[0]).find("rank 1 (process "), 0U);
    EXPECT_TRUE(note_lost_process(segments[1], 0, {9}));
    count_loss(segments[1]);
    mark_dead(segments[1], 1, 9);
    EXPECT_EQ(first_fate(segments[1]).find("rank 0 on node 0 "), 0U);
    EXPECT_FALSE(first_dead(segments[1]).has_value());
    EXPECT_EQ(segments[1].control().deaths.load(std::memory_order_relaxed), 2U);
}

TEST(LossTest, a_loss_wakes_sleepers) {
    const std::vector<Segment> segments = make_nodes({1, 1});
    sync::Bell<>& bell = segments[0].slot(0).door.waiter_bell;
    const std::uint32_t value = bell.announce();
    count_loss(segments[0]);
    EXPECT_EQ(os::futex_wait(bell.word(), value, 60'000'000'000), os::Wake::changed);
}

TEST(LossTest, asking_takes_no_memory_before_the_first_loss) {
    Shape shape;
    shape.procs = 1U << 20;
    shape.nodes = 1U << 20;
    shape.datagram_bytes = 64;
    const Segment segment = std::move(Segment::create(shape)).value();
    const auto taken = [&] {
        struct stat status {};

        EXPECT_EQ(fstat(segment.file(), &status), 0);
        return status.st_blocks;
    };
    const auto before = taken();
    for (std::uint32_t i = 0; i < shape.procs; i += 1000) {
        EXPECT_FALSE(is_lost(segment, i) || is_node_lost(segment, i));
    }
    EXPECT_EQ(taken(), before);
}

}  // namespace
}  // namespace acp::node
