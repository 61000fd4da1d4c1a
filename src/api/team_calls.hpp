// SPDX-License-Identifier: BSD-3-Clause
// Shared by the functions of <acp/team.h>: handles, checks of arguments, and making a collective
// call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "api/boundary.hpp"
#include "api/fatal.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "os/cancellation.hpp"
#include "team/teams.hpp"

#include <acp/team.h>

namespace acp::api {

inline team::TeamHandle number_of(acp_team_t handle) noexcept {
    return static_cast<team::TeamHandle>(reinterpret_cast<std::uintptr_t>(handle));
}

inline acp_team_t team_of(team::TeamHandle number) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number of a pointer type
    return reinterpret_cast<acp_team_t>(static_cast<std::uintptr_t>(number));
}

// An argument's value, and the factor that converts it to bytes.
struct Product {
    const char* name = "";  // "size"
    std::uint64_t value = 0;
    std::uint64_t factor = 1;
    const char* factor_unit = "";  // "members"; "": the argument is a number of bytes
};

// The failures of the argument checks. Out of line, so that a check that succeeds is one
// comparison.
[[gnu::cold, gnu::noinline]] base::Status null_buffer(const char* name, std::uint64_t bytes);
[[gnu::cold, gnu::noinline]] base::Status too_many_bytes(const Product& product);
[[gnu::cold, gnu::noinline]] base::Status no_member(const team::Membership& members,
                                                    const char* name,
                                                    int rank);

// Checks the caller's buffer for `bytes` bytes.
[[gnu::always_inline]] inline base::Status check_buffer(const char* name,
                                                        const void* buffer,
                                                        std::uint64_t bytes) {
    if ((buffer != nullptr && !is_in_shared_range(buffer)) || bytes == 0) [[likely]]
        return {};
    return buffer == nullptr ? null_buffer(name, bytes) : in_shared_range(name);
}

// bytes becomes the product.
[[gnu::always_inline]] inline base::Status multiply(const Product& product, std::uint64_t& bytes) {
    constexpr std::uint64_t bytes_max = std::uint64_t{1} << 61;
    const bool has_overflown = __builtin_mul_overflow(product.value, product.factor, &bytes);
    if (!has_overflown && bytes < bytes_max) [[likely]]
        return {};
    return too_many_bytes(product);
}

// Checks a team rank.
[[gnu::always_inline]] inline base::Status check_rank(const team::Membership& members,
                                                      const char* name,
                                                      int rank) {
    if (rank >= 0 && static_cast<std::uint32_t>(rank) < members.size()) [[likely]]
        return {};
    return no_member(members, name, rank);
}

// Calls check(members), which checks arguments and returns a Status, for a team.
template <typename Check>
base::Status check_call(acp_team_t handle, const Check& check) {
    base::Status refusal;
    auto status = library().teams->ask(
        number_of(handle), [&](const team::Membership& members) { refusal = check(members); });
    return status.is_ok() ? std::move(refusal) : std::move(status);
}

// Makes a collective call: check(members) checks the arguments, and body(team) makes the call. The
// body has copies of the arguments, because it may run later.

struct MakeNow {
    template <typename Check, typename Body>
    base::Status operator()(acp_team_t handle,
                            const team::Signature& signature,
                            const Check& check,
                            const Body& body) const {
        return library().teams->run_checked(number_of(handle), signature, check, body);
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
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number of a pointer type
        request = reinterpret_cast<acp_team_request_t>(static_cast<std::uintptr_t>(begun.value()));
        return {};
    }
};

// The body of a function that returns 0, or -1.   call  may take the way to make the call, as the
// one of begin_team_call does: both forms of a call then have one body
template <typename Call>
int run_team_call(const char* name, const Call& call) noexcept {
    const auto body = [&]() -> base::Status {
        // Sending to other nodes makes system calls. On one node only a sleep does, and the waiter
        // holds cancellation off for that.
        const os::CancellationHold cancellation(library().member->segment().has_gateway());
        base::Status status;
        if constexpr (std::is_invocable_v<const Call&, MakeNow>) {
            status = call(MakeNow());
        } else {
            status = call();
        }
        if (status.is_ok()) [[likely]]
            return status;
        return in_call(name, std::move(status));
    };
    const bool is_ok = run<Gravity::misuse_ends, Cancellation::left>(name, false, body);
    return is_ok ? 0 : -1;
}

// The body of a function that begins a call: the request, or ACP_TEAM_REQUEST_NULL.   call  is
// given the Begin to make the call by
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
