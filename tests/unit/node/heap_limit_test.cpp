// SPDX-License-Identifier: BSD-3-Clause
// The limit of a heap: the requested size, or else the smallest of the shares.
#include "node/heap_limit.hpp"

#include <gtest/gtest.h>

namespace acp::node {
namespace {

constexpr std::uint64_t gibi = 1ULL << 30;
constexpr HeapRoom plenty{64 * gibi, os::unlimited, os::unlimited};

TEST(HeapLimit, is_what_is_asked_for_in_whole_areas) {
    base::Config config;
    for (const std::uint64_t bytes : {std::uint64_t{0}, heap_step_bytes, 3 * gibi}) {
        config.heap_bytes = bytes;
        EXPECT_EQ(heap_bytes_for(config, 4, 4, {}), bytes);
    }
    config.heap_bytes = heap_step_bytes + 1;
    EXPECT_EQ(heap_bytes_for(config, 4, 4, {}), 2 * heap_step_bytes);
}

TEST(HeapLimit, is_a_share_of_half_of_the_memory) {
    EXPECT_EQ(heap_bytes_for({}, 1, 1, plenty), 32 * gibi);
    EXPECT_EQ(heap_bytes_for({}, 16, 8, plenty), 4 * gibi);
    EXPECT_EQ(heap_bytes_for({}, 3, 3, plenty) % heap_step_bytes, 0U);
}

TEST(HeapLimit, leaves_room_under_the_limits_of_the_system) {
    EXPECT_EQ(heap_bytes_for({}, 4, 4, {64 * gibi, 4 * gibi, os::unlimited}), gibi / 4);
    EXPECT_EQ(heap_bytes_for({}, 4, 4, {64 * gibi, os::unlimited, 4 * gibi}), gibi / 2);
    EXPECT_EQ(heap_bytes_for({}, 4, 4, {0, os::unlimited, os::unlimited}), 0U);
}

TEST(HeapLimit, knows_what_has_decided_it) {
    const auto bound = [](const base::Config& config, const HeapRoom& room) {
        return heap_size_for(config, 4, 4, room).bound;
    };
    const std::uint64_t no_limit = os::unlimited;
    EXPECT_EQ(bound({}, plenty), HeapBound::memory);
    EXPECT_EQ(bound({}, {0, no_limit, no_limit}), HeapBound::memory);
    EXPECT_EQ(bound({}, {64 * gibi, gibi, no_limit}), HeapBound::address_space);
    EXPECT_EQ(bound({}, {64 * gibi, no_limit, 3000}), HeapBound::file_size);
    EXPECT_EQ(bound({}, {~0ULL / 4, no_limit, no_limit}), HeapBound::addresses);
    base::Config none;
    none.heap_bytes = 0;
    EXPECT_EQ(bound(none, {64 * gibi, no_limit, 3000}), HeapBound::configured);
}

TEST(HeapLimit, names_the_limit_that_has_decided_it) {
    EXPECT_NE(text_of(HeapBound::file_size).find("RLIMIT_FSIZE, ulimit -f"), std::string::npos);
    EXPECT_NE(text_of(HeapBound::address_space).find("RLIMIT_AS, ulimit -v"), std::string::npos);
    EXPECT_NE(text_of(HeapBound::memory).find("memory that was free"), std::string::npos);
    EXPECT_NE(text_of(HeapBound::configured).find("ACP_HEAP_SIZE"), std::string::npos);
}

TEST(HeapLimit, leaves_addresses_for_registrations) {
    // 2^20 processes of 8192 granules of 8 MiB
    EXPECT_EQ(heap_bytes_for({}, 1U << 20U, 1, {~0ULL / 4, os::unlimited, os::unlimited}),
              8 * gibi);
    EXPECT_EQ(heap_bytes_for({}, 2, 1, {~0ULL / 4, os::unlimited, os::unlimited}), heap_bytes_max);
}

}  // namespace
}  // namespace acp::node
