// SPDX-License-Identifier: BSD-3-Clause
// The number of repetitions of a test: a sanitizer makes code about ten times slower, and needs
// each kind of access once, not long runs. Knows no test. Any thread.
#pragma once

namespace acp::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

// `full`, or `less` under a sanitizer.
template <typename T>
[[nodiscard]] constexpr T effort(T full, T less) noexcept {
    return is_sanitized ? less : full;
}

}  // namespace acp::test
