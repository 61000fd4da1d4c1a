// SPDX-License-Identifier: BSD-3-Clause
// The phrases of the error codes.
#include "base/status.hpp"

#include <array>

namespace acp::base {

const char* phrase(Code code) noexcept {
    static constexpr std::array<const char*, code_count> phrases = {
        "success",
        "argument out of range",
        "no such global address",
        "memory is no longer registered",
        "address not aligned to the atomic's width",
        "ordered after a command that failed",
        "a needed process is dead",
        "timed out",
        "interrupted by a signal",
        "out of memory",
        "limit reached",
        "library not in the right state for this call",
        "not usable in a forked child",
        "bad configuration",
        "system call failed",
        "processes of the job use different builds",
        "not supported here",
    };
    const auto index = static_cast<std::size_t>(code);
    return index < phrases.size() ? phrases[index] : "unknown error";
}

Status Status::within(std::string_view phrase) && {
    if (failure_) {
        failure_->message = std::string(phrase) + ": " + failure_->message;
    }
    return std::move(*this);
}

}  // namespace acp::base
