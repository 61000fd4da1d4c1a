// SPDX-License-Identifier: BSD-3-Clause
// Passes every file of the given folders, or one file, to a fuzz target, without a fuzzer: the
// inputs of a corpus stay tested under any compiler. One thread.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/watchdog.hpp"

// NOLINTBEGIN(readability-identifier-naming)
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count);

// NOLINTEND(readability-identifier-naming)

namespace {

constexpr unsigned seconds_per_file = 60;

std::vector<std::filesystem::path> files_of(const std::filesystem::path& place) {
    if (!std::filesystem::is_directory(place)) return {place};
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

// False: the file cannot be read.
bool replay(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        std::fprintf(stderr, "replay: cannot read %s\n", file.c_str());
        return false;
    }
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    // Printed before the run, since the run may end the process.
    std::printf("%s\n", file.filename().c_str());
    std::fflush(stdout);
    acp::test::arm_watchdog(seconds_per_file, file.c_str());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    acp::test::arm_watchdog(0, "");
    return true;
}

int replay_all(int argc, char** argv) {
    LLVMFuzzerInitialize(&argc, &argv);
    std::size_t count = 0;
    for (int i = 1; i < argc; ++i) {
        for (const auto& file : files_of(argv[i])) {
            if (!replay(file)) return 1;
            ++count;
        }
    }
    std::printf("replay: %zu inputs\n", count);
    if (count == 0) std::fprintf(stderr, "replay: no input; usage: NAME FILE|FOLDER...\n");
    return count == 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return replay_all(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "replay: %s\n", error.what());
        return 1;
    }
}
