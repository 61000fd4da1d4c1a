// SPDX-License-Identifier: BSD-3-Clause
// The result of a function that can fail: a code of <acp/error.h> and, when it is not ok, the
// message that the place of the failure wrote. Knows nothing of threads, logging or the C boundary.
// A Status belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace acp::base {

// The codes of <acp/error.h> under their C++ names; a test compares the two lists.
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
    truncated = 17,
    cancelled = 18,
    exception = 19,
};

inline constexpr int code_count = 20;

// The short phrase that acp_strerror returns; static text.
[[nodiscard]] const char* phrase(Code code) noexcept;

// ok, or a code with a message. One pointer wide; ok and bare() allocate nothing.
class [[nodiscard]] Status {
public:
    Status() noexcept = default;

    // Becomes bare(code) if no memory is left for the message.
    Status(Code code, std::string message) noexcept;

    // A failure with a fixed message for its code. Allocates no memory.   code  not ok
    [[nodiscard]] static Status bare(Code code) noexcept {
        Status made;
        made.word_ = static_cast<std::uintptr_t>(code) << 1U | 1U;
        return made;
    }

    // A failure with the std::string that words() returns as its message; bare(code) if no memory
    // is left for it.
    template <typename Words>
    [[nodiscard]] static Status worded(Code code, const Words& words) noexcept {
        try {
            return {code, words()};
        } catch (const std::bad_alloc&) {
            return bare(code);
        }
    }

    Status(Status&& other) noexcept : word_(std::exchange(other.word_, 0)) {}

    Status& operator=(Status&& other) noexcept {
        std::swap(word_, other.word_);
        return *this;
    }

    Status(const Status&) = delete;
    Status& operator=(const Status&) = delete;

    ~Status() {
        if (word_ != 0) drop();
    }

    [[nodiscard]] bool is_ok() const noexcept { return word_ == 0; }

    [[nodiscard]] Code code() const noexcept;

    // "" when ok.
    [[nodiscard]] std::string_view message() const noexcept;

    // The same failure with "phrase: " before its message, unless no memory is left for that. ok
    // stays ok.
    [[nodiscard]] Status within(std::string_view phrase) && noexcept;

private:
    struct Failure {
        Code code;
        std::string message;
    };

    [[nodiscard]] bool is_bare() const noexcept { return (word_ & 1U) != 0; }

    [[nodiscard]] Failure* failure() const noexcept {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the word was made from a pointer
        return reinterpret_cast<Failure*>(word_);
    }

    void drop() noexcept;

    // 0: ok; odd: twice the code, plus 1; else a pointer to an owned Failure
    std::uintptr_t word_ = 0;
};

// A value, or the Status that explains why there is none.
template <typename T>
class [[nodiscard]] Result {
public:
    // Implicit on purpose: `return value;` and `return status;` both read well.
    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(Status failure) : state_(std::in_place_index<1>, std::move(failure)) {}

    [[nodiscard]] bool is_ok() const noexcept { return state_.index() == 0; }

    // Requires is_ok().
    [[nodiscard]] T& value() & { return std::get<0>(state_); }

    [[nodiscard]] const T& value() const& { return std::get<0>(state_); }

    [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }

    // Requires !is_ok().
    [[nodiscard]] Status&& failure() && { return std::get<1>(std::move(state_)); }

    [[nodiscard]] const Status& failure() const& { return std::get<1>(state_); }

private:
    std::variant<T, Status> state_;
};

}  // namespace acp::base
