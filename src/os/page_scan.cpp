// SPDX-License-Identifier: BSD-3-Clause
// Makes the ioctl on /proc/self/pagemap; defines its argument, which older headers lack.
#include "os/page_scan.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>

#include "os/mapping.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

using base::Code;

// struct pm_scan_arg of <linux/fs.h>.
struct ScanArgument {
    std::uint64_t size;
    std::uint64_t flags;
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t walk_end;  // written by the kernel
    std::uint64_t vec;
    std::uint64_t vec_len;
    std::uint64_t max_pages;
    std::uint64_t category_inverted;
    std::uint64_t category_mask;
    std::uint64_t category_anyof_mask;
    std::uint64_t return_mask;
};

static_assert(sizeof(ScanArgument) == 96);
static_assert(sizeof(PageRun) == 24);

constexpr unsigned long scan_request = _IOWR('f', 16, ScanArgument);
constexpr std::uint64_t protect_matching = 1;  // PM_SCAN_WP_MATCHING
constexpr std::uint64_t check_watched = 2;     // PM_SCAN_CHECK_WPASYNC
constexpr std::uint64_t is_written = 2;        // PAGE_IS_WRITTEN
constexpr std::uint64_t is_mapped = 8;         // PAGE_IS_PRESENT

std::uint64_t number_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
}

std::string text_of_range(const char* begin, const char* end) {
    return "pages from " + std::to_string(number_of(begin)) + " to " +
           std::to_string(number_of(end));
}

Status scan_failure(int error, const char* begin, const char* end) {
    if (error == EPERM) {
        return {Code::state,
                text_of_range(begin, end) + " are not all watched for asynchronous write tracking"};
    }
    return system_failure("ioctl(PAGEMAP_SCAN)", error, text_of_range(begin, end));
}

}  // namespace

Result<PageScan> PageScan::open() {
    FileDescriptor file(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) {
        return system_failure("open(/proc/self/pagemap)", errno,
                              "which lists the written pages of this process");
    }
    // An empty range: a kernel that has the request accepts it.
    ScanArgument argument{};
    argument.size = sizeof argument;
    argument.return_mask = is_written;
    if (ioctl(file.get(), scan_request, &argument) == 0) return PageScan(std::move(file));
    if (errno != ENOTTY) return system_failure("ioctl(PAGEMAP_SCAN)", errno, "for no page");
    return Status(Code::unsupported,
                  "the kernel does not list written pages (PAGEMAP_SCAN, Linux 6.7)");
}

Result<PageScan::ScanStep> PageScan::take_written(char* begin,
                                                  char* end,
                                                  std::span<PageRun> runs,
                                                  ScannedPages pages) const {
    return scan(begin, end, runs, pages, true);
}

Result<PageScan::ScanStep> PageScan::find_written(char* begin,
                                                  char* end,
                                                  std::span<PageRun> runs,
                                                  ScannedPages pages) const {
    return scan(begin, end, runs, pages, false);
}

Result<PageScan::ScanStep> PageScan::scan(
    char* begin, char* end, std::span<PageRun> runs, ScannedPages pages, bool protects) const {
    const bool has_boundaries = ((number_of(begin) | number_of(end)) & (page_bytes() - 1)) == 0;
    if (!has_boundaries || begin >= end || runs.empty()) {
        return Status(Code::argument, text_of_range(begin, end) + ", room for " +
                                          std::to_string(runs.size()) +
                                          " runs: both must be page boundaries, the first one "
                                          "lower, and the room not 0");
    }
    const auto bytes = std::min<std::uint64_t>(static_cast<std::uint64_t>(end - begin), step_bytes);
    ScanArgument argument{};
    argument.size = sizeof argument;
    argument.flags = check_watched | (protects ? protect_matching : 0);
    argument.start = number_of(begin);
    argument.end = argument.start + bytes;
    argument.vec = number_of(runs.data());
    argument.vec_len = runs.size();
    argument.category_mask = pages == ScannedPages::mapped ? is_written | is_mapped : is_written;
    argument.return_mask = is_written;
    const int found = ioctl(file_.get(), scan_request, &argument);
    if (found < 0) return scan_failure(errno, begin, end);
    return ScanStep{runs.first(static_cast<std::size_t>(found)),
                    begin + (argument.walk_end - argument.start)};
}

}  // namespace acp::os
