// SPDX-License-Identifier: BSD-3-Clause
// The table of nodes: every address comes back, every process is found on its node, and rows out of
// order or with too many addresses are refused. One thread.
#include "node/node_table.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "node/segment.hpp"

#include "support/random.hpp"

namespace acp::node {
namespace {

Segment make_segment(std::uint32_t procs, std::uint32_t nodes) {
    Shape shape;
    shape.procs = procs;
    shape.nodes = nodes;
    shape.datagram_bytes = 64;
    auto made = Segment::create(shape);
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    return std::move(made).value();
}

NodeAddress address_of(acp::test::Random& random) {
    NodeAddress address;
    address.family = random.below(2) == 0 ? 4 : 6;
    for (std::size_t i = 0; i < (address.family == 4 ? 4U : 16U); ++i) {
        address.ip[i] = static_cast<std::uint8_t>(random.next());
    }
    address.port = static_cast<std::uint16_t>(random.next());
    return address;
}

TEST(NodeTableTest, gives_back_every_address_and_finds_every_process) {
    acp::test::Random random(7);
    for (const std::uint32_t nodes : {2U, 3U, 70U}) {
        std::vector<std::uint32_t> firsts;
        std::uint32_t procs = 0;
        for (std::uint32_t node = 0; node < nodes; ++node) {
            firsts.push_back(procs);
            procs += static_cast<std::uint32_t>(random.between(1, node % 7 == 0 ? 40 : 3));
        }
        const Segment segment = make_segment(procs, nodes);
        NodeTable table(segment);
        std::vector<std::vector<NodeAddress>> addresses(nodes);
        for (std::uint32_t node = 0; node < nodes; ++node) {
            const std::uint64_t count = node == 0 ? node_addresses_max : random.between(1, 8);
            for (std::uint64_t i = 0; i < count; ++i) addresses[node].push_back(address_of(random));
            const std::string host(node % (host_name_bytes_max + 2), 'h');
            ASSERT_TRUE(table.set(node, firsts[node], addresses[node], 0, host).is_ok());
        }
        for (std::uint32_t node = 0; node < nodes; ++node) {
            std::array<NodeAddress, node_addresses_max> found;
            const std::uint32_t count = table.addresses(node, found);
            EXPECT_EQ(std::vector(found.begin(), found.begin() + count), addresses[node]);
            EXPECT_EQ(table.host(node).size(),
                      std::min(node % (host_name_bytes_max + 2), host_name_bytes_max));
            EXPECT_EQ(table.first_process(node), firsts[node]);
            const std::uint32_t end = node + 1 == nodes ? procs : firsts[node + 1];
            for (std::uint32_t process = firsts[node]; process < end; ++process) {
                EXPECT_EQ(table.node_of(process), node) << process;
            }
        }
        EXPECT_EQ(table.first_process(nodes), procs);
    }
}

TEST(NodeTableTest, refuses_rows_that_make_no_sense) {
    const Segment segment = make_segment(5, 3);
    NodeTable table(segment);
    NodeAddress good;
    good.family = 4;
    const std::vector<NodeAddress> one(1, good);
    const std::vector<NodeAddress> most(node_addresses_max, good);
    const std::vector<NodeAddress> too_many(node_addresses_max + 1, good);
    EXPECT_EQ(table.set(0, 1, one).code(), base::Code::argument) << "does not begin with 0";
    EXPECT_EQ(table.set(0, 0, {}).code(), base::Code::argument);
    EXPECT_EQ(table.set(0, 0, too_many).code(), base::Code::argument);
    EXPECT_TRUE(table.set(0, 0, most).is_ok());
    EXPECT_EQ(table.set(1, 0, one).code(), base::Code::argument) << "node 0 would be empty";
    EXPECT_EQ(table.set(1, 5, one).code(), base::Code::argument) << "one past the last";
    EXPECT_TRUE(table.set(1, 2, one).is_ok());
    EXPECT_EQ(table.set(2, 3, std::vector<NodeAddress>(1)).code(), base::Code::argument);
    EXPECT_TRUE(table.set(2, 3, one).is_ok());
    EXPECT_EQ(table.set(3, 4, one).code(), base::Code::argument);
}

TEST(NodeTableTest, a_job_of_one_node_needs_no_table) {
    const Segment segment = make_segment(1, 1);
    const NodeTable table(segment);
    EXPECT_EQ(table.node_of(0), 0U);
    EXPECT_EQ(table.first_process(0), 0U);
    EXPECT_EQ(table.first_process(1), 1U);
    std::array<NodeAddress, node_addresses_max> none;
    EXPECT_EQ(table.addresses(0, none), 0U);
    EXPECT_EQ(table.host(0), "");
}

TEST(NodeTableTest, costs_80_bytes_per_node_of_up_to_two_addresses) {
    EXPECT_EQ(NodeTable::used_bytes(10'000, 1), 800'000U);
    EXPECT_EQ(NodeTable::used_bytes(10'000, 2), 800'000U);
    EXPECT_EQ(NodeTable::used_bytes(1, 3), 100U);
    EXPECT_EQ(NodeTable::bytes(1), NodeTable::used_bytes(1, node_addresses_max));
}

TEST(NodeTableTest, writes_addresses_as_people_do) {
    NodeAddress address;
    address.family = 4;
    address.ip = {127, 0, 1, 250};
    address.port = 80;
    EXPECT_EQ(text_of(address, true), "127.0.1.250:80");
    EXPECT_EQ(text_of(address, false), "127.0.1.250");
    address.family = 6;
    address.ip = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 4};
    EXPECT_EQ(text_of(address, true), "[2001:db8:0:0:0:0:ffff:4]:80");
    EXPECT_EQ(text_of(address, false), "2001:db8:0:0:0:0:ffff:4");
}

}  // namespace
}  // namespace acp::node
