// SPDX-License-Identifier: BSD-3-Clause
// <acp/team.h>: waits for non-blocking calls, and memory of all members.
#include <cstdint>
#include <utility>

#include "api/team_calls.hpp"

#include <acp/error.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using api::number_of;
using base::Code;
using base::Result;
using base::Status;

// The result of a request's call, or why it is unknown.
Status end_of(acp_team_request_t request, std::int64_t timeout_ns) {
    return library().teams->wait(
        static_cast<team::RequestHandle>(reinterpret_cast<std::uintptr_t>(request)), timeout_ns);
}

constexpr int refused = -1;

}  // namespace

extern "C" {

int acp_wait_team(acp_team_request_t request) {
    return api::run_team_call("acp_wait_team", [&] { return end_of(request, -1); });
}

int acp_wait_team_timeout(acp_team_request_t request, int64_t timeout_ns) {
    constexpr const char* call = "acp_wait_team_timeout";
    const int ended_with = api::run<Gravity::reported>(call, int{refused}, [&]() -> Result<int> {
        Status status = end_of(request, timeout_ns);
        const Code code = status.code();
        if (code != Code::ok) api::keep(api::in_call(call, std::move(status)));
        return static_cast<int>(code);
    });
    return ended_with == refused ? acp_errno() : ended_with;
}

int acp_test_team(acp_team_request_t request) {
    constexpr const char* call = "acp_test_team";
    return api::run<Gravity::misuse_ends>(call, int{refused}, [&]() -> Result<int> {
        Status status = end_of(request, 0);
        if (status.is_ok()) return 1;
        if (status.code() == Code::timeout) return 0;
        return api::in_call(call, std::move(status));
    });
}

acp_ga_t acp_malloc_team(acp_team_t team, size_t size) {
    constexpr const char* call = "acp_malloc_team";
    return api::run<Gravity::misuse_ends>(call, ACP_GA_NULL, [&]() -> Result<acp_ga_t> {
        std::uint64_t bytes = 0;
        Status status = api::multiply({"size", size}, bytes);
        if (status.is_ok()) {
            auto made = library().teams->allocate(number_of(team), bytes);
            if (made.is_ok()) return made.value();
            status = std::move(made).failure();
        }
        return api::in_call(call, std::move(status));
    });
}

int acp_free_team_memory(acp_team_t team, acp_ga_t ga) {
    return api::run_team_call("acp_free_team_memory",
                              [&] { return library().teams->free_memory(number_of(team), ga); });
}

acp_ga_t acp_query_team_ga(acp_team_t team, acp_ga_t ga, int rank) {
    constexpr const char* call = "acp_query_team_ga";
    return api::run<Gravity::misuse_ends>(call, ACP_GA_NULL, [&]() -> Result<acp_ga_t> {
        Status status = api::check_call(team, [&](const team::Membership& members) {
            return api::check_rank(members, "rank", rank);
        });
        if (status.is_ok()) {
            auto found =
                library().teams->translate(number_of(team), ga, static_cast<std::uint32_t>(rank));
            if (found.is_ok()) return found.value();
            status = std::move(found).failure();
        }
        return api::in_call(call, std::move(status));
    });
}

}  // extern "C"
