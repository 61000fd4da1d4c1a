// SPDX-License-Identifier: BSD-3-Clause
// <acp/team.h>: teams, their members, and the barrier.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

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
using team::CollectiveCall;
using team::Teams;

// The result of a call that makes teams.   made  0: the caller is in none
acp_team_t member_of(team::TeamHandle made) noexcept {
    return made != 0 ? api::team_of(made) : ACP_TEAM_NONE;  // NOLINT(performance-no-int-to-ptr)
}

acp_team_t divide(const char* name,
                  acp_team_t handle,
                  CollectiveCall call,
                  const Teams::Division& division) {
    return api::run<Gravity::misuse_ends>(name, ACP_TEAM_NULL, [&]() -> Result<acp_team_t> {
        auto made = library().teams->divide(number_of(handle), call, division);
        if (!made.is_ok()) return api::in_call(name, std::move(made).failure());
        return member_of(made.value());
    });
}

// Lets members compare their lists. Never 0.
std::uint64_t digest_of(std::span<const int> ranks) noexcept {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;
    std::uint64_t digest = ranks.size();
    for (const int rank : ranks) {
        digest = (digest ^ static_cast<std::uint32_t>(rank)) * odd;
        digest ^= digest >> 32;
    }
    return digest | 1;
}

Status check_list(const team::Membership& members, std::span<const int> ranks) {
    std::vector<bool> is_listed(members.size());
    for (const int rank : ranks) {
        if (auto status = api::check_rank(members, "rank", rank); !status.is_ok()) return status;
        if (is_listed[static_cast<std::size_t>(rank)])
            return {Code::argument, "rank " + std::to_string(rank) + " is in the list twice"};
        is_listed[static_cast<std::size_t>(rank)] = true;
    }
    return {};
}

// "ranks 4, 0, 2 and 9 more"
std::string list_text(std::span<const int> ranks) {
    constexpr std::size_t shown_max = 16;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < std::min(ranks.size(), shown_max); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (ranks.size() > shown_max)
        text += " and " + std::to_string(ranks.size() - shown_max) + " more";
    return text;
}

// The division of a listed rank: colour 0, and the index as key.
Result<Teams::Division> division_by(acp_team_t handle, const int* ranks, int count) {
    if (ranks == nullptr) return Status(Code::argument, "ranks is NULL");
    if (count < 1) {
        return Status(Code::argument, "the list of ranks has " + std::to_string(count) +
                                          " ranks: it has 1 or more");
    }
    Teams::Division division{-1, 0, 0};
    Status refusal;
    auto status = library().teams->ask(number_of(handle), [&](const team::Membership& members) {
        if (static_cast<unsigned>(count) > members.size()) {  // the list may have fewer
            refusal = {Code::argument, "the list has " + std::to_string(count) +
                                           " ranks, but the team has " +
                                           std::to_string(members.size()) + " members"};
            return;
        }
        const std::span list(ranks, static_cast<std::size_t>(count));
        division.digest = digest_of(list);
        refusal = check_list(members, list);
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (static_cast<std::uint32_t>(list[i]) == members.own())
                division = {0, static_cast<std::int64_t>(i), division.digest};
        }
    });
    if (status.is_ok()) status = std::move(refusal);
    if (!status.is_ok()) return status;
    return division;
}

Status check_notice(const void* notice, size_t size, const void* notices, const size_t* sizes) {
    if (size > ACP_NOTICE_BYTES) {
        return {Code::limit, "a notice has " + std::to_string(size) + " bytes, of " +
                                 std::to_string(ACP_NOTICE_BYTES) + " at most"};
    }
    if (notices == nullptr) return {Code::argument, "notices is NULL"};
    if (sizes == nullptr) return {Code::argument, "sizes is NULL"};
    Status status = api::check_buffer("notices", notices, 1);
    return status.is_ok() ? api::check_buffer("notice", notice, size) : std::move(status);
}

static_assert(ACP_NOTICE_BYTES == team::notice_bytes_max);

}  // namespace

extern "C" {

acp_team_t acp_world_team(void) {
    return api::run<Gravity::misuse_ends>("acp_world_team", ACP_TEAM_NULL,
                                          [] { return api::team_of(library().teams->world()); });
}

acp_team_t acp_split_team(acp_team_t team, int color, int key) {
    return divide("acp_split_team", team, CollectiveCall::split, {color, key, 0});
}

acp_team_t acp_split_team_by_node(acp_team_t team) {
    return divide(
        "acp_split_team_by_node", team, CollectiveCall::split_by_node,
        {library().life.is_usable() ? library().member->segment().shape().node : 0, 0, 0});
}

acp_team_t acp_create_team(acp_team_t team, const int* ranks, int count) {
    constexpr const char* call = "acp_create_team";
    return api::run<Gravity::misuse_ends>(call, ACP_TEAM_NULL, [&]() -> Result<acp_team_t> {
        auto division = division_by(team, ranks, count);
        if (!division.is_ok()) return api::in_call(call, std::move(division).failure());
        auto made =
            library().teams->divide(number_of(team), CollectiveCall::create, division.value());
        if (!made.is_ok()) {
            const std::span list(ranks, static_cast<std::size_t>(count));
            return api::in_call(call, std::move(made).failure().within("of " + list_text(list)));
        }
        return member_of(made.value());
    });
}

int acp_free_team(acp_team_t team) {
    return api::run_team_call("acp_free_team",
                              [&] { return library().teams->free(number_of(team)); });
}

int acp_query_team_rank(acp_team_t team) {
    return api::run<Gravity::misuse_ends>("acp_query_team_rank", -1, [&]() -> Result<int> {
        int rank = -1;
        auto status = library().teams->ask(number_of(team), [&](const team::Membership& members) {
            rank = static_cast<int>(members.own());
        });
        if (!status.is_ok()) return api::in_call("acp_query_team_rank", std::move(status));
        return rank;
    });
}

int acp_query_team_size(acp_team_t team) {
    return api::run<Gravity::misuse_ends>("acp_query_team_size", -1, [&]() -> Result<int> {
        int size = -1;
        auto status = library().teams->ask(number_of(team), [&](const team::Membership& members) {
            size = static_cast<int>(members.size());
        });
        if (!status.is_ok()) return api::in_call("acp_query_team_size", std::move(status));
        return size;
    });
}

int acp_translate_team_rank(acp_team_t team, int rank, acp_team_t other) {
    constexpr const char* call = "acp_translate_team_rank";
    return api::run<Gravity::misuse_ends>(call, -1, [&]() -> Result<int> {
        std::uint32_t process = 0;
        std::optional<std::uint32_t> found;
        Status refusal;
        auto status = library().teams->ask(number_of(team), [&](const team::Membership& members) {
            refusal = api::check_rank(members, "rank", rank);
            if (refusal.is_ok()) process = members.process(static_cast<std::uint32_t>(rank));
        });
        if (status.is_ok()) status = std::move(refusal);
        if (status.is_ok()) {
            status = library().teams->ask(number_of(other), [&](const team::Membership& members) {
                found = members.rank_of(process);
            });
        }
        if (!status.is_ok()) return api::in_call(call, std::move(status));
        return found.has_value() ? static_cast<int>(*found) : int{ACP_NONE};
    });
}

int acp_sync_team(acp_team_t team) {
    return api::run_team_call("acp_sync_team", [&] {
        return library().teams->run(number_of(team), {CollectiveCall::sync, 0},
                                    [](team::Team& met) { return team::synchronize(met); });
    });
}

acp_team_request_t acp_nbsync_team(acp_team_t team) {
    return api::begin_team_call("acp_nbsync_team", [&](const api::Begin& begin) {
        return begin(
            team, {CollectiveCall::sync, 0}, [](const team::Membership&) { return Status(); },
            [](team::Team& met) { return team::synchronize(met); });
    });
}

int acp_sync_team_notices(
    acp_team_t team, const void* notice, size_t size, void* notices, size_t* sizes) {
    return api::run_team_call("acp_sync_team_notices", [&] {
        return api::MakeNow()(
            team, {CollectiveCall::sync_notices, 0},
            [&](const team::Membership&) { return check_notice(notice, size, notices, sizes); },
            [&](team::Team& met) {
                return team::synchronize_with_notices(met, {static_cast<const char*>(notice), size},
                                                      static_cast<char*>(notices), sizes);
            });
    });
}

int acp_sync_team_timeout(acp_team_t team, int64_t timeout_ns) {
    constexpr const char* call = "acp_sync_team_timeout";
    const auto in_time = [timeout_ns](Status status) {
        return status.code() != Code::timeout
                   ? std::move(status)
                   : std::move(status).within("after " + std::to_string(timeout_ns) + " ns");
    };
    constexpr int refused = -1;
    const int ended_with = api::run<Gravity::reported>(call, int{refused}, [&]() -> Result<int> {
        auto status = library().teams->run(
            number_of(team), team::Signature(CollectiveCall::sync, 0).with_timeout(),
            [](team::Team& met) { return team::synchronize(met); }, gma::Deadline(timeout_ns));
        const Code code = status.code();
        if (code != Code::ok) api::keep(api::in_call(call, in_time(std::move(status))));
        return static_cast<int>(code);
    });
    return ended_with == refused ? acp_errno() : ended_with;
}

}  // extern "C"
