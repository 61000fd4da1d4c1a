// SPDX-License-Identifier: BSD-3-Clause
// By lseek().
#include "os/file_data.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace acp::os {

FileRange first_data(int fd, FileRange range) noexcept {
    const off_t data = lseek(fd, static_cast<off_t>(range.first), SEEK_DATA);
    if (data < 0) return errno == ENXIO ? FileRange{range.end, range.end} : range;
    const std::uint64_t first = std::min(static_cast<std::uint64_t>(data), range.end);
    if (first == range.end) return {range.end, range.end};
    const off_t hole = lseek(fd, data, SEEK_HOLE);
    const std::uint64_t end = hole < 0 ? range.end : static_cast<std::uint64_t>(hole);
    return {first, std::min(end, range.end)};
}

}  // namespace acp::os
