// SPDX-License-Identifier: BSD-3-Clause
// The figures of acpinfo --memory for a gateway's connections are compared with their use of the
// heap. Whole gateways are measured in real jobs: tests/tools/acpinfo_memory_test.py. One thread.
#include "engine/footprint.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include "crypto/choose.hpp"

#include "unit/datagram/test_net.hpp"

namespace acp::engine {
namespace {

using datagram::NodeId;
using datagram::testing::Net;

// Bytes in use by the C library's count; 0 with an allocator that does not count.
std::size_t heap_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// Bytes of a connection with the test's cipher, whose keys take almost none.
std::size_t peer_bytes() {
    constexpr NodeId nodes = 200;
    datagram::Settings settings;
    settings.send_buffers = 512;
    settings.datagram_bytes_max = settings.datagram_bytes;
    Net net(nodes, 1, settings);
    const std::size_t before = heap_bytes();
    for (NodeId node = 1; node < nodes; ++node) {
        EXPECT_TRUE(net.hosts[0].send(node, node) && net.hosts[node].send(0, 1000 + node));
    }
    EXPECT_TRUE(net.settle(datagram::testing::s));
    return (heap_bytes() - before) / (2 * (nodes - std::size_t{1}));
}

// Bytes of one direction's key with a cipher of libcrypto, which keeps keys on the heap.
std::size_t key_bytes() {
    constexpr std::size_t count = 200;
    auto suite = crypto::choose(crypto::CipherWish::automatic, crypto::BackendWish::libcrypto);
    EXPECT_TRUE(suite.is_ok()) << suite.failure().message();
    const std::vector<std::byte> key(suite.value()->key_bytes(), std::byte{1});
    std::vector<std::unique_ptr<datagram::Aead>> keys;
    keys.reserve(count);
    const std::size_t before = heap_bytes();
    for (std::size_t i = 0; i < count; ++i) keys.push_back(suite.value()->make(key));
    return (heap_bytes() - before) / count;
}

TEST(GatewayFootprint, a_connection_takes_what_is_stated) {
    const auto something = std::make_unique<std::array<std::byte, 1000>>();
    if (heap_bytes() == 0) GTEST_SKIP() << "this allocator does not report the bytes in use";
    const std::size_t measured = peer_bytes() + 2 * key_bytes();
    EXPECT_LE(measured, hot_peer_bytes);
    EXPECT_GE(measured, hot_peer_bytes / 2)
        << "keys of other libraries are larger, but not by so much";
}

TEST(GatewayFootprint, no_part_starts_larger_than_it_can_become) {
    node::Shape shape;
    shape.local_procs = 4;
    EXPECT_TRUE(engine::footprint_of(shape, 1).empty());
    for (const std::uint32_t nodes : {2U, 1000U, 60'000U}) {
        shape.nodes = nodes;
        shape.procs = 4 * nodes;
        for (const std::uint32_t rails : {1U, 4U}) {
            for (const node::FootprintPart& part : engine::footprint_of(shape, rails)) {
                EXPECT_LE(part.start_bytes, part.used_bytes) << part.name;
                EXPECT_LE(part.used_bytes, part.reserved_bytes) << part.name;
                EXPECT_EQ(part.growth.empty(), part.start_bytes == part.reserved_bytes)
                    << part.name;
            }
        }
    }
}

TEST(GatewayFootprint, a_rail_takes_connections_and_buffers_of_its_own_but_shares_the_commands) {
    node::Shape shape;
    shape.local_procs = 2;
    shape.nodes = 8;
    shape.procs = 16;
    const auto one = engine::footprint_of(shape, 1);
    const auto three = engine::footprint_of(shape, 3);
    ASSERT_EQ(one.size(), three.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
        const bool is_each =
            one[i].name == "gateway: connections" || one[i].name == "gateway: buffers";
        const bool is_shared = one[i].name == "gateway: commands";
        if (is_each) {
            EXPECT_EQ(three[i].used_bytes, 3 * one[i].used_bytes) << one[i].name;
            EXPECT_EQ(three[i].reserved_bytes, 3 * one[i].reserved_bytes) << one[i].name;
        } else if (is_shared) {
            EXPECT_EQ(three[i].reserved_bytes, one[i].reserved_bytes) << one[i].name;
        } else {
            EXPECT_GT(three[i].start_bytes, one[i].start_bytes) << one[i].name;
            EXPECT_LT(three[i].start_bytes, 3 * one[i].start_bytes) << one[i].name;
        }
    }
}

}  // namespace
}  // namespace acp::engine
