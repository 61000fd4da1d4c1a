// SPDX-License-Identifier: BSD-3-Clause
// How much a test does: sanitizers make everything some ten times slower and are after kinds of accesses, not after
// long runs. Knows no test. Any thread.
#pragma once

namespace acp::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

// So much, or less under a sanitizer.
template <typename T>
[[nodiscard]] constexpr T effort(T full, T less) noexcept {
    return is_sanitized ? less : full;
}

}  // namespace acp::test
