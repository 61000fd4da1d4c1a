// SPDX-License-Identifier: BSD-3-Clause
// Files into units of work. See work_list.hpp.
#include "work_list.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "failure.hpp"

namespace kmer {

namespace {

std::uint64_t size_of(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) {
        throw Failure(path + ": no such file");
    }
    if (!error && !std::filesystem::is_regular_file(status)) {
        throw Failure(path + ": not a regular file (every rank reads it for itself)");
    }
    const std::uint64_t bytes = error ? 0 : std::filesystem::file_size(path, error);
    if (error) throw Failure(path + ": " + error.message());
    return bytes;
}

}  // namespace

std::vector<WorkUnit> make_work_list(const std::vector<std::string>& files, std::uint32_t procs) {
    std::vector<std::uint64_t> sizes;
    std::uint64_t total_bytes = 0;
    for (const std::string& file : files) {
        sizes.push_back(size_of(file));
        total_bytes += sizes.back();
    }
    std::vector<WorkUnit> units;
    for (std::size_t file = 0; file < files.size(); ++file) {
        const double part =
            total_bytes == 0 ? 0.0
                             : static_cast<double>(sizes[file]) / static_cast<double>(total_bytes);
        const auto shares = 1 + static_cast<std::uint32_t>(std::lround(part * (procs - 1)));
        for (std::uint32_t share = 0; share < shares; ++share) {
            units.push_back({file, sizes[file], share, shares});
        }
    }
    std::stable_sort(units.begin(), units.end(), [](const WorkUnit& a, const WorkUnit& b) {
        return a.bytes / a.shares > b.bytes / b.shares;
    });
    return units;
}

}  // namespace kmer
