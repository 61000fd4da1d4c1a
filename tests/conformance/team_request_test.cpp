// SPDX-License-Identifier: BSD-3-Clause
// Collective calls that return a request: their results are those of the blocking calls, whichever
// members block and in whatever order requests are awaited; several are in flight on several teams;
// misuse, failures and the end of an epoch are reported.
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/team_fixture.hpp"

namespace acp::test {
namespace {

class TeamRequestTest : public TeamTest {
protected:
    static void expect_well(acp_team_request_t request) {
        ASSERT_NE(request, ACP_TEAM_REQUEST_NULL) << acp_error_message();
        EXPECT_EQ(acp_wait_team(request), 0) << acp_error_message();
    }
};

// A call on a team with the memory that it reads and writes, and its request if it is not blocking.
struct Begun {
    acp_team_request_t request = ACP_TEAM_REQUEST_NULL;
    std::vector<std::int64_t> send;
    std::vector<std::int64_t> receive;
    std::vector<std::int64_t> expected;
    bool has_result = true;
    // The sizes and offsets of an all-to-all with sizes.
    std::array<std::vector<std::size_t>, 4> arrays;
};

std::int64_t number_of(std::uint64_t which, int member, std::size_t place) {
    return static_cast<std::int64_t>(which * 1000 + static_cast<std::uint64_t>(member) * 77 +
                                     place * 3);
}

// The numbers of all members, one member after the other.
std::vector<std::int64_t> numbers_of_all(std::uint64_t which, int members, std::size_t count) {
    std::vector<std::int64_t> all;
    for (int member = 0; member < members; ++member) {
        for (std::size_t i = 0; i < count; ++i) all.push_back(number_of(which, member, i));
    }
    return all;
}

std::vector<std::int64_t> sums_to(std::uint64_t which, int members, std::size_t count) {
    std::vector<std::int64_t> sums(count, 0);
    for (int member = 0; member < members; ++member) {
        for (std::size_t i = 0; i < count; ++i) sums[i] += number_of(which, member, i);
    }
    return sums;
}

void add_elements(void* into, const void* from, std::size_t count, void* context) {
    (void)context;
    for (std::size_t i = 0; i < count; ++i)
        static_cast<std::int64_t*>(into)[i] += static_cast<const std::int64_t*>(from)[i];
}

// Makes the call `kind` of 12, blocking or not.
//   which  the number of the call, from which its content follows
class AnyCall {
public:
    AnyCall(acp_team_t team, std::uint64_t which, std::size_t count, int root, bool is_blocking)
        : team_(team),
          which_(which),
          count_(count),
          bytes_(count * sizeof(std::int64_t)),
          root_(root),
          is_blocking_(is_blocking) {}

    static constexpr std::uint64_t kinds = 12;

    void make(std::uint64_t kind, Begun& call) const {
        const std::vector<std::int64_t> all = numbers_of_all(which_, members_, count_);
        const auto own_begin = all.begin() + static_cast<std::ptrdiff_t>(count_) * own_;
        call.send.assign(own_begin, own_begin + static_cast<std::ptrdiff_t>(count_));
        call.receive.assign(count_, -5);
        if (kind < 6) {
            make_reduction(kind, call);
        } else {
            make_exchange(kind, call, all);
        }
    }

private:
    template <typename Blocking, typename Beginning>
    void run(Begun& call, const Blocking& blocking, const Beginning& beginning) const {
        if (is_blocking_) {
            ASSERT_EQ(blocking(), 0) << acp_error_message();
            return;
        }
        call.request = beginning();
        ASSERT_NE(call.request, ACP_TEAM_REQUEST_NULL) << acp_error_message();
    }

    void make_reduction(std::uint64_t kind, Begun& call) const {
        const void* const send = call.send.data();
        void* const receive = call.receive.data();
        const bool is_scan = kind >= 4;
        call.has_result = kind > 1 || own_ == root_;
        const bool is_exclusive = is_scan && which_ % 2 != 0;
        const int last = is_exclusive ? own_ : own_ + 1;  // the first member that is left out
        call.expected =
            last == 0 ? call.receive : sums_to(which_, is_scan ? last : members_, count_);
        const bool is_own = kind % 2 != 0;
        constexpr std::size_t size = sizeof(std::int64_t);
        run(
            call,
            [&] {
                if (kind == 0)
                    return acp_reduce_team(team_, send, receive, count_, ACP_INT64, ACP_SUM, root_);
                if (kind == 1)
                    return acp_reduce_by_team(team_, send, receive, count_, size, add_elements,
                                              nullptr, root_);
                if (!is_scan)
                    return is_own ? acp_allreduce_by_team(team_, send, receive, count_, size,
                                                          add_elements, nullptr)
                                  : acp_allreduce_team(team_, send, receive, count_, ACP_INT64,
                                                       ACP_SUM);
                const auto scan_by = is_exclusive ? acp_exscan_by_team : acp_scan_by_team;
                const auto scan = is_exclusive ? acp_exscan_team : acp_scan_team;
                return is_own ? scan_by(team_, send, receive, count_, size, add_elements, nullptr)
                              : scan(team_, send, receive, count_, ACP_INT64, ACP_SUM);
            },
            [&] {
                if (kind == 0)
                    return acp_nbreduce_team(team_, send, receive, count_, ACP_INT64, ACP_SUM,
                                             root_);
                if (kind == 1)
                    return acp_nbreduce_by_team(team_, send, receive, count_, size, add_elements,
                                                nullptr, root_);
                if (!is_scan)
                    return is_own ? acp_nballreduce_by_team(team_, send, receive, count_, size,
                                                            add_elements, nullptr)
                                  : acp_nballreduce_team(team_, send, receive, count_, ACP_INT64,
                                                         ACP_SUM);
                const auto scan_by = is_exclusive ? acp_nbexscan_by_team : acp_nbscan_by_team;
                const auto scan = is_exclusive ? acp_nbexscan_team : acp_nbscan_team;
                return is_own ? scan_by(team_, send, receive, count_, size, add_elements, nullptr)
                              : scan(team_, send, receive, count_, ACP_INT64, ACP_SUM);
            });
    }

    void make_exchange(std::uint64_t kind,
                       Begun& call,
                       const std::vector<std::int64_t>& all) const {
        const std::size_t room = all.size();
        const auto part_of = [&](int member) {
            const auto begin = static_cast<std::size_t>(member) * count_;
            return std::vector(all.begin() + static_cast<std::ptrdiff_t>(begin),
                               all.begin() + static_cast<std::ptrdiff_t>(begin + count_));
        };
        switch (kind) {
            case 6:
                call.receive = own_ == root_ ? part_of(root_) : call.receive;
                call.expected = part_of(root_);
                return run(
                    call,
                    [&] { return acp_broadcast_team(team_, call.receive.data(), bytes_, root_); },
                    [&] {
                        return acp_nbbroadcast_team(team_, call.receive.data(), bytes_, root_);
                    });
            case 7:
                call.receive.assign(room, -5);
                call.expected = all;
                call.has_result = own_ == root_;
                return run(
                    call,
                    [&] {
                        return acp_gather_team(team_, call.send.data(), bytes_, call.receive.data(),
                                               root_);
                    },
                    [&] {
                        return acp_nbgather_team(team_, call.send.data(), bytes_,
                                                 call.receive.data(), root_);
                    });
            case 8:
                call.receive.assign(room, -5);
                call.expected = all;
                return run(
                    call,
                    [&] {
                        return acp_allgather_team(team_, call.send.data(), bytes_,
                                                  call.receive.data());
                    },
                    [&] {
                        return acp_nballgather_team(team_, call.send.data(), bytes_,
                                                    call.receive.data());
                    });
            case 9:
                call.expected = call.send;
                call.send = all;
                return run(
                    call,
                    [&] {
                        return acp_scatter_team(team_, call.send.data(), bytes_,
                                                call.receive.data(), root_);
                    },
                    [&] {
                        return acp_nbscatter_team(team_, call.send.data(), bytes_,
                                                  call.receive.data(), root_);
                    });
            case 10:
                return make_all_to_all(call);
            default:
                call.expected = call.receive;
                return run(
                    call, [&] { return acp_sync_team(team_); },
                    [&] { return acp_nbsync_team(team_); });
        }
    }

    // Each member sends the same numbers to all others; the lengths differ in each second call.
    void make_all_to_all(Begun& call) const {
        const bool has_sizes = which_ % 2 != 0;
        std::vector<std::int64_t> send;
        call.expected.clear();
        std::size_t received = 0;
        for (int member = 0; member < members_; ++member) {
            const std::size_t sent = has_sizes ? count_ * static_cast<std::size_t>(own_) : count_;
            const std::size_t its = has_sizes ? count_ * static_cast<std::size_t>(member) : count_;
            call.arrays[0].push_back(sent * sizeof(std::int64_t));
            call.arrays[1].push_back(send.size() * sizeof(std::int64_t));
            call.arrays[2].push_back(its * sizeof(std::int64_t));
            call.arrays[3].push_back(received * sizeof(std::int64_t));
            for (std::size_t i = 0; i < sent; ++i) send.push_back(number_of(which_, own_, i));
            for (std::size_t i = 0; i < its; ++i)
                call.expected.push_back(number_of(which_, member, i));
            received += its;
        }
        call.send = send;
        call.receive.assign(received + 1, -5);
        call.expected.push_back(-5);
        const auto& a = call.arrays;
        run(
            call,
            [&] {
                if (!has_sizes)
                    return acp_alltoall_team(team_, call.send.data(), bytes_, call.receive.data());
                return acp_alltoallv_team(team_, call.send.data(), a[0].data(), a[1].data(),
                                          call.receive.data(), a[2].data(), a[3].data());
            },
            [&] {
                if (!has_sizes)
                    return acp_nballtoall_team(team_, call.send.data(), bytes_,
                                               call.receive.data());
                return acp_nballtoallv_team(team_, call.send.data(), a[0].data(), a[1].data(),
                                            call.receive.data(), a[2].data(), a[3].data());
            });
    }

    acp_team_t team_;
    std::uint64_t which_;
    std::size_t count_;
    std::size_t bytes_;
    int root_;
    bool is_blocking_;
    int own_ = acp_query_team_rank(team_);
    int members_ = acp_query_team_size(team_);
};

void expect_result(const Begun& call, const std::string& what) {
    if (!call.has_result) return;
    ASSERT_EQ(call.receive, call.expected) << what;
}

// Waits for or tests one random request, in one of three ways.
void end_one(Random& mine, std::vector<std::pair<std::string, Begun*>>& open) {
    const std::size_t at = mine.below(open.size());
    auto& [what, call] = open[at];
    const acp_team_request_t request = call->request;
    switch (mine.below(3)) {
        case 0:
            ASSERT_EQ(acp_wait_team(request), 0) << acp_error_message() << what;
            break;
        case 1: {
            int code = ACP_ERR_TIMEOUT;
            while (code == ACP_ERR_TIMEOUT)
                code =
                    acp_wait_team_timeout(request, static_cast<std::int64_t>(mine.below(100'000)));
            ASSERT_EQ(code, ACP_OK) << acp_error_message() << what;
            break;
        }
        default: {
            int has_ended = 0;
            while (has_ended == 0) has_ended = acp_test_team(request);
            ASSERT_EQ(has_ended, 1) << acp_error_message() << what;
        }
    }
    expect_result(*call, what);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
}

// All members make the same calls; each member draws for itself which of them block, and the order
// in which it awaits requests.
TEST_F(TeamRequestTest, calls_give_the_same_whether_they_block_or_not) {
    Random random = common_random();
    Random mine(random.next() + static_cast<std::uint64_t>(rank_));
    const std::array<acp_team_t, 3> teams{world_, acp_split_team(world_, 0, -rank_),
                                          acp_split_team(world_, rank_ % 2, 0)};
    ASSERT_NE(teams[1], ACP_TEAM_NULL);
    ASSERT_NE(teams[2], ACP_TEAM_NULL);
    for (int round = 0; round < 12; ++round) {
        std::vector<Begun> calls(30);
        std::vector<std::pair<std::string, Begun*>> open;
        for (std::size_t c = 0; c < calls.size(); ++c) {
            const acp_team_t team = teams[random.below(teams.size())];
            const std::size_t count = random.chance(15) ? random.below(40'000) : random.below(300);
            const auto root_drawn = random.below(static_cast<std::uint64_t>(procs_));
            const std::uint64_t kind = random.below(AnyCall::kinds);
            const int root = static_cast<int>(root_drawn) % acp_query_team_size(team);
            // The roots of two halves of the ranks may differ, those of one half's members may not.
            const bool is_blocking = mine.chance(20);
            const std::string what = "round " + std::to_string(round) + ", call " +
                                     std::to_string(c) + " of kind " + std::to_string(kind) + ", " +
                                     std::to_string(count) + " numbers";
            AnyCall(team, c + 1, count, root, is_blocking).make(kind, calls[c]);
            if (is_blocking) {
                expect_result(calls[c], what);
            } else {
                open.emplace_back(what, &calls[c]);
            }
            if (!open.empty() && mine.chance(30)) end_one(mine, open);
        }
        while (!open.empty()) end_one(mine, open);
    }
    free_team(teams[2]);
    free_team(teams[1]);
}

// Members wait for the two requests in opposite orders.
TEST_F(TeamRequestTest, a_wait_on_one_team_moves_on_the_calls_on_others) {
    const acp_team_t other = acp_split_team(world_, 0, 0);
    ASSERT_NE(other, ACP_TEAM_NULL);
    for (int i = 0; i < 20; ++i) {
        std::vector<std::int64_t> first(20'000, rank_);
        std::vector<std::int64_t> second(20'000, rank_);
        const acp_team_request_t on_world = acp_nballreduce_team(world_, first.data(), first.data(),
                                                                 first.size(), ACP_INT64, ACP_SUM);
        const acp_team_request_t on_other = acp_nballreduce_team(
            other, second.data(), second.data(), second.size(), ACP_INT64, ACP_MAX);
        expect_well(rank_ % 2 == 0 ? on_world : on_other);
        expect_well(rank_ % 2 == 0 ? on_other : on_world);
        EXPECT_EQ(first.back(), std::int64_t{procs_} * (procs_ - 1) / 2);
        EXPECT_EQ(second.back(), procs_ - 1);
    }
    // A blocking call on one of the teams also makes progress on the other one.
    std::int64_t number = rank_;
    const acp_team_request_t under_way =
        acp_nballreduce_team(world_, &number, &number, 1, ACP_INT64, ACP_MAX);
    if (rank_ % 2 == 0) expect_well(under_way);
    EXPECT_EQ(acp_sync_team(other), 0) << acp_error_message();
    if (rank_ % 2 != 0) expect_well(under_way);
    EXPECT_EQ(number, procs_ - 1);
    free_team(other);
}

TEST_F(TeamRequestTest, nothing_ends_before_all_have_come) {
    const acp_team_request_t request = acp_nbsync_team(world_);
    ASSERT_NE(request, ACP_TEAM_REQUEST_NULL);
    expect_well(request);
    if (rank_ != 0) {
        const acp_team_request_t early = acp_nbsync_team(world_);
        EXPECT_EQ(acp_test_team(early), 0);
        EXPECT_EQ(acp_wait_team_timeout(early, 1'000'000), ACP_ERR_TIMEOUT);
        EXPECT_EQ(acp_wait_team_timeout(early, 0), ACP_ERR_TIMEOUT);
        sync_ranks();
        EXPECT_EQ(acp_wait_team_timeout(early, -1), ACP_OK) << acp_error_message();
    } else {
        sync_ranks();
        EXPECT_EQ(acp_sync_team(world_), 0) << acp_error_message();
    }
}

// A thread that waits for a request skips a team while another thread is inside a call on it, and
// must be woken when that call was refused.
TEST_F(TeamRequestTest, a_refused_barrier_with_a_timeout_leaves_no_thread_asleep) {
    constexpr int rounds = 100;
    constexpr std::int64_t long_ns =
        // A thread that misses its wakeup polls again after 2 s.
        1'000'000'000;
    const acp_team_t team = acp_split_team(world_, 0, rank_);
    for (int round = 0; round < rounds; ++round) {
        const acp_team_request_t first = acp_nbsync_team(team);
        // Rank 0's second request is in flight all the time, so a barrier with a timeout is
        // refused.
        acp_team_request_t second = rank_ == 0 ? acp_nbsync_team(team) : ACP_TEAM_REQUEST_NULL;
        std::atomic<bool> is_over{false};
        std::thread beside([&] {
            while (rank_ == 0 && procs_ > 1 && !is_over.load())
                EXPECT_EQ(acp_sync_team_timeout(team, 0), ACP_ERR_STATE);
        });
        EXPECT_EQ(acp_wait_team_timeout(first, long_ns), 0) << round << acp_error_message();
        is_over = true;
        beside.join();
        EXPECT_EQ(acp_sync_team(world_), 0) << acp_error_message();
        if (rank_ != 0) second = acp_nbsync_team(team);
        expect_well(second);
    }
    free_team(team);
}

TEST_F(TeamRequestTest, several_threads_wait_for_requests_of_several_teams) {
    constexpr int threads_count = 3;
    std::array<acp_team_t, threads_count> teams{};
    for (acp_team_t& team : teams) {
        team = acp_split_team(world_, 0, rank_);
        ASSERT_NE(team, ACP_TEAM_NULL);
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < threads_count; ++t) {
        threads.emplace_back([&, t] {
            const acp_team_t team = teams[static_cast<std::size_t>(t)];
            for (std::int64_t round = 0; round < 40; ++round) {
                std::array<std::int64_t, 3> numbers{rank_ + t, rank_ + round, rank_};
                std::array<acp_team_request_t, 3> requests{};
                for (std::size_t i = 0; i < numbers.size(); ++i)
                    requests[i] =
                        acp_nballreduce_team(team, &numbers[i], &numbers[i], 1, ACP_INT64, ACP_SUM);
                for (std::size_t i = numbers.size(); i-- > 0;)
                    wrong += acp_wait_team(requests[i]) != 0;
                const std::int64_t ranks = std::int64_t{procs_} * (procs_ - 1) / 2;
                wrong += numbers[0] != ranks + std::int64_t{procs_} * t ||
                         numbers[1] != ranks + procs_ * round || numbers[2] != ranks;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    for (const acp_team_t team : teams) free_team(team);
}

}  // namespace
}  // namespace acp::test
