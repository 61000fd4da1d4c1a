// SPDX-License-Identifier: BSD-3-Clause
// How long a sleeper naps: a share of what it has waited, between bounds, longer only where naps
// are dear.
#include "gma/nap_pacer.hpp"

#include <gtest/gtest.h>

namespace acp::gma {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

// The longest and the last nap of a sleep of a given length, and the share of a CPU that its naps
// took.
struct Naps {
    std::uint64_t longest_ns = 0;
    double cpu_share = 0;
};

Naps nap_for(std::uint64_t wait_ns, std::uint64_t nap_cost_ns) {
    Naps naps;
    std::uint64_t waited_ns = 0;
    std::uint64_t used_ns = 0;
    while (waited_ns < wait_ns) {
        const std::uint64_t nap_ns = NapPacer::next(waited_ns, used_ns);
        naps.longest_ns = std::max(naps.longest_ns, nap_ns);
        waited_ns += nap_ns + nap_cost_ns;
        used_ns += nap_cost_ns;
    }
    naps.cpu_share = static_cast<double>(used_ns) / static_cast<double>(waited_ns);
    return naps;
}

TEST(NapPacer, naps_for_a_millisecond_at_most_where_naps_are_cheap) {
    const Naps naps = nap_for(10 * second_ns, 1'500);
    EXPECT_EQ(naps.longest_ns, NapPacer::nap_max_ns);
    EXPECT_LT(naps.cpu_share, 0.002);
}

TEST(NapPacer, takes_no_more_than_its_share_of_a_cpu_where_naps_are_dear) {
    const Naps naps = nap_for(10 * second_ns, 25'000);
    EXPECT_LE(naps.longest_ns, NapPacer::dear_nap_max_ns);
    EXPECT_LT(naps.cpu_share, 0.0025);
}

TEST(NapPacer, begins_with_short_naps_whatever_they_cost) {
    EXPECT_EQ(NapPacer::next(0, 1'000'000), NapPacer::nap_min_ns);
    EXPECT_EQ(NapPacer::next(16'000'000, 1'000'000), 500'000U);
    EXPECT_EQ(NapPacer::next(64'000'000, 1'000'000), 2'000'000U);
    EXPECT_EQ(NapPacer::next(64'000'000, 1'000), NapPacer::nap_max_ns);
}

}  // namespace
}  // namespace acp::gma
