// SPDX-License-Identifier: BSD-3-Clause
// The boundary of every extern "C" body: tests whether the call may be made now, catches every
// exception, keeps the failure as the thread's last one, alone evaluates ACP_ON_ERROR, and holds
// off cancellation. It names the call to the layers below. Allocates nothing before the failure is kept. Any thread.
// Tests: tests/life, tests/api.
#pragma once

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "api/library.hpp"
#include "base/status.hpp"
#include "node/public_call.hpp"
#include "os/cancellation.hpp"

namespace acp::api {

// The effect of ACP_ON_ERROR=fatal on a call's failure. docs/man/acp_errors.7.md lists the calls.
enum class Gravity {
    reported,     // never ends the process: the result is a code that the call is made for
    misuse_ends,  // a failure is reported; a call that cannot be made now ends the process
    // every failure ends the process: a program cannot be expected to test the result
    failure_ends,
};

// Keeps a failure as the calling thread's last one; ends the process if `is_fatal` and ACP_ON_ERROR
// is fatal. A message that does not name the calling rank gets the call, the rank and the host in
// front of it.
void tell(base::Code code, const char* call, const char* text, bool is_fatal) noexcept;
void tell(const char* call, const base::Status& failure, bool is_fatal) noexcept;

// Ends the process with the calling thread's last failure when ACP_ON_ERROR is fatal.
void end_if_fatal() noexcept;

// Keeps as failure the reason why the call cannot be made in the library's present state.
[[gnu::cold]] void refuse(const char* call, bool is_fatal) noexcept;

// Whether the calling thread may be cancelled in a body; left: the body holds that off itself,
// where it may sleep or make system calls.
enum class Cancellation { held, left };

// Replaces a hold in calls without one.
struct Unheld {};

// Runs a body in every state. Returns its result, a T, or true for a Status that is ok; `failed`
// when the body threw or returned a failure.
template <Gravity gravity,
          Cancellation cancellation = Cancellation::held,
          typename T,
          typename Body>
T run_always(const char* call, T failed, Body&& body) noexcept {
    constexpr bool is_fatal = gravity == Gravity::failure_ends;
    [[maybe_unused]] const std::conditional_t<cancellation == Cancellation::held,
                                              os::CancellationHold, Unheld>
        hold;
    const node::PublicCall public_call(call);
    try {
        if constexpr (std::is_same_v<std::invoke_result_t<Body>, base::Status>) {
            static_assert(std::is_same_v<T, bool>);
            const base::Status status = body();
            if (!status.is_ok()) {
                tell(call, status, is_fatal);
                return failed;
            }
            return true;
        } else if constexpr (std::is_same_v<std::invoke_result_t<Body>, base::Result<T>>) {
            base::Result<T> result = body();
            if (!result.is_ok()) {
                tell(call, result.failure(), is_fatal);
                return failed;
            }
            return std::move(result).value();
        } else {
            return body();
        }
    } catch (const std::bad_alloc&) {
        tell(base::Code::memory, call, "no memory for the library's own records", is_fatal);
    } catch (const std::exception& error) {
        tell(base::Code::system, call, error.what(), is_fatal);
    }
    return failed;
}

// Runs a body when calls may be made, else refuses.
template <Gravity gravity,
          Cancellation cancellation = Cancellation::held,
          typename T,
          typename Body>
[[gnu::always_inline]] inline T run(const char* call, T failed, Body&& body) noexcept {
    if (!library().life.is_usable()) [[unlikely]] {
        refuse(call, gravity != Gravity::reported);
        return failed;
    }
    return run_always<gravity, cancellation>(call, std::move(failed), std::forward<Body>(body));
}

}  // namespace acp::api
