// SPDX-License-Identifier: BSD-3-Clause
// Teams with a single member: every collective call, blocking and with a request, for every type and
// operation of a reduction, in place and for 0 elements; and teams that are split off and freed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <acp.h>

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

constexpr int bad = ACP_ERR_ARGUMENT;

// The blocking form of a collective call and the form with a request, by one name.
struct Form {
    const char* name;
    bool has_request;

    // The result of a call: of its blocking form, or of the wait for its request.
    [[nodiscard]] int run(const std::function<int()>& blocking,
                          const std::function<acp_team_request_t()>& issue) const {
        if (!has_request) return blocking();
        const acp_team_request_t request = issue();
        return request == ACP_TEAM_REQUEST_NULL ? -1 : acp_wait_team(request);
    }
};

constexpr std::array<Form, 2> forms{{{"blocking", false}, {"with a request", true}}};

class TeamsTest : public OneRankJob {
protected:
    void SetUp() override {
        OneRankJob::SetUp();
        // The world team reserves its memory at the first call.
        ASSERT_EQ(acp_sync_team(world_), 0) << acp_error_message();
        ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    }

    void TearDown() override { expect_unchanged(); }

    // The result of a single member is its own elements.
    template <typename T>
    void reduce_all(int type, const std::vector<T>& elements, bool has_bits) {
        for (int operation = ACP_SUM; operation <= ACP_XOR; ++operation) {
            const bool is_allowed = has_bits || operation < ACP_AND;
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, elements.size()}) {
                for (const Form& form : forms)
                    reduce(form, {type, operation, count, is_allowed}, elements);
            }
        }
    }

    struct Case {
        int type;
        int operation;
        std::size_t count;
        bool is_allowed;
    };

    template <typename T>
    void reduce(const Form& form, const Case& c, const std::vector<T>& elements) {
        SCOPED_TRACE(std::string(form.name) + ", type " + std::to_string(c.type) + ", operation " +
                     std::to_string(c.operation) + ", count " + std::to_string(c.count));
        const std::vector<T> untouched(elements.size() + 1, T{77});
        std::vector<T> wanted = untouched;
        if (c.is_allowed) std::copy_n(elements.begin(), c.count, wanted.begin());
        const T* const send = c.count == 0 ? nullptr : elements.data();
        const auto expect = [&](const char* call, int result, const std::vector<T>& got,
                                const std::vector<T>& due) {
            EXPECT_EQ(result, c.is_allowed ? 0 : -1) << call << ": " << acp_error_message();
            if (!c.is_allowed) {
                EXPECT_EQ(acp_errno(), bad) << call;
            }
            EXPECT_EQ(got, due) << call;
            acp_clear_errno();
        };
        std::vector<T> recv = untouched;
        expect("allreduce",
               form.run(
                   [&] {
                       return acp_allreduce_team(world_, send, recv.data(), c.count, c.type,
                                                 c.operation);
                   },
                   [&] {
                       return acp_nballreduce_team(world_, send, recv.data(), c.count, c.type,
                                                   c.operation);
                   }),
               recv, wanted);
        recv = untouched;
        expect("reduce",
               form.run(
                   [&] {
                       return acp_reduce_team(world_, send, recv.data(), c.count, c.type,
                                              c.operation, 0);
                   },
                   [&] {
                       return acp_nbreduce_team(world_, send, recv.data(), c.count, c.type,
                                                c.operation, 0);
                   }),
               recv, wanted);
        recv = untouched;
        expect(
            "scan",
            form.run(
                [&] {
                    return acp_scan_team(world_, send, recv.data(), c.count, c.type, c.operation);
                },
                [&] {
                    return acp_nbscan_team(world_, send, recv.data(), c.count, c.type, c.operation);
                }),
            recv, wanted);
        recv = untouched;
        expect("exscan",
               form.run(
                   [&] {
                       return acp_exscan_team(world_, send, recv.data(), c.count, c.type,
                                              c.operation);
                   },
                   [&] {
                       return acp_nbexscan_team(world_, send, recv.data(), c.count, c.type,
                                                c.operation);
                   }),
               recv, untouched);
        recv = elements;
        expect("allreduce in place",
               form.run(
                   [&] {
                       return acp_allreduce_team(world_, recv.data(), recv.data(), c.count, c.type,
                                                 c.operation);
                   },
                   [&] {
                       return acp_nballreduce_team(world_, recv.data(), recv.data(), c.count,
                                                   c.type, c.operation);
                   }),
               recv, elements);
    }

    const acp_team_t world_ = acp_world_team();
};

TEST_F(TeamsTest, a_reduction_of_one_member_is_its_own_elements_for_each_type_and_operation) {
    using F = std::numeric_limits<float>;
    using D = std::numeric_limits<double>;
    reduce_all<std::int32_t>(ACP_INT32, {0, 1, -1, INT32_MAX, INT32_MIN}, true);
    reduce_all<std::uint32_t>(ACP_UINT32, {0, 1, 2, UINT32_MAX}, true);
    reduce_all<std::int64_t>(ACP_INT64, {0, 1, -1, INT64_MAX, INT64_MIN}, true);
    reduce_all<std::uint64_t>(ACP_UINT64, {0, 1, 2, UINT64_MAX}, true);
    reduce_all<float>(ACP_FLOAT, {0.0F, -1.5F, F::max(), F::lowest(), F::infinity(), F::min()},
                      false);
    reduce_all<double>(ACP_DOUBLE, {0.0, -1.5, D::max(), D::lowest(), D::infinity(), D::min()},
                       false);
}

TEST_F(TeamsTest, long_reductions_in_pieces_are_whole) {
    std::vector<std::uint64_t> elements(100'000), recv(100'000, 77);
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = i * i;
    for (const Form& form : forms) {
        SCOPED_TRACE(form.name);
        const std::size_t count = elements.size();
        std::fill(recv.begin(), recv.end(), 77U);
        EXPECT_EQ(form.run(
                      [&] {
                          return acp_scan_team(world_, elements.data(), recv.data(), count,
                                               ACP_UINT64, ACP_SUM);
                      },
                      [&] {
                          return acp_nbscan_team(world_, elements.data(), recv.data(), count,
                                                 ACP_UINT64, ACP_SUM);
                      }),
                  0)
            << acp_error_message();
        EXPECT_EQ(recv, elements);
    }
}

// Elements of 3 bytes: a combination would write '!' into them.
TEST_F(TeamsTest, a_function_of_the_program_has_nothing_to_combine_for_one_member) {
    int calls = 0;
    const acp_combine_t combine = [](void* into, const void*, std::size_t count, void* context) {
        ++*static_cast<int*>(context);
        std::memset(into, '!', 3 * count);
    };
    const std::string send = "abcdef";
    for (const Form& form : forms) {
        SCOPED_TRACE(form.name);
        for (const std::size_t count : {0U, 1U, 2U}) {
            const std::string wanted = send.substr(0, 3 * count) + std::string(6 - 3 * count, '?');
            std::string recv(6, '?');
            EXPECT_EQ(form.run(
                          [&] {
                              return acp_allreduce_by_team(world_, send.data(), recv.data(), count,
                                                           3, combine, &calls);
                          },
                          [&] {
                              return acp_nballreduce_by_team(world_, send.data(), recv.data(),
                                                             count, 3, combine, &calls);
                          }),
                      0);
            EXPECT_EQ(recv, wanted);
            recv.assign(6, '?');
            EXPECT_EQ(form.run(
                          [&] {
                              return acp_reduce_by_team(world_, send.data(), recv.data(), count, 3,
                                                        combine, &calls, 0);
                          },
                          [&] {
                              return acp_nbreduce_by_team(world_, send.data(), recv.data(), count,
                                                          3, combine, &calls, 0);
                          }),
                      0);
            EXPECT_EQ(recv, wanted);
            recv.assign(6, '?');
            EXPECT_EQ(form.run(
                          [&] {
                              return acp_scan_by_team(world_, send.data(), recv.data(), count, 3,
                                                      combine, &calls);
                          },
                          [&] {
                              return acp_nbscan_by_team(world_, send.data(), recv.data(), count, 3,
                                                        combine, &calls);
                          }),
                      0);
            EXPECT_EQ(recv, wanted);
            recv.assign(6, '?');
            EXPECT_EQ(form.run(
                          [&] {
                              return acp_exscan_by_team(world_, send.data(), recv.data(), count, 3,
                                                        combine, &calls);
                          },
                          [&] {
                              return acp_nbexscan_by_team(world_, send.data(), recv.data(), count,
                                                          3, combine, &calls);
                          }),
                      0);
            EXPECT_EQ(recv, "??????") << "member 0 gets nothing of an exclusive scan";
        }
    }
    EXPECT_EQ(calls, 0);
    std::vector<char> longest(32769), to(32769, '?');
    EXPECT_EQ(acp_allreduce_by_team(world_, longest.data(), to.data(), 1, 32768, combine, &calls),
              0);
    EXPECT_EQ(to[32767], '\0');
    EXPECT_EQ(acp_allreduce_by_team(world_, longest.data(), to.data(), 1, 32769, combine, &calls),
              -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_LIMIT) << acp_error_message();
    EXPECT_EQ(to[32768], '?');
}

TEST_F(TeamsTest, bytes_of_each_length_are_sent_to_the_only_member) {
    for (const Form& form : forms) {
        for (const std::size_t size : {0U, 1U, 8U, 1000U, 300'000U}) {
            SCOPED_TRACE(std::string(form.name) + ", " + std::to_string(size));
            std::string send(size, ' ');
            for (std::size_t i = 0; i < size; ++i) send[i] = static_cast<char>(i * 5);
            const std::string wanted = send + "?";
            std::string recv;
            const auto reset = [&] { recv.assign(size + 1, '?'); };
            const char* const from = size == 0 ? nullptr : send.data();
            const std::size_t offset = 0;
            reset();
            EXPECT_EQ(
                form.run([&] { return acp_gather_team(world_, from, size, recv.data(), 0); },
                         [&] { return acp_nbgather_team(world_, from, size, recv.data(), 0); }),
                0);
            EXPECT_EQ(recv, wanted);
            reset();
            EXPECT_EQ(
                form.run([&] { return acp_allgather_team(world_, from, size, recv.data()); },
                         [&] { return acp_nballgather_team(world_, from, size, recv.data()); }),
                0);
            EXPECT_EQ(recv, wanted);
            reset();
            EXPECT_EQ(
                form.run([&] { return acp_scatter_team(world_, from, size, recv.data(), 0); },
                         [&] { return acp_nbscatter_team(world_, from, size, recv.data(), 0); }),
                0);
            EXPECT_EQ(recv, wanted);
            reset();
            EXPECT_EQ(
                form.run([&] { return acp_alltoall_team(world_, from, size, recv.data()); },
                         [&] { return acp_nballtoall_team(world_, from, size, recv.data()); }),
                0);
            EXPECT_EQ(recv, wanted);
            reset();
            EXPECT_EQ(form.run(
                          [&] {
                              return acp_alltoallv_team(world_, from, &size, &offset, recv.data(),
                                                        &size, &offset);
                          },
                          [&] {
                              return acp_nballtoallv_team(world_, from, &size, &offset, recv.data(),
                                                          &size, &offset);
                          }),
                      0)
                << acp_error_message();
            EXPECT_EQ(recv, wanted);
            recv = wanted;
            EXPECT_EQ(form.run([&] { return acp_broadcast_team(world_, recv.data(), size, 0); },
                               [&] { return acp_nbbroadcast_team(world_, recv.data(), size, 0); }),
                      0);
            EXPECT_EQ(recv, wanted) << "the root's own bytes";
            EXPECT_EQ(
                form.run(
                    [&] { return acp_allgather_team(world_, recv.data(), size, recv.data()); },
                    [&] { return acp_nballgather_team(world_, recv.data(), size, recv.data()); }),
                0);
            EXPECT_EQ(recv, wanted) << "in place";
        }
    }
}

TEST_F(TeamsTest, pieces_are_exchanged_from_and_to_their_offsets) {
    const std::string send = "0123456789";
    std::string recv(10, '?');
    const std::size_t size = 4, from = 5, to = 2;
    EXPECT_EQ(acp_alltoallv_team(world_, send.data(), &size, &from, recv.data(), &size, &to), 0);
    EXPECT_EQ(recv, "??5678????");
}

TEST_F(TeamsTest, a_caller_that_expects_another_size_of_itself_is_refused_and_may_call_again) {
    const std::string send = "01234567";
    std::string recv(8, '?');
    const std::size_t four = 4, five = 5, offset = 0;
    for (const auto& [sent, expected] : {std::pair{&four, &five}, std::pair{&five, &four}}) {
        EXPECT_EQ(
            acp_alltoallv_team(world_, send.data(), sent, &offset, recv.data(), expected, &offset),
            -1);
        EXPECT_EQ(acp_errno(), bad) << acp_error_message();
        EXPECT_EQ(acp_nballtoallv_team(world_, send.data(), sent, &offset, recv.data(), expected,
                                       &offset),
                  ACP_TEAM_REQUEST_NULL);
        EXPECT_EQ(recv, "????????");
    }
    EXPECT_EQ(acp_alltoallv_team(world_, send.data(), &five, &offset, recv.data(), &five, &offset),
              0);
    EXPECT_EQ(recv, "01234???");
}

TEST_F(TeamsTest, teams_of_one_member_are_split_off_translated_and_freed) {
    const std::array<int, 1> own{0};
    const std::array<acp_team_t, 4> teams{
        acp_split_team(world_, 0, 0), acp_split_team(world_, INT32_MAX, -5),
        acp_split_team_by_node(world_), acp_create_team(world_, own.data(), 1)};
    for (std::size_t i = 0; i < teams.size(); ++i) {
        SCOPED_TRACE(i);
        const acp_team_t team = teams.at(i);
        ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
        ASSERT_NE(team, ACP_TEAM_NONE);
        EXPECT_EQ(acp_query_team_rank(team), 0);
        EXPECT_EQ(acp_query_team_size(team), 1);
        EXPECT_EQ(acp_translate_team_rank(team, 0, world_), 0);
        EXPECT_EQ(acp_translate_team_rank(world_, 0, team), 0);
        EXPECT_EQ(acp_translate_team_rank(team, 0, team), 0);
        EXPECT_EQ(acp_sync_team(team), 0);
        EXPECT_EQ(acp_sync_team_timeout(team, 0), ACP_OK);
        EXPECT_EQ(acp_sync_team_timeout(team, -1), ACP_OK);
        EXPECT_EQ(acp_free_team(team), 0) << acp_error_message();
        EXPECT_EQ(acp_free_team(team), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
    }
    for (const int color : {-1, INT32_MIN}) {
        acp_clear_errno();
        EXPECT_EQ(acp_split_team(world_, color, 0), ACP_TEAM_NONE);
        EXPECT_EQ(acp_errno(), ACP_OK) << "no member of the new team is no failure";
    }
    EXPECT_EQ(acp_query_team_rank(ACP_TEAM_NONE), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
}

TEST_F(TeamsTest, memory_of_a_team_is_the_members_own_until_it_is_freed) {
    const acp_team_t team = acp_split_team(world_, 0, 0);
    for (const std::size_t size : {0U, 1U, 64U, 100'000U}) {
        SCOPED_TRACE(size);
        const acp_ga_t ga = acp_malloc_team(team, size);
        ASSERT_NE(ga, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(ga % 64, 0U) << "aligned to 64";
        EXPECT_EQ(acp_query_team_ga(team, ga, 0), ga);
        if (size > 1) {
            EXPECT_EQ(acp_query_team_ga(team, ga + size - 1, 0), ga + size - 1);
        }
        EXPECT_EQ(acp_query_team_ga(team, ga, 1), ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), bad) << acp_error_message();
        EXPECT_EQ(acp_query_team_ga(world_, ga, 0), ACP_GA_NULL) << "memory of another team";
        EXPECT_EQ(acp_free_team_memory(team, ga), 0) << acp_error_message();
        EXPECT_EQ(acp_query_team_ga(team, ga, 0), ACP_GA_NULL) << "memory that was freed";
    }
    EXPECT_NE(acp_malloc_team(team, 1000), ACP_GA_NULL);
    EXPECT_EQ(acp_free_team(team), 0) << "frees the memory too";
}

TEST_F(TeamsTest, a_request_is_retired_by_the_one_call_that_returns_its_completion) {
    const auto retired = [](acp_team_request_t request) {
        EXPECT_EQ(acp_wait_team(request), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
        EXPECT_EQ(acp_test_team(request), -1);
        EXPECT_EQ(acp_wait_team_timeout(request, 0), ACP_ERR_STALE);
    };
    const acp_team_request_t waited = acp_nbsync_team(world_);
    EXPECT_EQ(acp_wait_team(waited), 0);
    retired(waited);
    const acp_team_request_t timed = acp_nbsync_team(world_);
    EXPECT_EQ(acp_wait_team_timeout(timed, -1), ACP_OK);
    retired(timed);
    const acp_team_request_t tested = acp_nbsync_team(world_);
    int result = 0;
    while (result == 0) result = acp_test_team(tested);
    EXPECT_EQ(result, 1);
    retired(tested);
}

TEST_F(TeamsTest, requests_in_any_order_of_waiting_are_complete) {
    std::array<acp_team_request_t, 20> requests{};
    std::array<std::uint64_t, 20> send{}, recv{};
    for (std::size_t i = 0; i < requests.size(); ++i) {
        send.at(i) = i + 1;
        requests.at(i) =
            acp_nballreduce_team(world_, &send.at(i), &recv.at(i), 1, ACP_UINT64, ACP_MAX);
        ASSERT_NE(requests.at(i), ACP_TEAM_REQUEST_NULL) << acp_error_message();
    }
    EXPECT_EQ(acp_sync_team(world_), 0) << "waits for the calls before it";
    EXPECT_EQ(recv, send);
    for (std::size_t i = requests.size(); i-- > 0;)
        EXPECT_EQ(acp_wait_team(requests.at(i)), 0) << i;
}

TEST_F(TeamsTest, a_notice_of_each_length_is_delivered_to_its_own_sender) {
    for (const std::size_t size : {0U, 1U, 32U, 33U, 1023U, 1024U}) {
        SCOPED_TRACE(size);
        const std::string notice(size, 'n');
        std::string notices(ACP_NOTICE_BYTES, '?');
        std::size_t length = 77;
        EXPECT_EQ(acp_sync_team_notices(world_, size == 0 ? nullptr : notice.data(), size,
                                        notices.data(), &length),
                  0)
            << acp_error_message();
        EXPECT_EQ(length, size);
        EXPECT_EQ(notices, notice + std::string(ACP_NOTICE_BYTES - size, '?'))
            << "no byte behind it";
    }
}

}  // namespace
}  // namespace acp::api::test
