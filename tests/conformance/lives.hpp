// SPDX-License-Identifier: BSD-3-Clause
// How often tests make ends of channels and of segmented buffers and free them again: TEST_LIVES,
// in soak runs.
#pragma once

#include <cstdlib>

namespace acp::test {

[[nodiscard]] inline int lives_of_ends() {
    const char* given = std::getenv("TEST_LIVES");
    return given == nullptr ? 300 : std::atoi(given);
}

}  // namespace acp::test
