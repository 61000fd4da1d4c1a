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

// Makes a collective call: check(members) looks at the arguments and returns a Status, body(team) makes the call.
template <typename Check, typename Body>
base::Status make_call(acp_team_t handle,
                       const team::Signature& signature,
                       const Check& check,
                       const Body& body) {
    team::Teams& teams = *library().teams;
    base::Status refusal;
    auto status = teams.ask(number_of(handle),
                            [&](const team::Membership& members) { refusal = check(members); });
    if (status.is_ok()) status = std::move(refusal);
    if (status.is_ok()) status = teams.run(number_of(handle), signature, body);
    return status;
}

// The body of such a function: 0, or -1.
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

}  // namespace acp::api
