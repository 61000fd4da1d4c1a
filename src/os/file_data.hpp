// SPDX-License-Identifier: BSD-3-Clause
// Which parts of a sparse file have memory or room on a disk. Moves the position of the file, which no
// other code uses. Any thread and any process, also at the same time.
// Tests: tests/unit/os/file_data_test.cpp.
#pragma once

#include <cstdint>

namespace acp::os {

// Bytes [first, end) of a file.
struct FileRange {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
};

// The first part of a range that is no hole, whole pages; empty if the range is one hole. Where the
// system does not know holes, the range itself.
[[nodiscard]] FileRange first_data(int fd, FileRange range) noexcept;

}  // namespace acp::os
