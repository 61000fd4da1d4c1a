// SPDX-License-Identifier: BSD-3-Clause
// Rows of tables that make one call of the public interface each, and check that it fails: by its
// result, its code, and its message.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <type_traits>
#include <vector>

#include <acp.h>

namespace acp::api::test {

// Whether a result says that the call has failed (docs/man/acp_errors.7.md, RESULTS).
inline bool is_failure(int result) {
    return result == -1;
}

inline bool is_failure(std::int64_t result) {
    return result == -1;
}

// size_t; uint64_t and acp_ga_t have the same type, and rows of these give the failure themselves.
inline bool is_failure(std::uint64_t result) {
    return result == ~std::uint64_t{0};
}

template <typename T>
bool is_failure(T* result) {
    return result == nullptr;
}

template <typename T>

requires requires(T result) {
    result.ga;
}

bool is_failure(const T& result) {
    return result.ga == ACP_GA_NULL;
}

// A row: a call with its arguments, and how it must fail.
struct RefusedCall {
    const char* call;   // the name of the function, which the message has
    int code;           // the failure
    const char* value;  // a value that the message names; "": none
    std::function<bool()> has_failed;
};

// A row of a call whose result is of a type of its own.
#define ACP_REFUSED(call, code, value, ...)                                                 \
    ::acp::api::test::RefusedCall {                                                         \
#call, code, value, [&] { return ::acp::api::test::is_failure(call(__VA_ARGS__)); } \
    }

// A row of a call that returns an address, or a handle of a command: 0 is the failure.
#define ACP_REFUSED_BY_0(call, code, value, ...)                   \
    ::acp::api::test::RefusedCall {                                \
#call, code, value, [&] { return call(__VA_ARGS__) == 0; } \
    }

// A row of a call that returns an iterator or a pair: `member` of it says whether the call has failed.
#define ACP_REFUSED_IT(call, member, code, value, ...)                                             \
    ::acp::api::test::RefusedCall {                                                                \
#call, code, value, [&] { return ::acp::api::test::is_failure(call(__VA_ARGS__).member); } \
    }

// Makes a call and checks its failure: result, code, and message.
inline void expect_refused(const RefusedCall& row) {
    SCOPED_TRACE(std::string(row.call) + ", " + row.value);
    acp_clear_errno();
    EXPECT_TRUE(row.has_failed()) << "the call has succeeded";
    const std::string message = acp_error_message();
    EXPECT_EQ(acp_errno(), row.code) << message;
    EXPECT_NE(message.find(row.call), std::string::npos) << "without its name: " << message;
    EXPECT_NE(message.find(row.value), std::string::npos) << "without the value: " << message;
}

}  // namespace acp::api::test
