// SPDX-License-Identifier: BSD-3-Clause
// Bursts that wait for one socket's room stop no other socket. One thread.
#include "engine/kept_bursts.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace acp::engine {
namespace {

std::vector<std::byte> bytes_of(std::size_t count, int value) {
    return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

datagram::Transmit burst_of(std::uint32_t bytes) {
    datagram::Transmit transmit;
    transmit.bytes = bytes;
    transmit.segment_bytes = 10;
    return transmit;
}

TEST(KeptBursts, a_full_socket_stops_no_other) {
    KeptBursts kept;
    kept.resize(3);
    EXPECT_TRUE(kept.is_empty());
    EXPECT_TRUE(kept.keep(1, burst_of(30), bytes_of(30, 1)));
    EXPECT_TRUE(kept.has(1));
    EXPECT_FALSE(kept.has(0) || kept.has(2));
}

TEST(KeptBursts, one_socket_keeps_four_and_what_comes_beyond_is_lost) {
    KeptBursts kept;
    kept.resize(2);
    for (std::size_t i = 0; i < KeptBursts::per_socket_max; ++i) {
        EXPECT_FALSE(kept.is_any_full(2));
        EXPECT_TRUE(kept.keep(0, burst_of(10), bytes_of(10, static_cast<int>(i))));
    }
    EXPECT_TRUE(kept.is_any_full(1));
    EXPECT_FALSE(kept.is_any_full(0));
    EXPECT_FALSE(kept.keep(0, burst_of(10), bytes_of(10, 9)));
    EXPECT_TRUE(kept.keep(1, burst_of(10), bytes_of(10, 9)));
}

TEST(KeptBursts, go_in_their_order_and_from_where_the_kernel_stopped) {
    KeptBursts kept;
    kept.resize(2);
    EXPECT_TRUE(kept.keep(0, burst_of(30), bytes_of(30, 1)));
    EXPECT_TRUE(kept.keep(0, burst_of(10), bytes_of(10, 2)));
    EXPECT_TRUE(kept.keep(1, burst_of(10), bytes_of(10, 3)));
    std::vector<std::pair<int, std::size_t>> tried;
    std::size_t room = 20;
    const auto send = [&](std::size_t, const datagram::Transmit& transmit,
                          std::span<std::byte> bytes) {
        EXPECT_EQ(transmit.bytes, bytes.size());
        tried.emplace_back(std::to_integer<int>(bytes.front()), bytes.size());
        const bool is_first = bytes.front() != std::byte{3};
        const std::size_t taken = is_first ? std::min(room, bytes.size()) : bytes.size();
        if (is_first) room -= taken;
        return taken;
    };
    kept.flush(send);
    EXPECT_EQ(tried, (std::vector<std::pair<int, std::size_t>>{{1, 30}, {3, 10}}));
    EXPECT_TRUE(kept.has(0));
    EXPECT_FALSE(kept.has(1));
    tried.clear();
    room = 100;
    kept.flush(send);
    EXPECT_EQ(tried, (std::vector<std::pair<int, std::size_t>>{{1, 10}, {2, 10}}));
    EXPECT_TRUE(kept.is_empty());
}

}  // namespace
}  // namespace acp::engine
