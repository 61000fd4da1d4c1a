// SPDX-License-Identifier: BSD-3-Clause
// What the functions of <acp/team.h> share: handles, looks at arguments, and making a collective call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/fatal.hpp"
#include "api/library.hpp"
#include "team/teams.hpp"

#include <acp/team.h>

namespace acp::api {

inline team::TeamHandle number_of(acp_team_t handle) noexcept {
    return static_cast<team::TeamHandle>(reinterpret_cast<std::uintptr_t>(handle));
}

inline acp_team_t team_of(team::TeamHandle number) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number that has the type of a pointer
    return reinterpret_cast<acp_team_t>(static_cast<std::uintptr_t>(number));
}

// Of a size in bytes; `buffer` is of the caller.
inline base::Status check_buffer(const char* name, const void* buffer, std::uint64_t bytes) {
    if (buffer == nullptr && bytes != 0) {
        return {base::Code::argument,
                std::string(name) + " is NULL, and is of " + std::to_string(bytes) + " bytes"};
    }
    return {};
}

// bytes becomes count * size.
inline base::Status multiply(std::uint64_t count, std::uint64_t size, std::uint64_t& bytes) {
    constexpr std::uint64_t bytes_max = std::uint64_t{1} << 61;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes >= bytes_max) {
        return {base::Code::argument, std::to_string(count) + " times " + std::to_string(size) +
                                          " bytes are not below 2^61"};
    }
    return {};
}

// A team rank as an argument.
inline base::Status check_rank(const team::Membership& members, const char* name, int rank) {
    if (rank >= 0 && static_cast<std::uint32_t>(rank) < members.size()) return {};
    return {base::Code::argument, std::string(name) + " " + std::to_string(rank) +
                                      " is not one of the members 0 to " +
                                      std::to_string(members.size() - 1)};
}

// A team's answer to check(members), which looks at arguments and returns a Status.
template <typename Check>
base::Status check_call(acp_team_t handle, const Check& check) {
    base::Status refusal;
    auto status = library().teams->ask(
        number_of(handle), [&](const team::Membership& members) { refusal = check(members); });
    return status.is_ok() ? std::move(refusal) : std::move(status);
}

// How a collective call is made, once its arguments are known: check(members) looks at them, and body(team) makes the call. The body has
// copies of the arguments, for it may run later.

struct MakeNow {
    template <typename Check, typename Body>
    base::Status operator()(acp_team_t handle,
                            const team::Signature& signature,
                            const Check& check,
                            const Body& body) const {
        auto status = check_call(handle, check);
        if (status.is_ok()) status = library().teams->run(number_of(handle), signature, body);
        return status;
    }
};

struct Begin {
    acp_team_request_t& request;

    template <typename Check, typename Body>
    base::Status operator()(acp_team_t handle,
                            const team::Signature& signature,
                            const Check& check,
                            const Body& body) const {
        if (auto status = check_call(handle, check); !status.is_ok()) return status;
        auto begun = library().teams->begin(number_of(handle), signature, body);
        if (!begun.is_ok()) return std::move(begun).failure();
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number that has the type of a pointer
        request = reinterpret_cast<acp_team_request_t>(static_cast<std::uintptr_t>(begun.value()));
        return {};
    }
};

// The body of a function that returns 0, or -1.
template <typename Call>
int run_team_call(const char* name, const Call& call) noexcept {
    const bool is_ok = run<Gravity::misuse_ends>(name, false, [&]() -> base::Status {
        base::Status status = call();
        if (status.is_ok()) [[likely]]
            return status;
        return in_call(name, std::move(status));
    });
    return is_ok ? 0 : -1;
}

// The body of a function that begins a call: the request, or ACP_TEAM_REQUEST_NULL.   call  is given the Begin to make the call by
template <typename Call>
acp_team_request_t begin_team_call(const char* name, const Call& call) noexcept {
    return run<Gravity::misuse_ends>(name, ACP_TEAM_REQUEST_NULL,
                                     [&]() -> base::Result<acp_team_request_t> {
                                         acp_team_request_t request = ACP_TEAM_REQUEST_NULL;
                                         base::Status status = call(Begin{request});
                                         if (status.is_ok()) return request;
                                         return in_call(name, std::move(status));
                                     });
}

}  // namespace acp::api
