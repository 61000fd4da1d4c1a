// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of teams. Collective, like all ranked tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <acp.h>

#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {

// Has the team of all ranks.
class TeamTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(170);
        world_ = acp_world_team();
        ASSERT_NE(world_, ACP_TEAM_NULL) << acp_error_message();
    }

    // A generator from which all ranks draw the same numbers.
    Random common_random() {
        const std::uint64_t fresh = fresh_seed();
        const char* given = std::getenv("TEST_SEED");
        const std::uint64_t seed =
            exchange(given == nullptr ? fresh : std::strtoull(given, nullptr, 0))[0];
        if (rank_ == 0) std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
        return Random(seed);
    }

    // A random list of members in random order, the same on all ranks.
    std::vector<int> random_list(Random& random) const {
        std::vector<int> list(static_cast<std::size_t>(procs_));
        std::iota(list.begin(), list.end(), 0);
        for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
        list.resize(1 + random.below(list.size()));
        return list;
    }

    static void expect_refused(int result, int code, const std::string& part) {
        EXPECT_EQ(result, -1);
        expect_error(code, {part});
    }

    static void free_team(acp_team_t team) {
        EXPECT_EQ(acp_free_team(team), 0) << acp_error_message();
    }

    acp_team_t world_ = ACP_TEAM_NULL;
};

}  // namespace acp::test
