// SPDX-License-Identifier: BSD-3-Clause
// Which build a tool is of. It stands in a file of its own, which alone is compiled again with
// every commit. Constant: any thread, no state.
#pragma once

namespace acp::tool {

// "4.0.0 (v4.0.0-12-g1cc6b69)"; without the commit where the build was made from no clone.
[[nodiscard]] const char* build_description() noexcept;

}  // namespace acp::tool
