// SPDX-License-Identifier: BSD-3-Clause
// The phrases and messages of the error codes.
#include "base/status.hpp"

#include <array>
#include <new>

namespace acp::base {

const char* phrase(Code code) noexcept {
    static constexpr std::array<const char*, code_count> phrases = {
        "success",
        "argument out of range",
        "no such global address",
        "what is named is gone: unregistered, freed or ended",
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
        "members of a team or ranks have made different calls, or use different builds",
        "not supported here",
        "message longer than its buffer",
        "cancelled",
        "the function was ended by a fault or an exception",
    };
    const auto index = static_cast<std::size_t>(code);
    return index < phrases.size() ? phrases[index] : "unknown error";
}

namespace {

// The message of a failure for whose own message no memory was left.
const char* bare_message(Code code) noexcept {
    static constexpr std::array<const char*, code_count> messages = {
        "success",
        "argument out of range; there is no memory left to say which",
        "no such global address; there is no memory left to say which",
        "what is named is gone: unregistered, freed or ended; there is no memory left to say which",
        "address not aligned to the atomic's width; there is no memory left to say which",
        "not run: a command it was ordered after failed",
        "a needed process is dead; there is no memory left to say which",
        "timed out",
        "interrupted by a signal",
        "the process has no memory left for the library's own records",
        "limit reached; there is no memory left to say which",
        "library not in the right state for this call",
        "not usable in a forked child",
        "bad configuration; there is no memory left to say what",
        "system call failed; there is no memory left to say which",
        "members of a team or ranks have made different calls, or use different builds",
        "not supported here; there is no memory left to say what",
        "message longer than its buffer; the rest is lost",
        "cancelled before its function had begun",
        "the function was ended by a fault or an exception; there is no memory left to say which",
    };
    const auto index = static_cast<std::size_t>(code);
    return index < messages.size() ? messages[index] : "unknown error";
}

}  // namespace

Status::Status(Code code, std::string message) noexcept {
    auto* made = new (std::nothrow) Failure{code, std::move(message)};
    if (made == nullptr) {
        *this = bare(code);
    } else {
        word_ = reinterpret_cast<std::uintptr_t>(made);
    }
}

Code Status::code() const noexcept {
    if (is_bare()) return static_cast<Code>(word_ >> 1U);
    return word_ == 0 ? Code::ok : failure()->code;
}

std::string_view Status::message() const noexcept {
    if (is_bare()) return bare_message(code());
    return word_ == 0 ? std::string_view() : std::string_view(failure()->message);
}

void Status::drop() noexcept {
    if (!is_bare()) delete failure();
    word_ = 0;
}

Status Status::within(std::string_view phrase) && noexcept {
    if (word_ == 0) return {};
    try {
        std::string longer(phrase);
        longer.append(": ").append(message());
        return {code(), std::move(longer)};
    } catch (const std::bad_alloc&) {
        return std::move(*this);
    }
}

}  // namespace acp::base
