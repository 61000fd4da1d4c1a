// SPDX-License-Identifier: BSD-3-Clause
// Frequent destinations are found in streams with known counts.
#include "engine/frequent.hpp"

#include <gtest/gtest.h>

namespace acp::engine {
namespace {

using datagram::Address;

Address peer(std::uint8_t number) {
    return datagram::ipv4(10, 0, 0, number, 7000);
}

TEST(FrequentDestinations, one_alone_is_found_after_so_many_sends_and_again_after_as_many) {
    FrequentDestinations frequent;
    for (int found = 0; found < 2; ++found) {
        for (std::uint32_t i = 1; i < FrequentDestinations::frequent; ++i) {
            ASSERT_FALSE(frequent.note(peer(1))) << i;
        }
        EXPECT_TRUE(frequent.note(peer(1)));
    }
}

TEST(FrequentDestinations, as_many_as_there_are_counters_are_found_together) {
    FrequentDestinations frequent;
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < FrequentDestinations::frequent; ++i) {
        for (std::uint8_t k = 0; k < FrequentDestinations::counters; ++k) {
            if (frequent.note(peer(k))) ++found;
        }
    }
    EXPECT_EQ(found, FrequentDestinations::counters);
}

TEST(FrequentDestinations, one_of_every_two_is_found_among_many_others) {
    FrequentDestinations frequent;
    bool is_found = false;
    for (std::uint32_t i = 0; i < 4 * FrequentDestinations::frequent; ++i) {
        is_found = frequent.note(peer(200)) || is_found;
        EXPECT_FALSE(frequent.note(peer(static_cast<std::uint8_t>(i % 100))));
    }
    EXPECT_TRUE(is_found);
}

TEST(FrequentDestinations, no_destination_is_frequent_if_all_are_used_alike) {
    FrequentDestinations frequent;
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        ASSERT_FALSE(frequent.note(peer(static_cast<std::uint8_t>(i % 100)))) << i;
    }
}

TEST(FrequentDestinations, ports_distinguish_destinations) {
    FrequentDestinations frequent;
    Address other = peer(1);
    other.port = 7001;
    for (std::uint32_t i = 1; i < FrequentDestinations::frequent; ++i) {
        ASSERT_FALSE(frequent.note(peer(1)));
        ASSERT_FALSE(frequent.note(other));
    }
    EXPECT_TRUE(frequent.note(other));
}

}  // namespace
}  // namespace acp::engine
