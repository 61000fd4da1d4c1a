// SPDX-License-Identifier: BSD-3-Clause
// Every process is found on its node, for any distribution of processes. One thread.
#include "engine/node_map.hpp"

#include <gtest/gtest.h>

namespace acp::engine {
namespace {

void expect_right(const std::vector<std::uint32_t>& first) {
    const NodeMap map(first);
    for (router::NodeId node = 0; node + 1 < first.size(); ++node) {
        EXPECT_EQ(map.first_process(node), first[node]);
        for (std::uint32_t process = first[node]; process < first[node + 1]; ++process) {
            ASSERT_EQ(map.node_of(process), node) << process;
        }
    }
    EXPECT_EQ(map.first_process(static_cast<router::NodeId>(first.size() - 1)), first.back());
}

TEST(NodeMap, finds_processes_of_equal_nodes) {
    for (const std::uint32_t block : {1U, 2U, 3U, 7U, 48U, 100U}) {
        std::vector<std::uint32_t> first;
        for (std::uint32_t node = 0; node <= 300; ++node) first.push_back(node * block);
        expect_right(first);
    }
}

TEST(NodeMap, finds_processes_where_the_last_node_has_fewer) {
    expect_right({0, 4, 8, 12, 13});
    expect_right({0, 4, 8, 10});
}

TEST(NodeMap, finds_processes_of_unequal_nodes) {
    expect_right({0, 1, 5, 6, 106, 107});
    expect_right({0, 2, 4, 9});
    expect_right({0, 1, 3});
    expect_right({0, 1, 2, 4});
}

TEST(NodeMap, finds_processes_of_one_node) {
    expect_right({0, 1});
    expect_right({0, 5});
}

}  // namespace
}  // namespace acp::engine
