// SPDX-License-Identifier: BSD-3-Clause
// In how many of the kernel's sets (epoll) of this process a descriptor is, as /proc tells.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace acp::test {

// Counts the sets of this process that hold the descriptor. Not while other threads open or close descriptors.
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
