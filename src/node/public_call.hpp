// SPDX-License-Identifier: BSD-3-Clause
// The function of the interface that the calling thread is in. The boundary names it once, at the
// call's entry; a wait and a failure deep inside the call then name the call that the program wrote,
// and not a step of it. Any thread. Tests: tests/unit/node/awaited_test.cpp.
#pragma once

#include <string_view>

namespace acp::node {

namespace detail {

// A string that lives as long as the PublicCall; nullptr: the thread is in no such call.
extern constinit thread_local const char* public_call
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

}  // namespace detail

// Names the calling thread's call during its lifetime. A signal handler that makes a call while the
// thread is in one names its own, and the destructor restores the other.
class PublicCall {
public:
    //   name  a string that lives as long as the object: "acp_wait"
    explicit PublicCall(const char* name) noexcept : before_(detail::public_call) {
        detail::public_call = name;
    }

    ~PublicCall() { detail::public_call = before_; }

    PublicCall(const PublicCall&) = delete;
    PublicCall& operator=(const PublicCall&) = delete;

    // "": the calling thread is in no call.
    [[nodiscard]] static std::string_view name() noexcept {
        const char* const call = detail::public_call;
        return call != nullptr ? std::string_view(call) : std::string_view();
    }

private:
    const char* before_;
};

}  // namespace acp::node
