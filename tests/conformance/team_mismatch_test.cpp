// SPDX-License-Identifier: BSD-3-Clause
// Members of a team that make different calls, or the same call with different sizes: it fails on
// all of them, with the names of both calls.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "conformance/team_fixture.hpp"

namespace acp::test {
namespace {

// Calls make(team), which makes different calls on rank 0 and on the others.
template <typename Make>
void check_mismatch(acp_team_t world, const std::vector<std::string>& parts, const Make& make) {
    const acp_team_t team = acp_split_team(world, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
    // A root may return before the others find the mismatch.
    const bool is_refused = make(team) != 0 || acp_sync_team(team) != 0;
    EXPECT_TRUE(is_refused);
    EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH) << acp_error_message();
    for (const std::string& part : parts) {
        EXPECT_NE(std::string(acp_error_message()).find(part), std::string::npos)
            << part << " is not in: " << acp_error_message();
    }
    // From then on the team is broken: every call fails, also one in flight.
    char byte = 0;
    EXPECT_EQ(acp_broadcast_team(team, &byte, 1, 0), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH) << acp_error_message();
    EXPECT_EQ(acp_sync_team(team), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH);
    EXPECT_EQ(acp_query_team_size(team), acp_procs());
    EXPECT_EQ(acp_free_team(team), 0) << acp_error_message();
}

TEST_F(TeamTest, different_calls_of_members_fail_on_all_with_the_names_of_both) {
    if (procs_ == 1) return;
    std::array<std::int64_t, 1000> numbers{};
    const bool is_odd_one = rank_ == 0;
    check_mismatch(world_, {"acp_sync_team_timeout", "acp_allreduce_team", "member 0 (rank 0)"},
                   [&](acp_team_t team) {
                       return is_odd_one ? acp_sync_team_timeout(team, -1)
                                         : acp_allreduce_team(team, numbers.data(), numbers.data(),
                                                              1, ACP_INT64, ACP_SUM);
                   });
    check_mismatch(world_, {"of 8 bytes (int64, sum)", "of 16 bytes"}, [&](acp_team_t team) {
        return acp_allreduce_team(team, numbers.data(), numbers.data(), is_odd_one ? 1 : 2,
                                  ACP_INT64, ACP_SUM);
    });
    check_mismatch(world_, {"of 8 bytes (int64, sum)", "of 8000 bytes"}, [&](acp_team_t team) {
        return acp_allreduce_team(team, numbers.data(), numbers.data(), is_odd_one ? 1000 : 1,
                                  ACP_INT64, ACP_SUM);
    });
    check_mismatch(world_, {"(int64, min)", "(double, sum)"}, [&](acp_team_t team) {
        return acp_allreduce_team(team, numbers.data(), numbers.data(), 1,
                                  is_odd_one ? ACP_INT64 : ACP_DOUBLE,
                                  is_odd_one ? ACP_MIN : ACP_SUM);
    });
    check_mismatch(world_, {"acp_alltoallv_team of 5 bytes", "acp_alltoallv_team of 6 bytes"},
                   [&](acp_team_t team) {
                       std::vector<std::size_t> sizes(static_cast<std::size_t>(acp_procs()), 5);
                       std::vector<std::size_t> offsets(sizes.size(), 0);
                       std::vector<std::size_t> expected = sizes;
                       if (is_odd_one) expected[1] = 6;
                       std::array<char, 16> send{};
                       std::vector<std::size_t> places = offsets;
                       for (std::size_t i = 0; i < places.size(); ++i) places[i] = 8 * i;
                       std::vector<char> room(8 * places.size());
                       return acp_alltoallv_team(team, send.data(), sizes.data(), offsets.data(),
                                                 room.data(), expected.data(), places.data());
                   });
    check_mismatch(world_, {"from member 0", "of 24 bytes", "of 800 bytes"}, [&](acp_team_t team) {
        return acp_broadcast_team(team, numbers.data(), is_odd_one ? 24 : 800, 0);
    });
}

// Sizes on either side of the length up to which members on one node take the short way: member 0
// takes it, or all others do.
TEST_F(TeamTest, sizes_that_members_send_in_different_ways_fail_on_all) {
    if (procs_ == 1) return;
    constexpr std::size_t large = 100'000;
    const auto all = large * static_cast<std::size_t>(procs_);
    std::vector<char> send(all);
    std::vector<char> receive(all);
    for (const bool is_small_here : {rank_ == 0, rank_ != 0}) {
        const std::size_t size = is_small_here ? 8 : large;
        for (int root = 0; root < procs_; root += std::max(1, procs_ - 1)) {
            check_mismatch(world_, {"acp_scatter_team of 8 bytes", "acp_scatter_team of 100000"},
                           [&](acp_team_t team) {
                               return acp_scatter_team(team, send.data(), size, receive.data(),
                                                       root);
                           });
            check_mismatch(world_, {"acp_gather_team of 8 bytes", "acp_gather_team of 100000"},
                           [&](acp_team_t team) {
                               return acp_gather_team(team, send.data(), size, receive.data(),
                                                      root);
                           });
        }
        check_mismatch(world_, {"acp_alltoall_team of 8 bytes", "acp_alltoall_team of 100000"},
                       [&](acp_team_t team) {
                           return acp_alltoall_team(team, send.data(), size, receive.data());
                       });
    }
}

// The mismatch is found although these members exchange no message. A debug build always checks.
TEST_F(TeamTest, calls_that_are_checked_in_advance_are_distinguished) {
#ifdef NDEBUG
    const bool is_checking = std::getenv("ACP_CHECK") != nullptr;
#else
    const bool is_checking = true;
#endif
    if (procs_ == 1 || !is_checking) return;
    std::array<std::int64_t, 8> numbers{};
    const bool is_odd_one = rank_ == 0;
    check_mismatch(world_, {"acp_scan_team", "acp_gather_team"}, [&](acp_team_t team) {
        std::vector<std::int64_t> room(static_cast<std::size_t>(acp_procs()));
        return is_odd_one
                   ? acp_scan_team(team, numbers.data(), numbers.data(), 1, ACP_INT64, ACP_SUM)
                   : acp_gather_team(team, numbers.data(), 8, room.data(), acp_procs() - 1);
    });
    check_mismatch(world_, {"from member 0", "from member 1"}, [&](acp_team_t team) {
        return acp_broadcast_team(team, numbers.data(), 8, is_odd_one ? 0 : 1);
    });
}

}  // namespace
}  // namespace acp::test
