// SPDX-License-Identifier: BSD-3-Clause
// ACP_ASSERT: a condition that holds unless ACP itself is broken. Kept in release builds. Never
// used for what a user, a peer or the system can cause: those are Status. Any thread; may be used
// while locks are held.
// Tests: tests/unit/base/assert_test.cpp.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace acp::base {

// Writes `text` to stderr by one write and ends the process by SIGABRT.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_assertion(const char* text) noexcept {
    std::fputs(text, stderr);  // stderr has no buffer, so this is one write
    std::abort();
}

}  // namespace acp::base

#define ACP_ASSERT_TEXT_2(value) #value
#define ACP_ASSERT_TEXT(value) ACP_ASSERT_TEXT_2(value)

// Ends the process with "acp: FILE:LINE: broken invariant: CONDITION" unless the condition holds.
// The condition is evaluated once.
#define ACP_ASSERT(condition)                                                \
    (static_cast<bool>(condition)                                            \
         ? static_cast<void>(0)                                              \
         : ::acp::base::fail_assertion("acp: " __FILE__ ":" ACP_ASSERT_TEXT( \
               __LINE__) ": broken invariant: " #condition " (please report this)\n"))
