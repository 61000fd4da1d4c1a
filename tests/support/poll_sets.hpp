// SPDX-License-Identifier: BSD-3-Clause
// The number of epoll sets of this process that contain a descriptor, from /proc.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace acp::test {

// Counts those sets. No other thread may open or close descriptors during the call.
inline std::size_t poll_sets_with(int fd) {
    std::size_t sets = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
        std::ifstream file(entry.path());
        std::string word;
        int held = 0;
        while (file >> word) {
            if (word == "tfd:" && file >> held && held == fd) ++sets;
        }
    }
    return sets;
}

}  // namespace acp::test
