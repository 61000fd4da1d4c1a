// SPDX-License-Identifier: BSD-3-Clause
// What a function that can fail returns: a code of <acp/error.h> and, when it is not ok, the message
// written by the place that discovered the failure. Knows nothing of threads, logging or the C boundary.
// Any thread; a Status belongs to one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace acp::base {

// The codes of <acp/error.h> under their C++ names; a test holds the two lists equal.
enum class Code : int {
    ok = 0,
    argument = 1,
    address = 2,
    stale = 3,
    alignment = 4,
    order = 5,
    peer = 6,
    timeout = 7,
    interrupted = 8,
    memory = 9,
    limit = 10,
    state = 11,
    forked = 12,
    config = 13,
    system = 14,
    mismatch = 15,
    unsupported = 16,
};

inline constexpr int code_count = 17;

// The short phrase acp_strerror gives; static text.
[[nodiscard]] const char* phrase(Code code) noexcept;

// ok, or a code with a message. One pointer wide; ok allocates nothing.
class [[nodiscard]] Status {
public:
    Status() noexcept = default;

    Status(Code code, std::string message)
        : failure_(std::make_unique<Failure>(Failure{code, std::move(message)})) {}

    [[nodiscard]] bool is_ok() const noexcept { return !failure_; }

    [[nodiscard]] Code code() const noexcept { return failure_ ? failure_->code : Code::ok; }

    // "" when ok.
    [[nodiscard]] std::string_view message() const noexcept {
        return failure_ ? std::string_view(failure_->message) : std::string_view();
    }

    // The same failure, its message preceded by "phrase: ". ok stays ok.
    [[nodiscard]] Status within(std::string_view phrase) &&;

private:
    struct Failure {
        Code code;
        std::string message;
    };

    std::unique_ptr<Failure> failure_;
};

// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
public:
    // Implicit on purpose: `return value;` and `return status;` both read well.
    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(Status failure) : state_(std::in_place_index<1>, std::move(failure)) {}

    [[nodiscard]] bool is_ok() const noexcept { return state_.index() == 0; }

    // Only when is_ok().
    [[nodiscard]] T& value() & { return std::get<0>(state_); }

    [[nodiscard]] const T& value() const& { return std::get<0>(state_); }

    [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }

    // Only when not is_ok().
    [[nodiscard]] Status&& failure() && { return std::get<1>(std::move(state_)); }

    [[nodiscard]] const Status& failure() const& { return std::get<1>(state_); }

private:
    std::variant<T, Status> state_;
};

}  // namespace acp::base
